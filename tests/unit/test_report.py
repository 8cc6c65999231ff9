"""The page: its numbers, what it leaves out, and HTML that stands by itself."""

from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from PIL import Image

from trialwise.consistency.comparisons import Comparison, compare_observers
from trialwise.files import write_table
from trialwise.simulation.observers import ObserverGroup, simulate_correctness
from trialwise.summary.defects import Numbers, describe_defects
from trialwise.summary.figures.alignment_catalogue import LEARNING_TASKS
from trialwise.summary.figures.catalogue import ERROR_CONSISTENCY
from trialwise.summary.headline import ceiling, gains, protocols
from trialwise.summary.numbers import (
    MINUS,
    NONE,
    beside,
    fixed,
    interval,
    significant,
)
from trialwise.summary.report import embed, read_figures, render_report, to_html
from trialwise.summary.reproduction import compare, read_published
from trialwise.summary.verdicts import as_printed, count_verdicts, join_sources

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "workflow" / "report" / "page"
TEMPLATES = {path.name: path.read_text() for path in PAGE.glob("*.*")}
PROTOCOLS = yaml.safe_load((ROOT / "config" / "protocols.yaml").read_text())
GROUPS = {"human": ["subject-*"], "network": ["network-*"]}
PAIRS = [["human", "human"], ["network", "network"], ["network", "human"]]
SECTIONS = (
    *("headline", "verdicts", "figures", "protocols", "defects", "methods"),
    "provenance",
)


class Page(HTMLParser):
    """What a test wants to know of a page."""

    def __init__(self, html):
        super().__init__()
        self.ids, self.tags, self.addresses, self.headings = [], [], [], []
        self.open, self.texts = [], {}
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append((tag, attributes))
        self.ids += [attributes["id"]] if "id" in attributes else []
        for key in ("src", "href"):
            self.addresses += [attributes[key]] if key in attributes else []
        if tag in ("h1", "h2", "h3", "h4", "h5"):
            self.headings.append(int(tag[1]))
        if tag not in ("meta", "link", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        section = self.ids[-1] if self.ids else ""
        self.texts[section] = self.texts.get(section, "") + text


@pytest.fixture(scope="module")
def trials():
    rng = np.random.default_rng(3)
    people = ObserverGroup("subject", 4, 0.75, 0.4)
    networks = ObserverGroup("network", 5, 0.3, 0.6)
    correct = simulate_correctness(people, networks, 0.05, 300, rng)
    names = [f"subject-{i}" for i in range(4)] + [f"network-{i}" for i in range(5)]
    return pd.concat(
        pd.DataFrame(
            {
                "observer": name,
                "image": [f"{i:03}" for i in range(300)],
                "correct": right.astype(int),
                "row": range(1, 301),
            }
        )
        for name, right in zip(names, correct, strict=True)
    )


@pytest.fixture(scope="module")
def observers(trials):
    """Pairs and groups of simulated observers."""
    comparisons = [Comparison(*pair) for pair in PAIRS]
    pairs, groups, _ = compare_observers(trials, GROUPS, comparisons, n_resamples=100)
    return pairs, groups


@pytest.fixture
def scores():
    """Scores of two models and the right answer under two protocols."""
    rows = []
    for protocol, evaluation in (
        ("published", "in-sample"),
        ("comparable", "leave-trial-out"),
    ):
        for task in ("category", "reward"):
            for learner, model, gain, nll in (
                ("baseline", "truth", 0.0, 600.0),
                ("main", "spose-49", 0.05, 550.0),
                ("main", "other", 0.001, 640.5),
            ):
                rows.append([protocol, evaluation, task, learner, model, gain, nll])
    columns = ["protocol", "evaluation", "task", "learner", "model"]
    table = pd.DataFrame(rows, columns=[*columns, "gain_over_truth", "nll"])
    return table.assign(
        n_participants=10,
        n_trials=1200,
        gain_se=0.002,
        mcfadden_r2=1 - table["nll"] / (1200 * np.log(2)),
        learner_accuracy=0.8,
    )


@pytest.fixture
def published(tmp_path):
    """Three values of each kind, as a table of published values."""
    columns = "item,protocol,published,tolerance,table,select,column,source,reason"
    path = tmp_path / "error-consistency.csv"
    path.write_text(
        f"{columns}\n"
        "edges: mean kappa human-human,all-trials,0.3,1,consistency/edges/groups.csv,"
        'comparison=human-human,mean,"figure of kappa against ImageNet accuracy, x",\n'
        "edges: mean kappa network-human,all-trials,0.9,0.001,"
        "consistency/edges/groups.csv,comparison=network-human,mean,text,A <slip>.\n"
        "colour: R2,all-trials,0.2,,,,,Table 1,No data.\n"
    )
    return path


def study(folder, observers=None, scores=None, published=None, pictures=()):
    """Write tables of a study; return what `render_report` takes."""
    files = []
    if observers is not None:
        for name, table in zip(("pairs", "groups"), observers, strict=True):
            files.append(folder / "consistency" / "edges" / f"{name}.csv")
            write_table(table, files[-1])
    if scores is not None:
        files.append(folder / "choices" / "scores.csv")
        write_table(scores, files[-1])
    values = {}
    if published is not None:
        values["error-consistency"] = read_published(published)
        files.append(folder / "summary" / "reproduction" / published.name)
        write_table(compare(values["error-consistency"], folder), files[-1])
    captions = {}
    for name in pictures:
        files.append(folder / f"{name}.png")
        files[-1].parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (400, 100), "white").save(files[-1])
        captions[name] = "**Figure.** A caption about ``x``."
    settings = {
        "configuration": ["config.yaml", "own.yaml"],
        "seed": 1,
        "n_resamples": 100,
        "groups": GROUPS,
        "experiments": {
            "edges": {
                "comparisons": PAIRS,
                "conditions": [],
                "exclude": [],
                "cluster": False,
                "simulated": False,
            }
        }
        if observers is not None
        else {},
        "participants": "paper",
        "simulate": {},
        "protocols": PROTOCOLS,
        "left_out": {"vgg16": "needs torch", "alexnet": "needs torch"},
        "captions": captions,
    }
    return files, folder, values, settings, TEMPLATES


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (fixed(-0.12345), f"{MINUS}0.123"),
        (fixed(-0.0001), "0.000"),
        (fixed(12345.678, 1), "12,345.7"),
        (fixed(float("nan")), NONE),
        (interval(-0.0123, 0.4567), f"[{MINUS}0.012, 0.457]"),
        (interval(float("nan"), 1.0), NONE),
        (significant(1234567.0), "1,234,567"),
        (significant(-0.00001234), f"{MINUS}1.23e{MINUS}5"),
        (significant(0.5), "0.5"),
        (beside("6976.13", "6976.131266450189"), "6976.131"),
        (beside("-.24", "-0.2351"), f"{MINUS}0.235"),
        (beside("70", "70.0"), "70"),
        (beside("3.09e-08", "3.0890220e-08"), f"3.089e{MINUS}8"),
        (beside("clip", "clip"), "clip"),
        (beside("0.3", ""), ""),
    ],
)
def test_numbers_have_the_digits_that_a_reader_needs(text, expected):
    assert text == expected


def test_ceiling_is_reached_by_the_most_consistent_observers(trials):
    """The worse observer of each pair is right only where the better one is."""
    right = {
        name: np.arange(300) < own["correct"].sum()
        for name, own in trials.groupby("observer")
    }
    nested = trials.assign(correct=0)
    for name, correct in right.items():
        nested.loc[nested["observer"] == name, "correct"] = correct.astype(int)
    comparison = [Comparison("network", "human")]
    pairs, groups, _ = compare_observers(nested, GROUPS, comparison, n_resamples=2)
    bound = ceiling(pairs, GROUPS["network"], GROUPS["human"])
    assert groups["mean"].item() == pytest.approx(bound, abs=1e-12)


def test_models_are_ranked_and_counted_under_the_protocol_to_compare_with(scores):
    shown = gains({"choices/scores": scores})
    assert shown["protocol"] == "comparable"
    (_, rows), (_, baseline) = shown["grid"].bodies
    assert [row[0] for row in rows] == ["spose-49", "other"]
    assert rows[0][1] == "0.0500 ± 0.0020"
    assert baseline[0][2] == f"{1 - 600 / (1200 * np.log(2)):.3f}"
    # 0.001 is half a standard error above zero.
    assert {task["n_above"] for task in shown["tasks"].values()} == {1}


def test_protocols_need_two_of_them(scores):
    assert protocols({}) is None
    single = scores[scores["protocol"] == "comparable"]
    assert protocols({"choices/scores": single}) is None
    grid = protocols({"choices/scores": scores})["grid"]
    assert grid.head == (
        *("Model", "NLL, published", "NLL, comparable"),
        *("gain, published", "gain, comparable"),
    )
    assert grid.bodies[0][1][2] == ("other", "640.5", "640.5", "0.0010", "0.0010")


def test_every_published_value_has_a_place_and_most_a_figure():
    names = {*ERROR_CONSISTENCY, *LEARNING_TASKS}
    for paper, least in (("error-consistency", 0.8), ("factors", 0.7)):
        printed = read_published(ROOT / "resources" / "published" / f"{paper}.csv")
        reproduced = printed[["item", "protocol"]].assign(status="match", note="")
        places = join_sources([reproduced], [printed])["place"]
        assert {*places} <= names | {"tables", "text"}
        assert places.isin(names).mean() > least


def test_values_under_other_protocols_do_not_count_as_failures(published):
    values = pd.DataFrame(
        {
            "protocol": ["published", "comparable", "people", "published"],
            "status": ["match", "differs", "match", "differs"],
        }
    )
    assert as_printed(values, PROTOCOLS).index.tolist() == [0, 2, 3]
    counts = count_verdicts(values)
    assert counts.index.tolist() == ["published", "comparable", "people", "all"]
    assert counts.loc["all"].tolist() == [2, 0, 2, 0]


def test_defects_have_all_parts_and_numbers_where_they_are_computed(observers):
    known = describe_defects(TEMPLATES["defects.yaml"], {}, {}, {})
    assert {entry["paper"] for entry in known} == {
        "error-consistency",
        "learning-tasks",
    }
    assert all(
        entry[part]
        for entry in known
        for part in ("title", "what", "evidence", "touches")
    )
    assert not any(entry["here"] for entry in known)
    text = yaml.safe_dump(
        [
            {
                "title": "t",
                "here": "{{ kappa('edges', 'human-human') }} "
                "{{ ceiling('edges', 'human-human') }}",
            },
            {"title": "u", "here": "{{ kappa('edges', 'other-human') }}"},
        ]
    )
    pairs, groups = observers
    tables = {"consistency/edges/pairs": pairs, "consistency/edges/groups": groups}
    experiments = {"edges": {"comparisons": PAIRS}}
    there, absent = describe_defects(text, tables, experiments, GROUPS)
    mean = groups.set_index("comparison").loc["human-human", "mean"]
    assert there["here"].split()[0] == f"{mean:.3f}"
    assert absent["here"] == ""


def test_texts_about_defects_use_numbers_that_exist():
    """A misspelt function would otherwise leave its text out without a word."""
    named = set()
    for entry in yaml.safe_load(TEMPLATES["defects.yaml"]):
        for part in entry.get("here", "").split("{{")[1:]:
            named.add(part.strip().partition("(")[0])
    assert named
    assert named <= {name for name in dir(Numbers) if not name.startswith("_")}


def test_figures_without_content_are_left_out(tmp_path):
    names = ["summary/figures/learning-tasks/alignment-by-training-objective"]
    names += ["summary/figures/learning-tasks/alignment-and-dimensionality-by-type"]
    names += ["summary/figures/learning-tasks/alignment-by-model"]
    path = tmp_path / "x.png"
    Image.new("RGB", (1000, 250)).save(path, dpi=(200, 200))
    tables = dict(
        zip(
            names,
            [
                pd.DataFrame(columns=["measure", "value"]),
                pd.DataFrame({"type": ["a", "b"], "n": [0, 3]}),
                pd.DataFrame({"model": ["a"], "value": [1.0]}),
            ],
            strict=True,
        )
    )
    paths = dict.fromkeys((f"{name}.png" for name in names), path)
    drawn = read_figures(paths, tables, dict.fromkeys(names, "A\ncaption.\n"))
    assert list(drawn) == [names[2]]
    assert drawn[names[2]]["caption"] == "A caption."
    assert drawn[names[2]]["alt"] == LEARNING_TASKS["alignment-by-model"].alt


def test_pictures_keep_their_size_on_paper(tmp_path):
    Image.new("RGB", (1360, 500)).save(tmp_path / "x.png")
    picture = embed(tmp_path / "x.png")
    # 1,360 dots at 200 to the inch are 6.8 inches.
    assert (picture["width"], picture["height"]) == (round(6.8 * 96), 240)


def test_captions_become_html_and_nothing_else_does(tmp_path):
    assert "<strong>Figure 1.</strong>" in to_html("**Figure 1.** Of ``x``.")
    assert "<script>" not in to_html("a <script>b</script>")


@pytest.mark.parametrize("parts", ["nothing", "observers", "learning", "all"])
def test_page_has_what_the_study_has(parts, tmp_path, observers, scores, published):
    everything = parts == "all"
    given = {}
    if parts == "observers" or everything:
        given["observers"] = observers
    if parts == "learning" or everything:
        given["scores"] = scores
    if everything:
        given["published"] = published
        given["pictures"] = [
            "summary/figures/error-consistency/kappa-against-imagenet-accuracy",
            "consistency/edges/kappa",
        ]
    html = render_report(*study(tmp_path, **given))
    page = Page(html)
    assert not page.open
    assert page.ids == list(SECTIONS)
    assert all(a.startswith(("#", "data:")) for a in page.addresses)
    assert page.headings[0] == 1
    assert all(
        b - a <= 1 for a, b in zip(page.headings, page.headings[1:], strict=False)
    )
    assert ("error consistency, Cohen's" in page.texts["methods"]) == (
        "observers" in given
    )
    assert ("Laplace" in page.texts["methods"]) == ("scores" in given)
    assert "needs torch" in page.texts["headline"]
    absent = [tag for tag, given in page.tags if given.get("class") == "absent"]
    expected = {"nothing": 6, "observers": 5, "learning": 4, "all": 0}
    assert len(absent) == expected[parts]
    if everything:
        assert "of 3 published values 1 is reproduced" in " ".join(
            page.texts[""].split()
        )
        assert "A <slip>." in page.texts["verdicts"]
        images = [given for tag, given in page.tags if tag == "img"]
        assert len(images) == 2
        assert all(image["alt"] for image in images)
        assert "1 published value beside reproduced ones" in page.texts["figures"]


def test_page_is_the_same_twice(tmp_path, observers, scores):
    given = study(tmp_path, observers, scores)
    assert render_report(*given) == render_report(*given)
