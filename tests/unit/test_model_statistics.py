"""Statistics over models, against other libraries and on small tables."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from trialwise.errors import InputError
from trialwise.summary.alignment_effects import alignment_effects, loss_effects
from trialwise.summary.correlations import (
    correlate,
    partial_spearman,
    resample_spearman,
)
from trialwise.summary.factors import computed_statistics
from trialwise.summary.model_table import (
    COLUMNS,
    MEASURES,
    computed_models,
    published_models,
    read_families,
    repair,
)
from trialwise.summary.paper_tables import (
    TABLES,
    side_by_side,
    to_latex,
    to_markdown,
)
from trialwise.summary.rankings import rank_models

RESOURCES = Path(__file__).parents[2] / "resources"
PUBLISHED = RESOURCES / "published" / "models.csv"


@pytest.fixture(scope="module")
def families():
    return read_families(RESOURCES / "families.tsv")


@pytest.fixture(scope="module")
def published(models, families):
    return published_models(PUBLISHED, models, families)


@pytest.fixture
def table():
    """Make a table of models of one version from some of its columns."""

    def make(**columns):
        rows = pd.DataFrame(columns)
        unknown = [name for name in COLUMNS[7:] if name not in rows]
        given = {"source": "computed", "version": "one", "type": "Supervised"}
        given |= {"baseline": "", "aligned_by": "", **dict.fromkeys(unknown, np.nan)}
        given = {name: value for name, value in given.items() if name not in rows}
        rows = rows.assign(**given)
        return rows.assign(family=rows.get("family", rows["model"]))[list(COLUMNS)]

    return make


def scores_of(**nll):
    """Scores of one protocol: for each model the loss in both tasks."""
    rows = [
        {"protocol": "comparable", "task": task, "learner": learner, "model": model}
        | {"n_participants": n, "n_trials": trials, "nll": value + step}
        | {"mcfadden_r2": 1 - value / 1000, "task_accuracy": accuracy}
        | {"choice_accuracy": 0.6}
        for model, value in nll.items()
        for task, n, trials, accuracy in [
            ("category", 10, 1200, 0.7),
            ("reward", 8, 480, 0.6),
        ]
        for learner, step in [("main", 0.0), ("sparse", 5.0)]
    ]
    baseline = {**rows[0], "learner": "baseline", "model": "truth", "nll": 1.0}
    return pd.DataFrame([*rows, baseline])


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_resampled_correlation_is_that_of_the_repeated_rows(data):
    n = data.draw(st.integers(4, 12))
    values = st.lists(st.integers(0, 6), min_size=n, max_size=n)
    x, y = data.draw(values), data.draw(values)
    weights = np.array(data.draw(values))
    repeated = np.repeat(x, weights), np.repeat(y, weights)
    constant = any(len(set(column)) < 2 for column in repeated)
    ours = (
        resample_spearman(x, y, np.empty((n, 0)), weights[None])[0]
        if weights.sum()
        else np.nan
    )
    if constant:
        assert np.isnan(ours)
    else:
        assert ours == pytest.approx(stats.spearmanr(*repeated).statistic, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_correlation_without_covariates_is_that_of_scipy(seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 9, 30)
    y = x + rng.normal(0, 4, 30)
    expected = stats.spearmanr(x, y)
    ours = partial_spearman(x, y, np.empty((30, 0)))
    assert ours == pytest.approx((expected.statistic, expected.pvalue), rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_partial_correlation_is_the_t_of_a_regression_of_ranks(seed):
    api = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(seed)
    first, group = rng.normal(size=40), rng.integers(0, 3, 40)
    x = first + rng.normal(size=40)
    y = x + group + rng.normal(size=40)
    dummies = (group[:, None] == [1, 2]).astype(float)
    design = api.add_constant(
        np.column_stack([stats.rankdata(x), stats.rankdata(first), dummies])
    )
    fit = api.OLS(stats.rankdata(y), design).fit()
    t, degrees = fit.tvalues[1], fit.df_resid
    value, p = partial_spearman(x, y, np.column_stack([first, dummies]))
    assert value == pytest.approx(t / np.sqrt(t**2 + degrees), rel=1e-9)
    assert p == pytest.approx(fit.pvalues[1], rel=1e-7)


def test_what_the_covariates_determine_has_no_correlation():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=20), rng.normal(size=20)
    assert np.isnan(partial_spearman(x, y, np.exp(x)[:, None])).all()


def test_a_covariate_given_twice_changes_nothing():
    x, y, z = np.random.default_rng(1).normal(size=(3, 25))
    once = partial_spearman(x, y, z[:, None])
    assert partial_spearman(x, y, np.column_stack([z, z**3])) == pytest.approx(once)


def test_copies_of_models_do_not_narrow_the_interval_over_families(table):
    rng = np.random.default_rng(2)
    n, copies = 15, 6
    r2, accuracy = rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], n).T
    originals = {"model": [f"model-{i}" for i in range(n)]}
    originals |= {"r2": r2, "task_accuracy": accuracy}
    repeated = {key: np.repeat(value, copies) for key, value in originals.items()}
    repeated["family"] = repeated["model"]
    repeated["model"] = [f"copy-{i}" for i in range(n * copies)]
    rows = {
        name: correlate(table(**columns), 2000, 0).set_index("item").loc["Fig. 4A"]
        for name, columns in (("once", originals), ("copied", repeated))
    }
    width = {
        (name, kind): row[f"{kind}_high"] - row[f"{kind}_low"]
        for name, row in rows.items()
        for kind in ("ci", "family")
    }
    assert rows["copied"]["value"] == pytest.approx(rows["once"]["value"])
    assert rows["copied"]["n_families"] == n
    assert width["copied", "ci"] < 0.6 * width["once", "ci"]
    assert width["copied", "family"] == pytest.approx(width["once", "ci"], rel=0.15)


def test_a_statistic_does_not_depend_on_the_others(published):
    drawn = published[published["version"] == "figures"]
    alone = correlate(drawn, 50, 1)
    beside = correlate(published, 50, 1)
    beside = beside[beside["version"] == "figures"].reset_index(drop=True)
    pd.testing.assert_frame_equal(alone, beside, check_dtype=False)


def test_few_models_give_a_number_of_models_and_no_value(models, families):
    scores = scores_of(**{"spose-49": 800.0, "glove-6b-50d": 900.0, "mine": 950.0})
    metrics = pd.DataFrame({"model": ["glove-6b-50d"], "cka": [0.3]})
    own = computed_models(scores, metrics, models, families)
    assert own["model"].tolist() == ["spose-49", "glove-6b-50d", "mine"]
    assert own["family"].tolist() == ["SPoSE", "word vectors", "mine"]
    assert own["category_r2"].tolist() == pytest.approx([0.2, 0.1, 0.05])
    assert own["task_accuracy"].tolist() == pytest.approx([0.65] * 3)
    assert own["cka"].tolist() == pytest.approx([np.nan, 0.3, np.nan], nan_ok=True)
    statistics = computed_statistics(own, 20, 0).set_index("item")
    assert statistics.loc["Fig. 4B", "n"] == 0
    assert np.isnan(statistics.loc["Fig. 4B", "value"])
    assert statistics.loc["Fig. 8C", "n"] == 0


def test_no_published_value_enters_a_computed_table(models, families, published):
    own = computed_models(
        scores_of(resnet18=900.0), pd.DataFrame({"model": []}), models, families
    )
    assert own["category_nll"].tolist() == [900.0]
    assert own[list(MEASURES)].isna().all(axis=None)
    assert own["parameters"].tolist() == [models["resnet18"].parameters / 1e6]
    table = side_by_side(published, own, TABLES["table-1"], "comparable")
    row = table.set_index("model")
    assert row.loc["resnet18", "category_nll_published"] == 7183.59
    assert row.loc["resnet18", "category_nll_reproduced"] == 900
    assert row["category_nll_reproduced"].count() == 1


def test_shared_features_count_once(models, published):
    repaired = repair(published, models)
    drawn = published[published["version"] == "figures"].set_index("model")
    once = repaired[repaired["version"] == "figures-repaired"].set_index("model")
    assert len(drawn) - len(once) == 3
    shared = ["simclr-rn50", "swav-rn50", "pirl-rn50"]
    assert once.loc["simclr-rn50", "r2"] == pytest.approx(
        drawn.loc[shared, "r2"].mean()
    )
    assert once.loc["vit-h-14", "training_images"] == 3600
    others = drawn.index.difference([*shared, "vicreg-rn50", "barlowtwins-rn50"])
    columns = ["r2", "cka", "family", "type"]
    pd.testing.assert_frame_equal(once.loc[others, columns], drawn.loc[others, columns])


def test_aligned_networks_against_their_base(table):
    own = table(
        model=["base", "better", "worse"],
        baseline=["", "base", "base"],
        aligned_by=["", "gLocal", "gLocal"],
        r2=[0.10, 0.15, 0.02],
    )
    effects = alignment_effects(own)
    effects = effects[(effects["item"] == "Fig. 7") & (effects["outcome"] == "r2")]
    difference = effects[effects["statistic"] == "difference"].set_index("model")
    assert difference["value"].to_dict() == pytest.approx(
        {"better": 0.05, "worse": -0.08}
    )
    gain = effects[effects["statistic"] == "models that gain"].iloc[0]
    assert (gain["value"], gain["n"]) == (1, 2)


def test_bars_weight_tasks_by_their_participants(table):
    own = table(
        model=["slip-slip-small", "clip-slip-small"],
        category_participants=[30.0, 30.0],
        reward_participants=[10.0, 10.0],
        category_r2=[0.4, 0.2],
        reward_r2=[0.0, 0.2],
    )
    effects = loss_effects(own)
    bars = effects[effects["statistic"] == "mean over participants"]
    bars = bars[bars["outcome"] == "r2"]
    assert bars["value"].tolist() == pytest.approx([0.3, 0.2])
    assert bars["n"].tolist() == [40, 40]
    steps = effects[effects["predictor"] == "slip - clip"]
    assert steps["value"].iloc[0] == pytest.approx(0.1)


def test_ranks_among_models_and_chance(table):
    own = table(
        model=["a", "b", "c", "task", "d"],
        type=["Multimodal", "Multimodal", "Supervised", "Task", "Multimodal"],
        category_r2=[0.4, 0.3, 0.2, 0.1, -0.1],
        task_accuracy=[0.9, 0.8, 0.7, 0.6, 0.5],
        category_trials=[1000.0] * 5,
        reward_trials=[1000.0] * 5,
    )
    ranks = rank_models(own).fillna({"outcome": "", "subset": ""})
    value = ranks.set_index(["statistic", "outcome", "subset"])["value"]
    assert value["leading models", "category_r2", "Multimodal"] == 2
    assert value["models better than Task", "category_r2", "all"] == 3
    assert value["models better than Task", "category_r2", "Multimodal"] == 2
    assert value["models below chance", "category_r2", "all"] == 1
    assert value["models above chance", "task_accuracy", "all"] == 4
    assert np.isnan(value["leading models", "reward_r2", "Multimodal"])


def test_chance_is_that_of_the_mean_of_two_proportions(table):
    own = table(
        model=["a"],
        task_accuracy=[0.52],
        category_trials=[600.0],
        reward_trials=[300.0],
    )
    ranks = rank_models(own)
    p = ranks.loc[ranks["statistic"] == "accuracy", "p"].iloc[0]
    rng = np.random.default_rng(3)
    draws = (
        rng.binomial(600, 0.5, 200_000) / 600 + rng.binomial(300, 0.5, 200_000) / 300
    )
    assert p == pytest.approx(np.mean(draws / 2 >= 0.52), abs=0.01)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("clip-vit-l-14,tables", "clip-l,tables", "line 2: 'clip-l' is no model"),
        ("clip-vit-b-16,tables", "clip-vit-l-14,tables", "line 3: this model stands"),
        ("peterson", "petersen", "line 1: no column peterson"),
    ],
)
def test_faults_in_the_published_values(tmp_path, models, families, old, new, message):
    path = tmp_path / "models.csv"
    path.write_text(PUBLISHED.read_text().replace(old, new, 1))
    with pytest.raises(InputError, match=message):
        published_models(path, models, families)


def test_every_model_has_a_family_and_a_baseline_of_the_registry(models, families):
    assert set(families.index) == set(models)
    assert families.index.is_unique
    baselines = families["baseline"][families["baseline"] != ""]
    assert set(baselines) <= set(models)
    for name, model in models.items():
        assert (families.loc[name, "baseline"] != "") == bool(model.aligned_by)
        if model.base:
            assert families.loc[name, "baseline"] == model.base
            assert families.loc[name, "family"] == families.loc[model.base, "family"]


@pytest.mark.parametrize("label", TABLES)
def test_tables_can_be_read_again(label, models, published):
    columns = TABLES[label]
    table = side_by_side(published, None, columns)
    names = {name: model.table_name for name, model in models.items()}
    lines = to_markdown(table, columns, names).splitlines()
    text = "\n".join([lines[0], *lines[2:]])
    again = pd.read_csv(io.StringIO(text), sep="|", skipinitialspace=True, dtype=str)
    again = again.iloc[:, 1:-1].map(str.strip)
    assert again.iloc[:, 0].tolist() == [names[model] for model in table["model"]]
    for k, (column, (_, decimals, _)) in enumerate(columns.items(), start=1):
        cells = again.iloc[:, k].str.split(" / ").str[0].str.strip("*")
        values = pd.to_numeric(cells.replace("-", np.nan))
        expected = table[f"{column}_published"].round(decimals)
        np.testing.assert_allclose(values, expected, atol=1e-9)
    latex = to_latex(table, columns, names, label).splitlines()
    rows = [line for line in latex if line.endswith(r"\\") and "&" in line]
    assert {line.count("&") for line in rows} == {len(columns)}
    assert len(rows) == len(table) + 2


def test_names_are_escaped_for_latex(models, published):
    columns = TABLES["table-2"]
    table = side_by_side(published, None, columns).iloc[:1]
    latex = to_latex(table, columns, {"clip-vit-l-14": "a_b & 50%"}, "table-2")
    assert r"a\_b \& 50\% &" in latex
