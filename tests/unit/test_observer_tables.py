"""Trial tables of every layout that is read, and the faults they are refused for."""

import itertools

import pandas as pd
import pytest

from trialwise.errors import InputError
from trialwise.observer_tables import first_answers, read_observers

TRUTHS = {"owl-1": "bird", "cab-2": "car", "cat-3": "cat"}
ANSWERS = {
    "subject-01": ["bird", "truck", "cat"],
    "subject-02": ["bird", "car", "dog"],
    "my model": ["bird", "truck", "na"],
}
CORRECT = {"subject-01": [1, 0, 1], "subject-02": [1, 1, 0], "my model": [1, 0, 0]}


def long(observer="observer", stimulus="stimulus", response="response", truth="truth"):
    rows = [
        {observer: who, stimulus: image, response: answer, truth: TRUTHS[image]}
        for who, answers in ANSWERS.items()
        for image, answer in zip(TRUTHS, answers, strict=True)
    ]
    return pd.DataFrame(rows)


def wide():
    return pd.DataFrame({"stimulus": [*TRUTHS], "truth": [*TRUTHS.values()], **ANSWERS})


@pytest.fixture
def save(tmp_path):
    numbers = itertools.count()

    def write(table):
        path = tmp_path / f"trials-{next(numbers)}.csv"
        table.to_csv(path, index=False)
        return path

    return write


def right_and_wrong(trials):
    table = trials.pivot(index="observer", columns="image", values="correct")
    return table[[*TRUTHS]].T.to_dict("list")


@pytest.mark.parametrize(
    "table",
    [
        long(),
        long("subject", "stimulus_id", "choice", "truth"),
        long("subj", "stimulus", "object_response", "category"),
        wide(),
    ],
    ids=["long", "Brain-Score", "model-vs-human", "wide"],
)
def test_layouts_are_recognised(save, table):
    assert right_and_wrong(read_observers([save(table)])) == CORRECT


def test_names_of_model_vs_human_are_taken_apart(save):
    table = long("subj", "imagename", "object_response", "category")
    table["imagename"] = [f"000{i}_x_{n}" for i, n in enumerate(table["imagename"])]
    assert right_and_wrong(read_observers([save(table)])) == CORRECT


def test_other_names_are_given(save):
    table = long("who", "picture", "answer", "label")
    columns = {"observer": "who", "stimulus": "picture"}
    columns |= {"response": "answer", "truth": "label"}
    assert right_and_wrong(read_observers([save(table)], columns)) == CORRECT


def test_columns_of_a_wide_table_may_be_named(save):
    table = wide().assign(comment="none")
    trials = read_observers([save(table)], observers=[*ANSWERS])
    assert right_and_wrong(trials) == CORRECT
    table["subject-01"] = ["", "truck", "cat"]
    with pytest.raises(InputError, match=r"line 2: response of subject-01 is empty"):
        read_observers([save(table)], observers=[*ANSWERS])


def test_files_may_have_different_layouts(save):
    person = long().query("observer == 'subject-01'")
    others = wide().drop(columns="subject-01")
    trials = read_observers([save(person), save(others)])
    assert right_and_wrong(trials) == CORRECT


def test_truths_may_come_from_elsewhere(save):
    path = save(wide()[["stimulus", "my model"]].rename(columns={"my model": "choice"}))
    trials = read_observers([path], truths=TRUTHS)
    assert right_and_wrong(trials) == {path.stem: CORRECT["my model"]}
    with pytest.raises(InputError, match=r"line 4: the image 'cat-3' is not one of"):
        read_observers([path], truths={"owl-1": "bird", "cab-2": "car"})


def test_conditions_make_images_different(save):
    bright = long().assign(condition="bright")
    dark = long().assign(condition="dark", response=long()["truth"])
    trials = read_observers([save(pd.concat([bright, dark]))])
    assert trials.groupby("condition")["image"].nunique().to_dict() == {
        "bright": 3,
        "dark": 3,
    }
    kept = read_observers([save(pd.concat([bright, dark]))], conditions=["bright"])
    assert right_and_wrong(kept.replace("bright, ", "", regex=True)) == CORRECT


def test_a_constant_condition_of_one_observer_does_not_divide_images(save):
    table = long().assign(condition="0")
    table.loc[table["observer"] == "my model", "condition"] = "NaN"
    assert right_and_wrong(read_observers([save(table)])) == CORRECT


def test_the_first_of_several_sessions_counts(save):
    again = long().assign(session="2", response="cat")
    trials = read_observers([save(pd.concat([long().assign(session="1"), again]))])
    assert len(trials) == 18
    assert right_and_wrong(first_answers(trials)) == CORRECT


def test_clusters_and_groups_are_kept(save):
    table = long().assign(cluster="a", group="people")
    trials = read_observers([save(table)])
    assert set(trials["cluster"]) == {"a"}
    assert set(trials["group"]) == {"people"}


def test_images_not_seen_by_all_are_refused_or_left_out(save):
    path = save(long().drop(index=4))
    with pytest.raises(InputError, match="subject-02 has no trial for image cab-2"):
        read_observers([path])
    assert set(read_observers([path], common=True)["image"]) == {"owl-1", "cat-3"}


@pytest.mark.parametrize(
    ("row", "column", "value", "fault"),
    [
        (
            1,
            "response",
            "",
            "line 3: response of subject-01 is empty. Write na for a missed answer",
        ),
        (1, "stimulus", "", "line 3: stimulus is empty. Fill it in"),
        (1, "stimulus", "owl-1", "line 3: subject-01 answers image owl-1 again"),
        (4, "truth", "truck", "line 6: the truth of image cab-2 is 'truck', but 'car'"),
    ],
)
def test_faults_are_named_by_line_and_column(save, row, column, value, fault):
    table = long()
    table.loc[row, column] = value
    if column == "stimulus" and value:
        table.loc[row, "truth"] = TRUTHS[value]
    path = save(table)
    with pytest.raises(InputError) as error:
        read_observers([path])
    assert str(path) in str(error.value)
    assert fault in str(error.value)


def test_labels_in_other_words_are_refused(save):
    table = long()
    coded = {"bird": "1", "truck": "2", "cat": "3", "car": "4", "dog": "5"}
    mine = table["observer"] == "subject-02"
    table.loc[mine, "response"] = table.loc[mine, "response"].map(coded)
    with pytest.raises(InputError, match="line 5: subject-02 answers '1', and no"):
        read_observers([save(table)])


@pytest.mark.parametrize(
    ("table", "columns", "fault"),
    [
        (long().drop(columns="truth"), {}, "no column for the truth"),
        (long().drop(columns="response"), {}, "no column for the response"),
        (wide()[["stimulus", "truth"]], {}, "no column of responses"),
        (long(), {"observer": "who"}, "no column 'who' for the observer"),
    ],
)
def test_missing_columns_are_named(save, table, columns, fault):
    with pytest.raises(InputError, match=f"line 1: {fault}"):
        read_observers([save(table)], columns)


def test_missing_files_and_doubled_columns_are_named(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.csv: No such file"):
        read_observers([tmp_path / "nowhere.csv"])
    path = tmp_path / "double.csv"
    path.write_text("observer,observer\na,b\n")
    with pytest.raises(InputError, match="line 1: two columns are called 'observer'"):
        read_observers([path])
