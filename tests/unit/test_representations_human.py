"""Odd-one-out, similarity and choice between two: models against people."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import check_grad
from scipy.stats import ortho_group, spearmanr
from sklearn.metrics.pairwise import cosine_similarity

from trialwise.errors import InputError
from trialwise.representations import odd_one_out
from trialwise.representations.external import (
    nights_triplets,
    pairwise_similarity,
    read_external,
    two_alternative_accuracy,
)
from trialwise.representations.measure import gather_measures, measure_representation
from trialwise.representations.odd_one_out import probe, read_triplets, zero_shot


@pytest.fixture(scope="module")
def judged():
    """Objects with two features that people judge by, hidden among eighteen others."""
    rng = np.random.default_rng(3)
    meant = rng.normal(size=(90, 2))
    others = 2 * rng.normal(size=(90, 18))
    embedding = np.hstack([meant, others]) @ ortho_group.rvs(20, random_state=3)
    triplets = np.array(
        [rng.choice(90, size=3, replace=False) for _ in range(12000)], dtype=int
    )
    return embedding, judge(meant, triplets)


def judge(features, triplets):
    """Put the odd one last: the most similar two have the largest dot product."""
    similar = [
        np.sum(features[triplets[:, a]] * features[triplets[:, b]], axis=1)
        for a, b in ((1, 2), (0, 2), (0, 1))
    ]
    odd = np.argmax(similar, axis=0)
    orders = np.array([[1, 2, 0], [0, 2, 1], [0, 1, 2]])
    return np.take_along_axis(triplets, orders[odd], axis=1)


class TestZeroShot:
    def test_equals_a_loop_with_scikit_learn(self):
        rng = np.random.default_rng(0)
        embedding = rng.normal(size=(30, 5)) + 1
        triplets = np.array([rng.choice(30, 3, replace=False) for _ in range(500)])
        for found, similar in zip(
            zero_shot(embedding, triplets),
            (cosine_similarity(embedding), embedding @ embedding.T),
            strict=True,
        ):
            right = [
                similar[i, j] > max(similar[i, k], similar[j, k])
                for i, j, k in triplets
            ]
            assert found == pytest.approx(np.mean(right), abs=1e-12)

    def test_ties_are_wrong(self):
        embedding = np.array([[1.0, 0], [1, 0], [1, 0], [0, 0]])
        assert zero_shot(embedding, np.array([[0, 1, 2]])) == (0, 0)
        assert zero_shot(embedding, np.array([[0, 1, 3], [0, 3, 1]])) == (0.5, 0.5)


class TestProbe:
    def test_finds_what_people_judge_by(self, judged):
        embedding, triplets = judged
        assert zero_shot(embedding, triplets).dot < 0.5
        found = probe(embedding, triplets, seed=0)
        assert found.accuracy > 0.85
        assert found.n_triplets > 1000

    def test_axes_and_scale_of_the_features_do_not_matter(self, judged):
        embedding, triplets = judged
        turned = 5 * embedding @ ortho_group.rvs(20, random_state=4) + 2
        first, second = (probe(rows, triplets, seed=0) for rows in (embedding, turned))
        assert second.penalties == first.penalties
        assert second.accuracy == pytest.approx(first.accuracy, abs=1e-3)

    def test_learns_nothing_from_judgements_by_chance(self, judged):
        embedding, triplets = judged
        shuffled = np.random.default_rng(1).permuted(triplets, axis=1)
        found = probe(embedding, shuffled, seed=0)
        error = np.sqrt(2 / 9 / found.n_triplets)
        assert abs(found.accuracy - 1 / 3) < 4 * error

    def test_more_features_than_objects(self, judged):
        embedding, triplets = judged
        axes = ortho_group.rvs(150, random_state=5)[:20]
        wide = probe(embedding @ axes, triplets, seed=0)
        narrow = probe(embedding, triplets, seed=0)
        assert wide.accuracy == pytest.approx(narrow.accuracy, abs=1e-3)

    def test_processes_change_nothing(self, judged):
        assert probe(*judged, seed=0) == probe(*judged, seed=0, n_jobs=2)

    def test_gradient(self):
        rng = np.random.default_rng(2)
        rows = rng.normal(size=(12, 3))
        triplets = np.array([rng.choice(12, 3, replace=False) for _ in range(40)])

        def value(weights):
            return odd_one_out._objective(weights, rows, triplets, 0.02)[0]

        def gradient(weights):
            return odd_one_out._objective(weights, rows, triplets, 0.02)[1]

        assert check_grad(value, gradient, rng.normal(size=9)) < 1e-6

    def test_nothing_to_learn_from(self, judged):
        embedding, triplets = judged
        with pytest.raises(InputError, match="No triplet lies within"):
            probe(embedding, triplets[:3], seed=0)
        with pytest.raises(InputError, match="are the same"):
            probe(np.ones((90, 4)), triplets, seed=0)


class TestTriplets:
    def test_of_a_file(self, tmp_path):
        path = tmp_path / "triplets.txt"
        path.write_text("0 1 2\n4 3 0\n")
        assert read_triplets(path, 5).tolist() == [[0, 1, 2], [4, 3, 0]]

    @pytest.mark.parametrize(
        ("text", "fault"),
        [
            ("0 1 2\n0 1 5\n", r"row 2: \[0, 1, 5\]"),
            ("0 1 2\n3 1 3\n", r"row 2: \[3, 1, 3\]"),
            ("0 1 -2\n", r"row 1"),
            ("0 1\n", r"shape \(1, 2\)"),
            ("0 1 cat\n", "cannot be read"),
        ],
    )
    def test_faults(self, tmp_path, text, fault):
        path = tmp_path / "triplets.txt"
        path.write_text(text)
        with pytest.raises(InputError, match=fault):
            read_triplets(path, 5)


class TestExternal:
    def test_pairwise_similarity_is_the_mean_over_sets(self):
        rng = np.random.default_rng(0)
        features = {name: rng.normal(size=(9, 4)) for name in ("fruits", "animals")}
        human = {name: rng.normal(size=(9, 9)) for name in features}
        expected = []
        for name, rows in features.items():
            pairs = [(i, j) for i in range(9) for j in range(i)]
            cosines = cosine_similarity(rows)
            ours = [cosines[i, j] for i, j in pairs]
            theirs = [human[name][i, j] for i, j in pairs]
            expected.append(spearmanr(ours, theirs).statistic)
        assert pairwise_similarity(features, human) == pytest.approx(np.mean(expected))

    def test_pairwise_similarity_needs_both_sides(self):
        rows = {"fruits": np.eye(3)}
        with pytest.raises(InputError, match="judgements of animals"):
            pairwise_similarity(rows, {"animals": np.eye(3)})
        with pytest.raises(InputError, match=r"fruits: features of 3 .* \(4, 4\)"):
            pairwise_similarity(rows, {"fruits": np.eye(4)})

    def test_choice_between_two(self):
        reference = np.array([[1.0, 0], [1, 0], [1, 0]])
        left = np.array([[2.0, 0.1], [0, 3], [1, 1]])
        right = np.array([[1.0, 1], [5, 1], [1, 1]])
        chose_left = np.array([True, True, False])
        accuracy = two_alternative_accuracy(reference, left, right, chose_left)
        assert accuracy == pytest.approx(2 / 3)

    def test_nights_triplets(self):
        table = pd.DataFrame(
            {
                "id": range(5),
                "split": ["test", "test", "train", "test", "test"],
                "votes": [6, 5, 9, 8, 7],
                "is_imagenet": [False, False, False, True, False],
            }
        )
        assert nights_triplets(table)["id"].tolist() == [0, 4]

    def test_scores_of_a_table(self, tmp_path):
        path = tmp_path / "scores.csv"
        path.write_text("model,measure,value\na,nights,0.79\nb,peterson,-.1\n")
        table = read_external(path, ["a", "b", "c"]).set_index("model")
        assert table.loc["a", "nights"] == 0.79
        assert table.loc["b", "peterson"] == -0.1
        assert table.notna().to_numpy().sum() == 2

    @pytest.mark.parametrize(
        ("row", "fault"),
        [
            ("x,nights,.5", "no model 'x'"),
            ("a,night,.5", "measure is 'night'"),
            ("a,nights,79.5", r"nights is '79.5'.* from 0 to 1"),
            ("a,clickme,high", "clickme is 'high'"),
            ("a,peterson,.4", "stands in the table twice"),
        ],
    )
    def test_faults_of_a_table(self, tmp_path, row, fault):
        path = tmp_path / "scores.csv"
        path.write_text(f"model,measure,value\na,peterson,.3\n{row}\n")
        with pytest.raises(InputError, match=f"line 3: .*{fault}"):
            read_external(path, ["a"])


class TestMeasure:
    @pytest.fixture
    def world(self, judged):
        embedding, triplets = judged
        objects = [f"object{i}" for i in range(90)]
        images = [f"stimuli/{name}/{i}.jpg" for name in objects for i in range(3)]
        by_image = np.repeat(embedding, 3, axis=0).astype(np.float32)
        return by_image, images, objects, triplets

    def test_of_features_that_vary_and_of_features_of_names(self, world):
        by_name, images, objects, triplets = world
        rng = np.random.default_rng(0)
        seen = by_name + rng.normal(size=by_name.shape).astype(np.float32)
        tables = [
            measure_representation(
                model, features, images, objects, by_name, triplets, seed=0
            )
            for model, features in (("seen", seen), ("named", by_name))
        ]
        scores = pd.DataFrame({"model": ["seen"], "peterson": [0.4]})
        table = gather_measures(tables, scores).set_index("model")
        assert table["n_distinct"].to_dict() == {"seen": 270, "named": 90}
        measures = table.drop(columns="peterson")
        assert measures.loc["seen"].notna().all()
        missing = measures.columns[measures.loc["named"].isna()]
        assert set(missing) == {"class_separation", "class_separation_published"}
        assert table.loc["named", "cka"] == pytest.approx(1)
        assert 0.5 < table.loc["seen", "cka"] < 1
        assert table["peterson"].isna().to_dict() == {"seen": False, "named": True}

    def test_order_of_the_images_does_not_matter(self, world):
        by_name, images, objects, triplets = world
        rng = np.random.default_rng(1)
        seen = by_name + rng.normal(size=by_name.shape).astype(np.float32)
        order = rng.permutation(len(images))
        exact = ["class_separation", "cka", "intrinsic_dimensionality"]
        exact += ["participation_ratio", "odd_one_out_zero_shot"]
        first, second = (
            measure_representation(
                "seen",
                seen[rows],
                [images[row] for row in rows],
                objects,
                by_name[rows],
                triplets,
                seed=0,
            )[exact]
            for rows in (np.arange(len(images)), order)
        )
        assert np.allclose(first, second, rtol=1e-9)

    def test_other_images_and_values_that_are_no_numbers(self, world):
        by_name, images, objects, triplets = world
        given = images, objects, by_name[:-1], triplets, 0
        with pytest.raises(InputError, match="task features have 269 rows"):
            measure_representation("named", by_name, *given)
        broken = by_name.copy()
        broken[5, 2] = np.nan
        with pytest.raises(InputError, match=r"object1/2\.jpg: feature 2 is nan"):
            measure_representation("named", broken, *given)
