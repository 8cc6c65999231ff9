"""The workflow as its user meets it: runs, reruns, plans and refusals."""

import re
import shutil
import subprocess
import sys

import pandas as pd
import pytest
import yaml

FULL_PLAN = {
    "get_source": 13,
    "validate_trials": 4,
    "compare_observers": 4,
    "measure_accuracy": 4,
    "tabulate_accuracy": 1,
    "compute_band": 4,
    "count_outside_band": 4,
    "draw_kappa": 4,
    "draw_figure": 17,
    "rank_images": 3,
    "measure_shape_bias": 1,
    "correlate_shape_bias": 1,
    "measure_levels": 8,
    "collect_benchmarks": 1,
    "regress_on_benchmarks": 3,
    "compare_with_published": 1,
    "consistency": 1,
    "total": 74,
}
LEARNING_PLAN = {
    "get_source": 2,
    "list_things": 1,
    "validate_choices": 2,
    "fit_people": 1,
    "extract_features": 1,
    "find_twins": 1,
    "run_learners": 8,
    "trace_learning": 8,
    "gather_curves": 1,
    "fit_baselines": 8,
    "fit_choices": 8,
    "vary_penalty": 1,
    "gather_scores": 4,
    "measure_protocol_steps": 2,
    "describe_protocols": 1,
    "compare_with_published": 2,
    "measure_representation": 1,
    "gather_measures": 1,
    "measure_factors": 1,
    "recompute_statistics": 1,
    "tabulate_models": 1,
    "draw_learning_figure": 22,
    "learning": 1,
    "total": 79,
}


def test_small_study_runs_and_recovers_what_was_simulated(first_run):
    folder, shown = first_run
    recovery = pd.read_csv(folder.results()["consistency/easy/recovery.csv"])
    assert recovery["true"].tolist() == [0.33, 0.60, 0.07]
    assert recovery["error"].abs().max() < 0.15
    coverage = pd.read_csv(folder.results()["consistency/coverage.csv"])
    assert coverage["worlds"].tolist() == [5, 5, 5]
    end = shown[shown.index("steps (100%) done") :]
    true = re.findall(r"^(\S+): true kappa (\S+), estimated 0\.\d{3}, ", end, re.M)
    assert true == [
        ("human-human", "0.330"),
        ("network-network", "0.600"),
        ("network-human", "0.070"),
        ("human-human", "0.400"),
        ("network-network", "0.600"),
        ("network-human", "0.100"),
    ]
    assert end.count("of 3 intervals hold the truth; largest error of a mean") == 2


def test_finished_study_has_nothing_to_do(first_run):
    assert first_run[0].plan("all", "demo", "consistency") == {}


def test_small_study_finds_the_representation_people_learned_from(first_run):
    folder, shown = first_run
    recovery = pd.read_csv(folder.results()["choices/recovery.csv"])
    assert set(recovery["ranked_first"]) == {"source"}
    assert recovery["parameter"].tolist() == ["beta", "sigma"]
    beta = recovery.iloc[0]
    assert abs(beta["estimate"] - 2) < 3 * beta["standard_error"]
    assert "reward: source predicts choices best (NLL " in shown
    assert re.search(r"^reward: true beta 2.000, estimated \d.\d{3} ± ", shown, re.M)


def test_plan_of_the_demo(folder):
    folder.write_shipped("demo.yaml", models=["source", "decoy-1"])
    assert folder.plan("demo") == {
        "simulate_observers": 1,
        "validate_trials": 2,
        "compare_observers": 2,
        "measure_recovery": 1,
        "measure_interval_coverage": 1,
        "simulate_people": 1,
        "name_shapes": 1,
        "validate_choices": 2,
        "run_learners": 4,
        "fit_baselines": 2,
        "fit_choices": 4,
        "gather_scores": 2,
        "measure_people_recovery": 1,
        "demo": 1,
        "total": 25,
    }


def test_model_whose_packages_are_missing_is_left_out(folder):
    missing = "import sys; sys.modules.update(timm=None)\n"
    (folder.path / "sitecustomize.py").write_text(missing)
    folder.variables["PYTHONPATH"] = str(folder.path)
    folder.write_shipped("demo.yaml", models=["source", "efficientnet-lite0"])
    shown = folder.snakemake("--dry-run", "demo").stdout
    assert "features/simulated/efficientnet-lite0.npy" not in shown
    assert "scores/source.csv" in shown


def test_full_plan(folder):
    assert folder.plan("consistency", study=None) == FULL_PLAN


@pytest.mark.parametrize("profile", ["workstation", "slurm"])
def test_full_plan_is_the_same_under_a_profile(folder, profile):
    path = folder.root / "workflow" / "profiles" / profile
    given = ("consistency", "--workflow-profile", path)
    assert folder.plan(*given, study=None, cores=None) == FULL_PLAN


@pytest.mark.parametrize("profile", [None, "workstation", "slurm"])
def test_plan_of_the_learning_tasks(folder, profile):
    given, cores = ["learning"], 2
    if profile:
        path = folder.root / "workflow" / "profiles" / profile
        given, cores = ["learning", "--workflow-profile", path], None
    folder.write_shipped("offline.yaml", models=["spose-49"])
    assert folder.plan(*given, cores=cores) == LEARNING_PLAN


def test_protocol_of_ones_own_changes_no_plan_without_it(folder):
    config = folder.path / "config"
    config.unlink()
    shutil.copytree(folder.root / "config", config)
    protocols = yaml.safe_load((config / "protocols.yaml").read_text())
    added = yaml.safe_dump({"mine": protocols["comparable"]})
    with (config / "protocols.yaml").open("a") as file:
        file.write(added)
    folder.write_shipped("offline.yaml", models=["spose-49"])
    assert folder.plan("learning") == LEARNING_PLAN


def test_without_peoples_choices_all_does_the_rest(folder):
    plan = folder.plan("all", study=None)
    left = FULL_PLAN["total"] - FULL_PLAN["consistency"]
    assert plan.pop("all") == 1
    assert plan.pop("draw_learning_figure") == 9
    assert plan.pop("recompute_statistics") == 1
    assert plan.pop("make_report") == 1
    agreement = ["test_difficulty", "individuate", "compare_wrong_answers"]
    agreement += ["rank_observers"]
    assert [plan.pop(name) for name in agreement] == [3, 3, 3, 3]
    assert plan.pop("plan_trials") == 1
    assert plan["compare_with_published"] == 2
    plan["compare_with_published"] -= 1
    assert plan.pop("total") == left + 26
    assert sum(plan.values()) == left


def test_one_file_needs_its_experiment_alone(folder):
    assert folder.plan("results/small/consistency/hard/kappa.png") == {
        "simulate_observers": 1,
        "validate_trials": 1,
        "compare_observers": 1,
        "compute_band": 1,
        "draw_kappa": 1,
        "total": 5,
    }


def test_results_do_not_depend_on_the_number_of_cores(first_run, folder):
    folder.run(cores=1)
    one, two = folder.results(), first_run[0].results()
    assert one.keys() == two.keys()
    assert {file.suffix for file in one.values()} == {
        ".csv",
        ".png",
        ".pdf",
        ".npy",
        ".txt",
        ".html",
    }
    assert [n for n in one if one[n].read_bytes() != two[n].read_bytes()] == []


def test_deleted_file_is_made_again_and_no_other(finished):
    before = finished.times()
    finished.results()["consistency/easy/recovery.csv"].unlink()
    finished.run()
    after = finished.times()
    assert after.keys() == before.keys()
    assert {n for n in after if after[n] != before[n]} == {
        "consistency/easy/recovery.csv",
        "summary/report.html",
    }


def test_forced_rule_makes_its_own_files_and_no_other(finished):
    before = finished.times()
    finished.run("--forcerun", "rank_images")
    after = finished.times()
    assert {name for name in after if after[name] != before[name]} == {
        "consistency/easy/controversial.csv",
        "consistency/easy/controversial-five.csv",
        "consistency/hard/controversial.csv",
        "consistency/hard/controversial-five.csv",
    }


def test_changed_module_reruns_its_stage_and_what_follows(changeable):
    name = "trialwise.consistency.confusion"
    program = f"import {name}; print({name}.__file__)"
    imported = subprocess.check_output(
        [sys.executable, "-c", program], env=changeable.variables, text=True
    )
    module = changeable.root / "workflow/src/trialwise/consistency/confusion.py"
    assert imported.strip() == str(module)
    assert changeable.plan() == {}
    with module.open("a") as file:
        file.write("# changed\n")
    assert changeable.plan() == {
        "measure_accuracy": 2,
        "tabulate_accuracy": 1,
        "all": 1,
        "total": 4,
    }


def test_demo_of_a_study_that_simulates_nothing_says_what_to_run(folder):
    refused = folder.snakemake("demo", study=None)
    assert refused.returncode == 1
    assert "this study has none" in refused.stdout
    assert "snakemake --cores 2 demo --configfile config/demo.yaml" in refused.stdout
    assert "Traceback (most recent call last)" not in refused.stdout


@pytest.mark.parametrize(
    ("changes", "fault", "allowed"),
    [
        (
            {"n_resample": 500},
            "unknown key 'n_resample' (did you mean 'n_resamples'?).",
            "results, sources, seed, n_resamples, ",
        ),
        (
            {"comparisons": [{"first": "humans", "second": "human"}]},
            "comparisons: no group 'humans' (did you mean 'human'?).",
            "human, network, ",
        ),
    ],
    ids=["key", "group"],
)
def test_slip_in_the_study_ends_in_two_lines(folder, changes, fault, allowed):
    folder.write_study(**changes)
    refused = folder.snakemake()
    assert refused.returncode == 1
    assert f"\nconfiguration: {fault}\nAllowed: {allowed}" in refused.stdout
    assert "Traceback" not in refused.stdout
    assert folder.results() == {}


def test_wrong_folder_is_named_with_the_right_one(folder, tmp_path):
    (folder.path / "config").unlink()
    refused = folder.snakemake(study=None)
    assert refused.returncode == 1
    assert f"There is no config/config.yaml in {folder.path}." in refused.stdout
    assert f"cd {folder.root}\n" in refused.stdout
    assert "Traceback" not in refused.stdout


def test_fault_of_a_job_is_told_again_at_the_end(folder):
    folder.variables["TRIALWISE_MIRROR"] = "no/such/mirror"
    groups = ["results/sources/edges", "results/sources/cue-conflict"]
    refused = folder.snakemake(*groups, "--keep-going", study=None)
    assert refused.returncode == 1
    end = refused.stdout.split("Look above for error messages")[1]
    assert end.count("error: The mirror no/such/mirror is not a folder. Correct ") == 1
    assert "Traceback" not in refused.stdout


def test_broken_trial_table_is_named_and_mended(folder, tables):
    target = "results/small/consistency/own/groups.csv"
    table = tables / "subject-02.csv"
    whole = table.read_text()
    lines = whole.splitlines()
    lines[4] = lines[4].replace(",bird,0,", ",brid,0,")
    table.write_text("\n".join(lines))
    refused = folder.snakemake(target)
    assert refused.returncode == 1
    fault = "error: tables/subject-02.csv, line 5: category is 'brid'. Allowed: "
    assert f"\n{fault}airplane, bear, " in refused.stdout
    assert "Traceback" not in refused.stdout
    assert folder.results() == {}
    table.write_text(whole)
    folder.run(target)
    assert set(folder.results()) == {
        "consistency/own/trials.csv",
        "consistency/own/pairs.csv",
        "consistency/own/groups.csv",
        "consistency/own/networks.csv",
    }


def test_trial_table_edited_in_place_is_read_again(folder, tables):
    target = "results/small/consistency/own/trials.csv"
    folder.run(target)
    table = tables / "subject-02.csv"
    table.write_text(table.read_text().replace(",bird,bird,", ",na,bird,"))
    assert folder.plan(target) == {"validate_trials": 1, "total": 1}


def test_wide_table_gives_what_one_file_per_observer_gives(folder, tables):
    target = "results/small/consistency/own/pairs.csv"
    folder.run(target)
    expected = (folder.path / target).read_bytes()
    long = pd.concat([pd.read_csv(path) for path in sorted(tables.glob("*.csv"))])
    wide = long.pivot(
        index=["imagename", "category"], columns="subj", values="object_response"
    )
    wide.reset_index().to_csv(folder.path / "wide.csv", index=False)
    trials = {
        "files": ["wide.csv"],
        "columns": {"stimulus": "imagename", "truth": "category"},
    }
    folder.write_study(
        comparisons=[{"first": "human", "second": "human"}],
        experiments=[{"name": "own", "trials": trials}],
        accuracy_table={"experiments": ["own"], "groups": ["human"]},
    )
    folder.run(target)
    assert (folder.path / target).read_bytes() == expected


def test_last_job_of_a_run_is_in_the_manifest(folder, tables):
    folder.run("results/small/consistency/own/trials.csv")
    manifest = (folder.path / "results/small/manifest.tsv").read_text()
    assert "\nconsistency/own/trials.csv\t" in manifest
