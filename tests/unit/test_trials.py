"""Trial tables with every fault that people's own data has, one at a time."""

import json
import random

import numpy as np
import pandas as pd
import pytest

from trialwise.cli import main
from trialwise.errors import InputError
from trialwise.files import write_table
from trialwise.trials import (
    correctness,
    label_in_name,
    load_trials,
    members,
    read_trials,
)

HEADER = "subj,session,trial,rt,object_response,category,condition,imagename"
FIRST = [
    "subject-01,1,1,0.612,bird,bird,easy,bird1.png",
    "subject-01,1,2,0.587,cat,boat,easy,boat1.png",
    "subject-01,1,3,NaN,na,car,hard,car1.png",
]
SECOND = [
    "network-a,1,1,NaN,bird,bird,easy,bird1.png",
    "network-a,1,2,NaN,boat,boat,easy,boat1.png",
    "network-a,1,3,NaN,car,car,hard,car1.png",
]


def write(file, rows):
    file.write_text("\n".join([HEADER, *rows]) + "\n")
    return file


def rewrite(file, line, old, new):
    lines = file.read_text().splitlines()
    assert old in lines[line - 1]
    lines[line - 1] = lines[line - 1].replace(old, new, 1)
    file.write_text("\n".join(lines) + "\n")


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "trials"
    folder.mkdir()
    write(folder / "network-a.csv", SECOND)
    write(folder / "subject-01.csv", FIRST)
    return folder


@pytest.fixture
def first(folder):
    return folder / "subject-01.csv"


@pytest.fixture
def second(folder):
    return folder / "network-a.csv"


def refusal(folder, **settings):
    with pytest.raises(InputError) as error:
        read_trials(folder, **settings)
    return str(error.value)


def test_every_answer_is_judged(folder):
    trials = read_trials(folder)
    assert trials.groupby("observer")["correct"].sum().to_dict() == {
        "network-a": 3,
        "subject-01": 1,
    }
    assert trials["image"].tolist() == 2 * ["bird1.png", "boat1.png", "car1.png"]


def test_missing_response_stays_in_and_is_wrong(folder):
    trials = read_trials(folder).set_index(["observer", "image"])
    answer = trials.loc[("subject-01", "car1.png")]
    assert (answer["response"], answer["correct"]) == ("na", 0)


@pytest.mark.parametrize(
    ("name", "image"),
    [
        ("0001_s5n_s01_0_bird_00_bird3-bird2.png", "bird3-bird2.png"),
        ("0000_cl_s01_bw_boat_40_n02951358_5952.JPEG", "n02951358_5952.JPEG"),
        ("airplane1.png", "airplane1.png"),
    ],
)
def test_images_are_identified_as_in_the_papers_data(folder, name, image):
    for file in folder.iterdir():
        rewrite(file, 2, "bird1.png", name)
    assert image in set(read_trials(folder)["image"])


@pytest.mark.parametrize("seed", range(3))
def test_order_of_rows_only_shows_in_row(folder, first, second, seed):
    before = read_trials(folder)
    order = random.Random(seed)
    for file, rows in [(first, FIRST), (second, SECOND)]:
        write(file, order.sample(rows, len(rows)))
    after = read_trials(folder)
    pd.testing.assert_frame_equal(after.drop(columns="row"), before.drop(columns="row"))
    lines = first.read_text().splitlines()
    for trial in after[after["observer"] == "subject-01"].itertuples():
        assert lines[trial.row].endswith(trial.image)


def test_conditions_and_observers_can_be_left_out(folder):
    trials = read_trials(folder, conditions=["easy"], exclude=["network-a"])
    assert set(trials["observer"]) == {"subject-01"}
    assert trials["image"].tolist() == ["bird1.png", "boat1.png"]


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_file_as_spreadsheets_save_it_reads_the_same(folder, first, end):
    before = read_trials(folder)
    text = first.read_text().replace("\n", end)
    first.write_bytes(b"\xef\xbb\xbf" + text.encode())
    pd.testing.assert_frame_equal(read_trials(folder), before)


def test_written_table_is_loaded_as_it_was(folder, tmp_path):
    for file in folder.iterdir():
        rewrite(file, 3, "easy", "007")
        rewrite(file, 4, "hard", "NaN")
    trials = read_trials(folder)
    write_table(trials, tmp_path / "trials.csv")
    pd.testing.assert_frame_equal(load_trials(tmp_path / "trials.csv"), trials)


@pytest.mark.parametrize(
    ("line", "old", "new", "fault", "remedy"),
    [
        (1, "category", "kind", "no column category", f"{HEADER.replace(',', ', ')}."),
        (3, ",cat,", ",", "7 values under 8 columns", "Mend the line."),
        (3, ",cat,", ",cat,cat,", "9 values under 8 columns", "Mend the line."),
        (4, ",car,", ",cart,", "category is 'cart'", "Allowed: airplane, bear,"),
        (3, ",boat,", ",,", "category is ''", "Allowed: airplane, bear,"),
        (2, ",bird,", ",brid,", "object_response is 'brid'", "oven, truck, na."),
        (2, "subject-01,", ",", "subj is ''", "text that is not empty"),
        (2, "bird1.png", "", "imagename is ''", "text that is not empty"),
    ],
)
def test_fault_is_named_with_its_line(folder, first, line, old, new, fault, remedy):
    rewrite(first, line, old, new)
    text = refusal(folder)
    assert text.startswith(f"{first}, line {line}: {fault}")
    assert remedy in text
    assert "\n" not in text


def test_first_of_several_faults_is_named(folder, first):
    rewrite(first, 4, ",car,", ",cart,")
    rewrite(first, 3, ",cat,", ",cta,")
    assert f"{first}, line 3: object_response is 'cta'" in refusal(folder)


def test_own_categories(folder, first):
    categories = ["bird", "boat", "cat"]
    text = refusal(folder, categories=categories)
    assert f"{folder / 'network-a.csv'}, line 4: " in text
    assert "is 'car'. Allowed: bird, boat, cat" in text


def test_header_without_trials(folder, first):
    write(first, [])
    assert f"{first}, line 2: no trial under the header. Supply" in refusal(folder)


def test_empty_file(folder, first):
    first.write_text("")
    assert f"{first}, line 1: the file is empty. Supply" in refusal(folder)


def test_folder_without_tables(tmp_path):
    (tmp_path / "trials.txt").write_text(HEADER)
    text = refusal(tmp_path)
    assert f"{tmp_path}: no CSV file. Put one trial table or more there." == text


def test_byte_that_is_not_utf8(folder, first):
    first.write_bytes(first.read_bytes().replace(b"cat,", b"c\xe4t,"))
    assert refusal(folder) == (
        f"{first}, line 3: not UTF-8 text. Save the file as UTF-8."
    )


def test_quote_that_never_ends(folder, first):
    rewrite(first, 2, "bird,bird", '"bird,bird')
    with first.open("a") as file:
        file.writelines(f"{FIRST[1]}\n" for _ in range(4000))
    assert str(first) in refusal(folder)


def test_image_seen_twice_is_named_with_both_lines(folder, first):
    rewrite(first, 4, "car1.png", "bird1.png")
    text = refusal(folder)
    assert f"{first}, line 4: subject-01 answers image bird1.png again" in text
    assert f"after {first}, line 2. Keep one of the two trials." in text


@pytest.mark.parametrize("lacking", ["subject-01", "network-a"])
def test_image_that_one_of_a_pair_lacks_is_named_with_both_files(folder, lacking):
    having = {"subject-01": "network-a", "network-a": "subject-01"}[lacking]
    file = folder / f"{lacking}.csv"
    file.write_text("\n".join(file.read_text().splitlines()[:3]))
    text = refusal(folder)
    assert f"{file}: {lacking} has no trial for image car1.png" in text
    assert f"which {having} has ({folder / having}.csv, line 4). Add the trial" in text
    assert len(read_trials(folder, paired=False)) == 5


@pytest.mark.parametrize(
    ("settings", "fault", "remedy"),
    [
        ({"conditions": ["esay"]}, "condition esay", "easy, hard"),
        ({"exclude": ["subject-1"]}, "observer subject-1", "network-a, subject-01"),
    ],
)
def test_unknown_selection_lists_what_there_is(folder, settings, fault, remedy):
    assert refusal(folder, **settings) == (
        f"{folder}: no trial has {fault}.\nThose in the files: {remedy}."
    )


@pytest.mark.parametrize(
    "settings", [{"exclude": ["subject-01", "network-a"]}, {"conditions": []}]
)
def test_selection_that_leaves_nothing(folder, settings):
    assert str(folder) in refusal(folder, **settings)


def test_image_name_that_the_pattern_does_not_match(folder, second):
    rewrite(second, 3, "boat1.png", "boat.png")
    assert refusal(folder, image_id="^([a-z]+[0-9]+)") == (
        f"{second}, line 3: the image name 'boat.png' does not match "
        "^([a-z]+[0-9]+). Correct the name or the experiment's `image_id`."
    )


def test_command_line_ends_in_the_message_alone(folder, first, tmp_path, capfd):
    rewrite(first, 2, ",bird,", ",brid,")
    output = tmp_path / "results" / "trials.csv"
    output.parent.mkdir()
    arguments = {"--input": folder, "--settings": json.dumps({}), "--output": output}
    words = [str(word) for pair in arguments.items() for word in pair]
    assert main(["validate-trials", *words]) == 1
    shown = capfd.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"error: {first}, line 2: object_response is 'brid'")
    assert shown.err.count("\n") == 1
    assert list(output.parent.iterdir()) == []


def test_right_and_wrong_as_a_matrix(folder):
    observers, images, correct = correctness(
        read_trials(folder), ["subject-01", "network-a"]
    )
    assert observers == ["subject-01", "network-a"]
    assert images == ["bird1.png", "boat1.png", "car1.png"]
    np.testing.assert_array_equal(correct, [[1, 0, 0], [1, 1, 1]])


def test_unpaired_images_are_no_matrix(folder, first):
    write(first, FIRST[:2])
    trials = read_trials(folder, paired=False)
    with pytest.raises(InputError, match=r"subject-01 has no trial for image car1.png"):
        correctness(trials)


def test_unknown_observer_of_a_matrix(folder):
    with pytest.raises(InputError, match="Observers: network-a, subject-01"):
        correctness(read_trials(folder), ["subject-02"])


def test_members_follow_the_patterns_and_come_once():
    observers = ["alexnet", "subject-01", "subject-02", "vgg16-bn"]
    assert members(["vgg16-bn", "subject-*"], observers) == [
        "vgg16-bn",
        "subject-01",
        "subject-02",
    ]
    assert members(["subject-02", "subject-*"], observers) == [
        "subject-02",
        "subject-01",
    ]
    assert members(["*", "alexnet"], observers) == observers


def test_pattern_without_members_lists_the_observers():
    with pytest.raises(InputError) as error:
        members(["alexnet", "vgg-*"], ["alexnet", "vgg16-bn"])
    assert str(error.value) == (
        "No observer is called 'vgg-*'.\n"
        "Observers of this experiment: alexnet, vgg16-bn."
    )


def test_texture_is_read_out_of_the_image_name():
    images = ["bird3-cat2.png", "car1-boat3.png"]
    assert label_in_name("-([a-z]+)[0-9]+", images).tolist() == ["cat", "boat"]
    with pytest.raises(InputError, match=r"'edge1\.png' does not match"):
        label_in_name("-([a-z]+)[0-9]+", [*images, "edge1.png"])
