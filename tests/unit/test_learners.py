from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import ARDRegression, BayesianRidge, LogisticRegression

from trialwise import feature_matrices
from trialwise.errors import InputError
from trialwise.learners import category, reward, scaling
from trialwise.learners.ard import predict_by_ard
from trialwise.learners.protocol import (
    SCALINGS,
    Learner,
    fixed_penalty_values,
    learner_values,
)

SMALL = {"main": Learner("l2"), "sparse": Learner("l1"), "pca": Learner("l2", 5)}
COPIES = {"seen-scaled": scaling.standardise, "raw": scaling.unchanged}
each_scaling = pytest.mark.parametrize("name", SCALINGS)


def liblinear(rows, labels, penalty, c):
    return LogisticRegression(
        C=c,
        l1_ratio=1.0 if penalty == "l1" else 0.0,
        solver="liblinear",
        max_iter=5000,
        random_state=category.SEED,
    ).fit(rows, labels)


def best_c(score_of):
    best, chosen = 0, 1
    for c in category.C_BY_ACCURACY:
        score = score_of(c)
        if score > best:
            best, chosen = score, c
    return chosen


def plain_in_place(features, labels, learner):
    """The definition word for word: every fit of every pass on the matrix itself."""
    rows = features.copy()

    def one_pass(rows, c):
        mean, sd, model = 0, 1, None
        values = np.full(len(rows), 0.5)
        for t in range(len(rows)):
            if model is not None:
                values[t] = model.predict_proba([(rows[t] - mean) / sd])[0, 1]
            if len(set(labels[: t + 1])) == 2:
                seen = rows[: t + 1]
                mean, sd = seen.mean(axis=0), seen.std(axis=0)
                sd = np.where(sd == 0, 1, sd)
                seen -= mean
                seen /= sd
                model = liblinear(seen, labels[: t + 1], learner.penalty, c)
        return values, model

    c = best_c(lambda c: one_pass(rows, c)[1].score(rows, labels))
    if learner.components:
        rows = PCA(learner.components, svd_solver="full").fit_transform(rows)
    return one_pass(rows, c)[0], c


def plain_on_copies(features, labels, learner, standardised):
    def scaled(seen, new):
        if not standardised:
            return seen, new
        sd = np.where(seen.std(axis=0) == 0, 1, seen.std(axis=0))
        return (seen - seen.mean(axis=0)) / sd, (new - seen.mean(axis=0)) / sd

    whole, _ = scaled(features, features)
    c = best_c(
        lambda c: liblinear(whole, labels, learner.penalty, c).score(whole, labels)
    )
    rows = features
    if learner.components:
        rows = PCA(learner.components, svd_solver="full").fit_transform(features)
    values = np.full(len(rows), 0.5)
    for t in range(len(rows)):
        if len(set(labels[:t])) == 2:
            seen, new = scaled(rows[:t], rows[t : t + 1])
            model = liblinear(seen, labels[:t], learner.penalty, c)
            values[t] = model.predict_proba(new)[0, 1]
    return values, c


@pytest.fixture(scope="module")
def images():
    """Features of 20 trials, wider than long, that tell the category or reward."""
    rng = np.random.default_rng(3)
    features = rng.normal(size=(40, 30)) + rng.normal(size=30)
    score = features @ rng.normal(size=30)
    labels = (score > np.median(score)).astype(int)
    rewards = np.round(50 + 10 * (score - score.mean()) / score.std())
    return features, labels, rewards


@pytest.fixture(scope="module")
def task(images):
    return images[0][:20], images[1][:20]


@pytest.fixture(scope="module")
def pairs(images):
    features, _, rewards = images
    return features[:20], features[20:], rewards[:20], rewards[20:]


@pytest.mark.parametrize("learner", SMALL)
def test_in_place_equals_every_fit_of_every_pass(task, learner):
    values, c = plain_in_place(*task, SMALL[learner])
    ours = category.in_place(*task, {learner: SMALL[learner]})[learner]
    assert np.allclose(ours["value_right"], values, rtol=1e-9, atol=1e-12)
    assert np.allclose(ours["value_left"], 1 - values, rtol=1e-9, atol=1e-12)
    assert np.all(ours["C"] == c)


def test_the_scaling_in_place_is_that_of_numpy_to_the_last_digit(images):
    rows = images[0] * 100
    plain = rows.copy()
    for n, mean, sd in category._standardise_in_place(rows, 1):
        seen = plain[:n]
        assert np.array_equal(mean, seen.mean(axis=0))
        assert np.array_equal(sd, seen.std(axis=0))
        seen -= mean
        seen /= sd
        assert np.array_equal(rows, plain)


@pytest.mark.parametrize("learner", SMALL)
@pytest.mark.parametrize("name", COPIES)
def test_learning_from_copies_equals_the_plain_computation(task, name, learner):
    values, c = plain_on_copies(*task, SMALL[learner], name == "seen-scaled")
    ours = category.on_copies(*task, {learner: SMALL[learner]}, COPIES[name])[learner]
    assert np.allclose(ours["value_right"], values, rtol=1e-9, atol=1e-12)
    assert np.all(ours["C"] == c)


@pytest.mark.parametrize("name", ["in-place", *COPIES])
def test_rotation_changes_nothing(name, monkeypatch):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(40, 200))
    labels = (features[:, 0] > 0).astype(int)
    learners = {"main": Learner("l2")}
    learn = SCALINGS[name].category
    ours = learn(features, labels, learners)["main"]
    monkeypatch.setattr(category, "rotate", lambda rows: rows)
    plain = learn(features, labels, learners)["main"]
    assert np.allclose(ours["value_right"], plain["value_right"], rtol=0, atol=1e-12)
    assert np.array_equal(ours["C"], plain["C"])


def test_rotated_rows_keep_their_inner_products():
    rows = np.random.default_rng(0).normal(size=(8, 50))
    rotated = scaling.rotate(rows)
    assert rotated.shape == (8, 8)
    assert np.allclose(rotated @ rotated.T, rows @ rows.T)
    assert np.array_equal(rotated, np.tril(rotated))
    assert np.array_equal(scaling.rotate(rows.T), rows.T)


@each_scaling
def test_learners_of_one_call_equal_learners_on_their_own(name, task, pairs):
    quick = {"main": SMALL["main"], "pca": SMALL["pca"]}
    tasks = {"category": (task, SMALL), "reward": (pairs, quick)}
    if name == "global":
        tasks["category"] = task, quick
    for which, (arguments, learners) in tasks.items():
        learn = getattr(SCALINGS[name], which)
        together = learn(*arguments, learners)
        for learner in learners:
            alone = learn(*arguments, {learner: learners[learner]})[learner]
            for column, values in alone.items():
                assert np.array_equal(values, together[learner][column])


@pytest.mark.parametrize("n", [2, 6, 30])
@pytest.mark.parametrize("dimensions", [3, 20, 200])
@pytest.mark.parametrize("seed", range(4))
def test_ridge_equals_bayesian_ridge(n, dimensions, seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n + 2, 3)) @ rng.normal(size=(3, dimensions))
    rows += 0.3 * rng.normal(size=rows.shape)
    rewards = np.round(100 * rng.random(n))
    plain = BayesianRidge().fit(rows[:n], rewards).predict(rows[n:])
    assert np.allclose(reward.ridge(rows[:n], rewards, rows[n:]), plain, rtol=1e-9)


@pytest.fixture(params=[0, 1, 2])
def relevance(request):
    """Rows, rewards and new rows; few of many features matter, and noise is strong."""
    rng = np.random.default_rng(request.param)
    rows = rng.normal(size=(80, 100))
    rewards = rows[:, :4] @ [3, -2, 2, 1] + 0.5 * rng.normal(size=80)
    return rows[:60], rewards[:60], rows[60:]


def test_ard_equals_scikit_learn_where_that_is_sound(relevance):
    seen, rewards, new = relevance
    exact = ARDRegression(tol=1e-12).fit(seen, rewards).predict(new)
    ours = predict_by_ard(*relevance, tolerance=1e-12)
    assert np.allclose(ours, exact, rtol=0, atol=1e-6)


def test_ard_does_not_depend_on_the_order_of_rows(pairs):
    seen, rewards = np.vstack(pairs[:2]), 100 + np.concatenate(pairs[2:])
    new = np.ones((3, 30))
    order = np.random.default_rng(0).permutation(25)
    rows, told = seen[:25], rewards[:25]
    values = predict_by_ard(rows, told, new)
    assert np.allclose(values, predict_by_ard(rows[order], told[order], new), rtol=1e-9)


def test_ard_of_equal_rewards_predicts_them():
    rows = np.random.default_rng(0).normal(size=(6, 20))
    values = predict_by_ard(rows[:4], np.full(4, 7.0), rows[4:])
    assert np.allclose(values, 7)


def test_principal_axes_give_the_same_ridge_but_for_its_stop():
    rng = np.random.default_rng(0)
    rows, rewards = rng.normal(size=(32, 50)), 100 * rng.random(30)
    exact = BayesianRidge(tol=1e-12, max_iter=3000).fit(rows[:30], rewards)
    ours = reward.axis_free_ridge(rows[:30], rewards, rows[30:])
    assert np.allclose(ours, exact.predict(rows[30:]), rtol=1e-3)


@pytest.mark.parametrize("learner", SMALL)
@pytest.mark.parametrize("name", ["in-place", *COPIES])
def test_rewards_equal_the_plain_computation(pairs, name, learner):
    left, right, left_reward, right_reward = pairs
    n, k = len(left), SMALL[learner].components
    rows = np.concatenate([left, right])
    if k:
        rows = PCA(k, svd_solver="full").fit_transform(rows)
    left, right = rows[:n], rows[n:]
    expected = np.zeros((n, 2))
    for t in range(1, n):
        seen = np.concatenate([left[:t], right[:t]])
        new = np.stack([left[t], right[t]])
        if name != "raw":
            mean, sd = seen.mean(axis=0), seen.std(axis=0)
            seen, new = (seen - mean) / sd, (new - mean) / sd
        model = ARDRegression() if learner == "sparse" else BayesianRidge()
        model.fit(seen, np.concatenate([left_reward[:t], right_reward[:t]]))
        expected[t] = model.predict(new)
    ours = SCALINGS[name].reward(*pairs, {learner: SMALL[learner]})[learner]
    # scikit-learn's ARD is only sound from here on: as many rows as features.
    first = 15 if learner == "sparse" and name != "in-place" else 0
    for column, values in zip(["value_left", "value_right"], expected.T, strict=True):
        assert np.allclose(ours[column][first:], values[first:], rtol=1e-8)
    assert ours["value_left"][0] == ours["value_right"][0] == 0


def test_rounding_decides_no_published_ard_of_many_features():
    rng = np.random.default_rng(4)
    rows, rewards = rng.normal(size=(42, 400)), np.round(100 * rng.random(40))
    other, order = rows.copy(), rng.permutation(40)
    other[:40] = rows[order]

    def moved(predict):
        first = predict(rows[:40], rewards, rows[40:])
        return np.abs(first - predict(other[:40], rewards[order], other[40:])).max()

    assert moved(reward.published_ard) < 1e-6
    assert (
        moved(lambda seen, told, new: ARDRegression().fit(seen, told).predict(new)) > 1
    )


def test_the_optimum_has_no_gradient(task):
    features, labels = task
    c = np.array(category.C_BY_PREDICTION)
    start = np.zeros((len(c), features.shape[1])), np.zeros(len(c))
    weights, intercept = category.optimum(features, labels, c, *start)
    probability = 1 / (1 + np.exp(-(weights @ features.T + intercept[:, None])))
    pull = c[:, None] * (labels - probability)
    gradient = np.column_stack([weights - pull @ features, pull.sum(axis=1)])
    assert np.linalg.norm(gradient, axis=1).max() < 2e-8


def test_log_odds_equal_another_solver(task):
    features, labels = task
    odds = category.log_odds(features, labels, "l2")
    for t in (8, 19):
        for c, ours in zip(category.C_BY_PREDICTION, odds[t], strict=True):
            model = LogisticRegression(
                C=c, solver="newton-cholesky", tol=1e-12, max_iter=1000
            ).fit(features[:t], labels[:t])
            theirs = model.decision_function(features[t : t + 1])[0]
            assert ours == pytest.approx(theirs, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(
    "change", [lambda x: 100 * x, lambda x: 0 * x, lambda x: np.repeat(x[:5], 4, 0)]
)
def test_the_optimum_is_found_on_hard_features(task, change):
    features, labels = task
    assert np.isfinite(category.log_odds(change(features), labels, "l2")).all()


def test_prequential_c_predicted_best_so_far(task):
    features, labels = task
    odds = category.log_odds(features, labels, "l2")
    ours = category.prequential(features, labels, {"main": Learner("l2")})["main"]
    losses = np.zeros(15)
    for t in range(len(labels)):
        both = len(set(labels[:t])) == 2
        k = int(np.argmin(losses)) if both else 6
        assert ours["C"][t] == category.C_BY_PREDICTION[k]
        probability = 1 / (1 + np.exp(-odds[t]))
        assert ours["value_right"][t] == pytest.approx(probability[k] if both else 0.5)
        losses -= np.log(probability if labels[t] else 1 - probability)


def test_the_grid_of_comparable():
    grid = category.C_BY_PREDICTION
    assert len(grid) == 15
    assert np.allclose(np.log10(grid), np.linspace(-3, 4, 15))


@each_scaling
def test_one_category_teaches_nothing(name, task):
    values = SCALINGS[name].category(task[0], np.zeros(20, dtype=int), SMALL)
    for learner in SMALL:
        assert np.all(values[learner]["value_right"] == 0.5)
        assert np.all(values[learner]["C"] == 1)


@each_scaling
def test_mirroring_the_categories_mirrors_their_values(name, task):
    features, labels = task
    learn = SCALINGS[name].category
    values, mirrored = (learn(features, y, SMALL) for y in (labels, 1 - labels))
    for learner in SMALL:
        assert np.allclose(
            values[learner]["value_left"], mirrored[learner]["value_right"], atol=1e-4
        )
        assert np.array_equal(values[learner]["C"], mirrored[learner]["C"])


@pytest.mark.parametrize(
    ("name", "learner"),
    [
        (name, learner)
        for name in SCALINGS
        for learner in SMALL
        if (name, learner) != ("in-place", "sparse")
    ],
)
def test_mirroring_the_sides_mirrors_their_values(name, learner, pairs):
    left, right, left_reward, right_reward = pairs
    learn = partial(SCALINGS[name].reward, learners={learner: SMALL[learner]})
    values = learn(left, right, left_reward, right_reward)[learner]
    mirrored = learn(right, left, right_reward, left_reward)[learner]
    assert np.allclose(values["value_left"], mirrored["value_right"], rtol=1e-9)
    assert np.allclose(values["value_right"], mirrored["value_left"], rtol=1e-9)


def test_a_constant_column_counts_for_nothing(task, pairs):
    features, labels = task
    # The mean of three times 0.1 is not 0.1 in floating point.
    constant = np.full((20, 1), 0.1)
    learn = SCALINGS["seen-scaled"]
    with_it = learn.category(np.hstack([features, constant]), labels, SMALL)
    without = learn.category(features, labels, SMALL)
    for learner in ("main", "sparse"):
        assert np.allclose(
            with_it[learner]["value_right"],
            without[learner]["value_right"],
            atol=0 if learner == "sparse" else 1e-9,
            rtol=1e-2 if learner == "sparse" else 1e-7,
        )
    sides = [np.hstack([side, constant]) for side in pairs[:2]]
    with_it = learn.reward(*sides, *pairs[2:], {"main": Learner("l2")})["main"]
    without = learn.reward(*pairs, {"main": Learner("l2")})["main"]
    assert np.allclose(with_it["value_left"], without["value_left"], rtol=1e-7)


def test_standardise_by_hand():
    seen = np.array([[1.0, 0.1], [3.0, 0.1], [5.0, 0.1]])
    scaled, new = scaling.standardise(seen, np.array([3.0, 0.4]))
    assert np.allclose(scaled[:, 0], [-np.sqrt(1.5), 0, np.sqrt(1.5)])
    assert np.array_equal(scaled[:, 1], [0, 0, 0])
    assert np.allclose(new, [0, 0.3])


def test_the_scale_of_all_images_in_blocks():
    rng = np.random.default_rng(0)
    features = (3 + rng.normal(size=(2500, 8)) * np.arange(1, 9)).astype("float32")
    whole = scaling.scale_by_all(features)
    phi = whole(features)
    assert np.allclose(phi.mean(axis=0), 0, atol=1e-12)
    assert np.mean((phi**2).sum(axis=1)) == pytest.approx(1)
    assert np.ptp(phi / (features - features.mean(axis=0, dtype=float))) < 1e-10
    scores = scaling.scale_by_all(features, 3)(features)
    theirs = PCA(3, svd_solver="full").fit_transform(features.astype(float))
    theirs /= np.sqrt(np.mean((theirs**2).sum(axis=1)))
    assert np.allclose(np.abs(scores), np.abs(theirs[:, ::-1]), atol=1e-9)
    assert np.all(scaling.scale_by_all(np.ones((4, 2)))(np.ones((4, 2))) == 0)


@pytest.fixture(scope="module")
def study():
    """Trials of three people in both tasks, features of 80 images with 51 columns."""
    rng = np.random.default_rng(1)
    names = [
        f"stimuli/thing{i % 20:02d}/thing{i % 20:02d}_{i:02d}.jpg" for i in range(80)
    ]
    features = rng.normal(size=(80, 51)) + rng.normal(size=51)
    score = features[:, :5].sum(axis=1)
    tables = {"category": [], "reward": []}
    for person in ("b", "a", "c"):
        shown = rng.permutation(80)[:52]
        tables["category"].append(
            pd.DataFrame(
                {
                    "participant": person,
                    "trial": range(52),
                    "image": [names[i] for i in shown],
                    "true_category_binary": (score[shown] > np.median(score)) * 1,
                }
            )
        )
        left, right = shown[:26], shown[26:]
        tables["reward"].append(
            pd.DataFrame(
                {
                    "participant": person,
                    "trial": range(26),
                    "left_image": [names[i] for i in left],
                    "right_image": [names[i] for i in right],
                    "left_reward": np.round(10 * score[left]),
                    "right_reward": np.round(10 * score[right]),
                }
            )
        )
    tables = {name: pd.concat(parts) for name, parts in tables.items()}
    return tables, features, names


@each_scaling
@pytest.mark.parametrize("task", ["category", "reward"])
def test_all_participants(name, task, study):
    tables, features, names = study
    learners = ["main", "pca"]
    trials = tables[task].query("participant != 'c'")
    values = learner_values(trials, features, names, name, learners)
    assert list(values) == learners
    for table in values.values():
        columns = ["participant", "trial", "value_left", "value_right"]
        assert list(table)[:4] == columns
        assert list(table)[4:] == (["C"] if task == "category" else [])
        assert table["participant"].is_monotonic_increasing
        assert np.isfinite(table["value_right"]).all()


@pytest.mark.parametrize(
    ("task", "name"), [("category", "in-place"), ("reward", "global")]
)
def test_the_order_of_rows_and_the_number_of_processes_do_not_matter(task, name, study):
    tables, features, names = study
    shuffled = tables[task].sample(frac=1, random_state=0)
    one = learner_values(tables[task], features, names, name, ["main"])["main"]
    two = learner_values(shuffled, features, names, name, ["main"], n_jobs=2)["main"]
    pd.testing.assert_frame_equal(one, two, check_exact=True)


def test_one_person_alone_learns_the_same(study):
    tables, features, names = study
    run = partial(learner_values, features=features, images=names, scaling="global")
    everyone = run(tables["category"].query("participant != 'c'"), learners=["main"])
    everyone = everyone["main"]
    trials = tables["category"].query("participant == 'b'")
    alone = run(trials, learners=["main"])["main"]
    own = everyone.query("participant == 'b'").reset_index(drop=True)
    pd.testing.assert_frame_equal(alone, own, check_exact=True)


@pytest.mark.parametrize(
    ("task", "learner", "change"),
    [
        (task, learner, change)
        for task, learner in (
            *(("category", "main"), ("category", "pca"), ("category", "sparse")),
            *(("reward", "main"), ("reward", "pca")),
        )
        for change in ("shift", "multiply", "rotate")
        if (learner, change) != ("sparse", "rotate")
    ],
)
def test_comparable_ignores_origin_unit_and_axes(task, learner, change, study):
    tables, features, names = study
    trials = tables[task].query("participant == 'a'")
    if learner == "sparse":
        trials = trials.query("trial < 15")
    axes = np.linalg.qr(np.random.default_rng(0).normal(size=(51, 51)))[0]
    changed = {
        "shift": features + np.arange(51),
        "multiply": features * 37,
        "rotate": features @ axes,
    }[change]
    before, after = (
        learner_values(trials, f, names, "global", [learner])[learner]
        for f in (features, changed)
    )
    tolerance = {"rtol": 1e-6, "atol": 1e-4 if learner == "sparse" else 1e-8}
    for side in ("value_left", "value_right"):
        assert np.allclose(before[side], after[side], **tolerance)


def test_fixed_penalties_hold_the_prequential_values(study):
    tables, features, names = study
    trials = tables["category"].query("participant == 'a'")
    fixed = fixed_penalty_values(trials, features, names)["main"]
    chosen = learner_values(trials, features, names, "global", ["main"])["main"]
    assert len(fixed) == 52 * 15
    both = chosen.merge(
        fixed, on=["participant", "trial", "C"], suffixes=("", "_fixed")
    )
    assert len(both) == 52
    assert np.array_equal(both["value_right"], both["value_right_fixed"])
    with pytest.raises(InputError, match="no C"):
        fixed_penalty_values(tables["reward"], features, names)


def test_objects_become_images(study):
    _, _, names = study
    objects = [f"thing{i:02d}" for i in range(20)]
    values = np.arange(40.0).reshape(20, 2)
    expanded = feature_matrices.expand_objects(values, objects, names)
    assert expanded.shape == (80, 2)
    assert np.array_equal(expanded[23], values[3])
    with pytest.raises(InputError, match=r"thing19.*has no features"):
        feature_matrices.expand_objects(values[:19], objects[:19], names)
    with pytest.raises(InputError, match="thing00 is listed twice"):
        feature_matrices.expand_objects(values, ["thing00", *objects[:19]], names)


def broken(tables, features, names, what):
    """The study with one thing wrong, and what the message says about it."""
    trials = tables["category"].copy()
    learners, name = ["main"], "raw"
    features, names = features.copy(), list(names)
    match what:
        case "nan":
            features[3, 7] = np.nan
            says = r"thing03_03\.jpg: feature 7 is nan"
        case "infinite":
            features[0, 0] = -np.inf
            says = r"thing00_00\.jpg: feature 0 is -inf"
        case "text":
            features = features.astype(str)
            says = "Supply numbers"
        case "vector":
            features = features[:, 0]
            says = "one row per image"
        case "length":
            names = names[:-1]
            says = r"\(80, 51\), their list 79 names"
        case "duplicate":
            names[5] = names[2]
            says = r"thing02_02\.jpg is listed twice, for rows 2 and 5"
        case "missing":
            names[names.index(trials["image"].iloc[0])] = "other.jpg"
            says = "Participant b, trial 0: the image .* has no features"
        case "dimensions":
            features, learners = features[:, :48], ["pca"]
            says = "49 principal components, the features have 48"
        case "rank":
            features[:, 40:] = 1.0
            learners = ["pca"]
            says = "Participant a: .* 49 principal components, the features have 40"
        case "rank of all":
            features[:, 40:] = 1.0
            learners, name = ["pca"], "global"
            says = "49 principal components, the features have 40"
        case "trials":
            trials, learners = trials.query("trial < 30"), ["pca"]
            says = "Participant a: .* the features have 30"
        case "learner":
            learners = ["min"]
            says = r"no learner 'min'\. Choose from main, sparse, pca"
        case "scaling":
            name = "none"
            says = r"no scaling 'none'\. Choose from in-place, seen-scaled, raw, global"
        case "columns":
            trials = trials.drop(columns="image")
            says = "Supply those of one task: participant, trial, image"
        case "category":
            trials["true_category_binary"] = 2
            says = "Participant b, trial 0: true_category_binary is 2"
        case "reward":
            trials = tables["reward"].assign(left_reward="many")
            says = "Participant b, trial 0: left_reward is nan"
        case "repeated":
            trials = pd.concat([trials, trials.iloc[[4]]])
            says = "Participant b, trial 4 occurs twice"
        case "empty":
            trials = trials.iloc[:0]
            says = "no trials"
    return (trials, features, names, name, learners), says


@pytest.mark.parametrize(
    "what",
    [
        *("nan", "infinite", "text", "vector", "length", "duplicate", "missing"),
        *("dimensions", "rank", "rank of all", "trials", "learner", "scaling"),
        *("columns", "category", "reward", "repeated", "empty"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(study, what):
    arguments, says = broken(*study, what)
    with pytest.raises(InputError, match=says):
        learner_values(*arguments)
