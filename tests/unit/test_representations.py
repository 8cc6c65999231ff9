"""Measures of representations against direct formulas and other libraries."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist
from scipy.stats import ortho_group

from trialwise.errors import InputError
from trialwise.representations.cka import linear_cka
from trialwise.representations.class_separation import (
    class_separation,
    classes_of_task,
    with_pairs_once,
)
from trialwise.representations.intrinsic_dimensionality import (
    neighbour_ratios,
    pareto_likelihood,
    participation_ratio,
    prepare_points,
    subsample,
    two_nn,
)
from trialwise.representations.rows import (
    BLOCK,
    group_means,
    numbers_of_objects,
    unique_rows,
    vary_within,
)

# Of skdim.id.TwoNN of scikit-dimension 0.5.0 on the points of `made`: the default, with
# discard_fraction=1/n, and with discard_fraction=0, method="mle".
SCIKIT_DIMENSION = {
    "cube": (4.4139893014356515, 5.323419896737041, 5.262894317407467),
    "embedded": (10.770192804861646, 12.466111722317553, 14.026007911428147),
    "clumps": (4.6196048548968145, 5.454172427138907, 4.909390606482193),
}


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def weyl(n, dimensions):
    """Points that fill a cube evenly and are the same everywhere."""
    roots = np.sqrt([2, 3, 5, 7, 11, 13, 17][:dimensions])
    return np.outer(np.arange(1, n + 1), roots) % 1


def made(name):
    """Points whose dimensionality another library has estimated."""
    if name == "cube":
        return weyl(400, 3)
    if name == "embedded":
        axes = np.cos(np.outer(np.arange(1, 6), np.arange(1, 41)))
        return weyl(600, 5) @ axes
    return np.repeat(weyl(150, 7), 3, axis=0) + 1e-3 * weyl(450, 7)[::-1]


class TestRows:
    def test_group_means_over_several_blocks(self, rng, tmp_path):
        features = rng.normal(size=(2 * BLOCK + 5, 3)).astype(np.float32)
        groups = rng.permutation(np.arange(len(features)) % 7)
        np.save(tmp_path / "features.npy", features)
        means = group_means(np.load(tmp_path / "features.npy", mmap_mode="r"), groups)
        direct = [features[groups == k].astype(float).mean(axis=0) for k in range(7)]
        assert np.allclose(means, direct, rtol=1e-12)

    def test_unique_rows_are_those_of_numpy(self, rng):
        features = rng.integers(-1, 2, size=(400, 4)).astype(np.float32)
        features[features == 0] *= -1
        ours = unique_rows(features)
        assert np.array_equal(np.unique(ours, axis=0), np.unique(features, axis=0))
        assert len(ours) == len(np.unique(features, axis=0))

    def test_rows_that_vary_within_groups(self, rng):
        groups = np.arange(3 * BLOCK) % 5
        features = rng.normal(size=(5, 4))[groups]
        assert not vary_within(features, groups)
        features[-1, 2] += 1e-6
        assert vary_within(features, groups)

    def test_images_are_numbered_by_their_objects(self):
        images = ["stimuli/bat1/a.jpg", "stimuli/bat2/b.jpg", "stimuli/bat1/c.jpg"]
        assert numbers_of_objects(images, ["bat2", "bat1"]).tolist() == [1, 0, 1]
        with pytest.raises(InputError, match="'bat2'"):
            numbers_of_objects(images, ["bat1"])
        with pytest.raises(InputError, match="The object bat3 has no image"):
            numbers_of_objects(images, ["bat1", "bat2", "bat3"])


class TestClassSeparation:
    @pytest.fixture
    def world(self, rng):
        classes = rng.permutation(np.repeat(np.arange(6), [1, 2, 3, 5, 8, 40]))
        features = rng.normal(size=(6, 10))[classes] + rng.normal(size=(59, 10))
        return features + 0.5, classes

    def direct(self, features, classes):
        """Sums over pairs as Eq. 3 writes them, and with each pair once."""
        n = classes.max() + 1
        own = [features[classes == k] for k in range(n)]
        total = sum(
            cdist(a, b, "cosine").sum() / (n**2 * len(a) * len(b))
            for a in own
            for b in own
        )
        ordered = sum(cdist(a, a, "cosine").sum() / (n * len(a) ** 2) for a in own)
        once = sum(pdist(a, "cosine").sum() / (n * len(a) ** 2) for a in own)
        return 1 - ordered / total, 1 - once / total

    def test_equals_the_double_loop(self, world):
        formula, published = self.direct(*world)
        separation = class_separation(*world)
        assert separation == pytest.approx(formula, rel=1e-12)
        assert with_pairs_once(separation) == pytest.approx(published, rel=1e-12)

    def test_lengths_of_vectors_do_not_matter(self, world, rng):
        features, classes = world
        scaled = features * rng.uniform(0.1, 9, size=(len(features), 1))
        expected = class_separation(features, classes)
        assert class_separation(scaled, classes) == pytest.approx(expected, rel=1e-12)

    def test_one_where_classes_are_points(self, world):
        _, classes = world
        features = np.random.default_rng(1).normal(size=(6, 4))[classes]
        assert class_separation(features, classes) == pytest.approx(1, abs=1e-12)

    def test_never_below_zero_whatever_the_classes(self, rng):
        for _ in range(50):
            features = rng.normal(size=(40, 3)) + rng.normal(size=3)
            classes = rng.permutation(np.append(np.arange(8), rng.integers(8, size=32)))
            formula, once = self.direct(features, classes)
            assert formula >= 0
            assert once >= 0.5

    def test_one_direction_is_refused(self):
        features = np.outer(np.arange(1, 7), [1.0, 2.0, 3.0])
        with pytest.raises(InputError, match="one direction"):
            class_separation(features, np.arange(6) % 2)

    def test_classes_are_equal_rows_of_the_task(self):
        task = np.array([[1.0, 2], [3, 4], [1, 2], [3, 5]])
        assert classes_of_task(task).tolist() == [0, 1, 0, 2]


class TestCKA:
    @pytest.fixture
    def pair(self, rng):
        signal = rng.normal(size=(60, 5))
        first = signal @ rng.normal(size=(5, 9)) + rng.normal(size=(60, 9)) + 3
        return first, signal + 0.5 * rng.normal(size=(60, 5)) - 2

    def hsic_cka(self, first, second):
        """The formula with centring matrices, Kornblith et al. (2019), Eq. 3 and 4."""
        n = len(first)
        centring = np.eye(n) - 1 / n

        def hsic(a, b):
            product = a @ a.T @ centring @ b @ b.T @ centring
            return np.trace(product) / (n - 1) ** 2

        scale = np.sqrt(hsic(first, first) * hsic(second, second))
        return hsic(first, second) / scale

    @pytest.mark.parametrize("n", [6, 8, 60])
    def test_equals_the_formula_by_either_route(self, pair, n):
        first, second = (side[:n] for side in pair)
        expected = self.hsic_cka(first, second)
        assert linear_cka(first, second) == pytest.approx(expected, rel=1e-10)
        assert linear_cka(second, first) == pytest.approx(expected, rel=1e-10)

    def test_more_rows_than_a_block(self, rng):
        first = rng.normal(size=(BLOCK + 100, 6)).astype(np.float32)
        second = first[:, :3] + rng.normal(size=(BLOCK + 100, 3))
        expected = self.hsic_cka(first.astype(float), second)
        assert linear_cka(first, second) == pytest.approx(expected, rel=1e-10)

    def test_rotation_shift_and_scale_change_nothing(self, pair):
        first, second = pair
        rotation = ortho_group.rvs(9, random_state=1)
        moved = -0.3 * first @ rotation + np.arange(9)
        expected = linear_cka(first, second)
        assert linear_cka(moved, second) == pytest.approx(expected, rel=1e-10)
        assert linear_cka(first, moved) == pytest.approx(1, rel=1e-10)
        assert linear_cka(first, first * np.arange(1, 10)) < 0.95

    def test_what_cannot_agree_is_refused(self, pair):
        first, second = pair
        with pytest.raises(InputError, match="60 and 59 rows"):
            linear_cka(first, second[:-1])
        with pytest.raises(InputError, match="same features"):
            linear_cka(first, np.full((60, 3), 0.1))


class TestIntrinsicDimensionality:
    @pytest.mark.parametrize("name", SCIKIT_DIMENSION)
    def test_equals_scikit_dimension(self, name):
        ratios = neighbour_ratios(made(name))
        ours = two_nn(ratios), two_nn(ratios, discarded=0)
        ours = (*ours, pareto_likelihood(ratios).estimate)
        assert ours == pytest.approx(SCIKIT_DIMENSION[name], rel=1e-6)

    def test_ratios_equal_those_of_all_distances(self, rng):
        points = rng.normal(size=(1100, 6)) + 100
        distances = np.sort(cdist(points, points), axis=1)
        expected = distances[:, 2] / distances[:, 1]
        assert np.allclose(neighbour_ratios(points), expected, rtol=1e-9)

    def test_rows_that_almost_agree_keep_their_digits(self, rng):
        points = rng.normal(size=(50, 20))
        points[1] = points[0] + 1e-9 * rng.normal(size=20)
        exact = np.linalg.norm(points[1] - points[0])
        others = np.delete(np.linalg.norm(points - points[0], axis=1), [0, 1]).min()
        assert neighbour_ratios(points)[0] == pytest.approx(others / exact, rel=1e-9)

    def test_threads_change_no_bit(self, rng):
        points = rng.normal(size=(1100, 30))
        one, two = (neighbour_ratios(points, n_jobs) for n_jobs in (1, 2))
        assert one.tobytes() == two.tobytes()

    def test_preparation(self):
        features = np.array([[1, 5, 0], [3, 5, 9], [1, 5, 0], [2, 5, -9]], np.float32)
        expected = [[0, 0, 0.5], [1, 0, 1], [0.5, 0, 0]]
        assert prepare_points(features).tolist() == expected
        with pytest.raises(InputError, match="Only 2 images differ"):
            prepare_points(features[:3])

    def test_columns_of_rounding_errors_do_not_count(self, rng):
        features = rng.normal(size=(60, 4)).astype(np.float32)
        dead = (1e-30 * rng.normal(size=(60, 2))).astype(np.float32)
        with_dead = prepare_points(np.hstack([features, dead]))
        assert np.allclose(
            neighbour_ratios(with_dead), neighbour_ratios(prepare_points(features))
        )

    def test_interval_holds_the_truth_as_often_as_it_says(self, rng):
        worlds = 2000
        ratios = np.exp(rng.exponential(1 / 7, size=(worlds, 80)))
        found = np.array([pareto_likelihood(sample) for sample in ratios])
        held = np.mean((found[:, 1] < 7) & (found[:, 2] > 7))
        assert abs(held - 0.95) < 4 * np.sqrt(0.95 * 0.05 / worlds)
        error = found[:, 0].std() / np.sqrt(worlds)
        assert abs(found[:, 0].mean() - 7) < 4 * error

    def test_parts_of_a_flat_cube(self, rng):
        points = rng.uniform(size=(3000, 2)) @ rng.normal(size=(2, 10))
        mean, error = subsample(points, 10, np.random.default_rng(1))
        assert mean == pytest.approx(2, abs=0.15)
        whole = two_nn(neighbour_ratios(points))
        assert abs(whole - 2) < 4 * error
        assert error < 0.1
        assert subsample(points, 10, np.random.default_rng(1)) == (mean, error)

    def test_too_small_parts_are_refused(self, rng):
        with pytest.raises(InputError, match="29 distinct images"):
            subsample(rng.normal(size=(29, 3)), 10, rng)

    def test_equal_neighbours_are_refused(self):
        with pytest.raises(InputError, match="equally far"):
            two_nn(neighbour_ratios(np.eye(5)))

    @pytest.mark.parametrize("shape", [(200, 7), (7, 200)])
    def test_participation_ratio_by_eigenvalues(self, rng, shape):
        features = rng.normal(size=shape) * np.arange(1, shape[1] + 1) + 5
        variances = np.linalg.eigvalsh(np.cov(features.T))
        expected = variances.sum() ** 2 / (variances**2).sum()
        assert participation_ratio(features) == pytest.approx(expected, rel=1e-9)
