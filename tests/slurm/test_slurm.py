"""The shipped profile on a real SLURM: what jobs ask for, what is left of failures."""

import signal
import subprocess
import time
from pathlib import Path

import pytest
import yaml

HERE = Path(__file__).parent
CONFIGURATION = Path("/etc/slurm/slurm.conf")
STUDY = "config/demo.yaml"
SIMULATED = "results/demo/consistency/simulated"
RULES = ["simulate_observers", "validate_trials", "compare_observers"]


def choose(jobs, *keys):
    return [tuple(job.get(key) for key in keys) for job in jobs]


def wait_for_running(run):
    """Wait until a job of the run has been at work for a moment; return it."""
    for _ in range(600):
        for job in run.jobs():
            if job["JobState"] == "RUNNING" and job["RunTime"] >= "00:00:02":
                return job
        time.sleep(0.2)
    raise AssertionError("No job ran within two minutes.")


@pytest.fixture(scope="module")
def simulated_locally(tmp_path_factory, make_run):
    """What the demo's simulated observers give without SLURM."""
    run = make_run(tmp_path_factory.mktemp("here") / "run")
    run.finish_locally(f"{SIMULATED}/groups.csv", "--configfile", STUDY)
    return run.contents()


def test_configuration_of_another_cluster_is_left_alone(slurm, tmp_path):
    if CONFIGURATION.exists():
        pytest.skip(f"{CONFIGURATION} exists.")
    CONFIGURATION.write_text("ClusterName=another\n")
    try:
        up = subprocess.run([HERE / "up", tmp_path], capture_output=True, text=True)
        down = subprocess.run([HERE / "down"], capture_output=True, text=True)
        assert CONFIGURATION.read_text() == "ClusterName=another\n"
    finally:
        CONFIGURATION.unlink()
    assert (up.returncode, down.returncode) == (1, 1)
    assert up.stderr == f"{CONFIGURATION} configures another cluster: left as it is.\n"
    assert down.stderr == "No test cluster is configured here.\n"


def test_simulated_observers_are_the_same_through_sbatch(
    cluster, new_run, simulated_locally
):
    run = new_run("there")
    run.finish(f"{SIMULATED}/groups.csv", "--configfile", STUDY)
    assert run.contents() == simulated_locally
    asked = choose(run.jobs(), "rule", "JobState", "Partition", "Account", "TimeLimit")
    assert asked == [(rule, "COMPLETED", "cpu", "lab", "00:10:00") for rule in RULES]


@pytest.mark.full
def test_job_killed_for_memory_comes_back_with_more(cluster, new_run):
    run = new_run("large")
    study = yaml.safe_load((run.path / STUDY).read_text())
    [simulated] = [e for e in study["experiments"] if e["name"] == "simulated"]
    simulated["simulate"]["images"] = 30_000
    (run.path / "study.yaml").write_text(yaml.safe_dump(study))
    run.finish(f"{SIMULATED}/trials.csv", "--configfile", "study.yaml")
    jobs = [job for job in run.jobs() if job["rule"] == "validate_trials"]
    assert choose(jobs, "JobState", "MinMemoryNode") == [
        ("FAILED", "700M"),
        ("COMPLETED", "1400M"),
    ]
    assert "Exceeded job memory limit" in Path(jobs[0]["StdOut"]).read_text()


@pytest.mark.full
def test_cancelled_job_comes_back(cluster, new_run, simulated_locally):
    run = new_run("cancelled")
    snakemake = run.submit(f"{SIMULATED}/groups.csv", "--configfile", STUDY)
    subprocess.run(["scancel", wait_for_running(run)["JobId"]], check=True)
    shown, _ = snakemake.communicate()
    assert snakemake.returncode == 0, shown
    assert run.contents() == simulated_locally
    jobs = choose(run.jobs(), "rule", "JobState")
    assert jobs[0] == (RULES[0], "CANCELLED")
    assert jobs[1:] == [(rule, "COMPLETED") for rule in RULES]


@pytest.mark.full
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_cancelled_run_resumes(cluster, new_run, simulated_locally, sent):
    run = new_run("cancelled")
    asked = (f"{SIMULATED}/groups.csv", "--configfile", STUDY)
    snakemake = run.submit(*asked)
    wait_for_running(run)
    snakemake.send_signal(sent)
    shown, _ = snakemake.communicate()
    assert snakemake.returncode != 0, shown
    left = choose(run.jobs(), "JobState")
    assert not {("RUNNING",), ("PENDING",)} & set(left)
    run.finish(*asked)
    assert run.contents() == simulated_locally


@pytest.mark.full
def test_features_are_made_where_the_gpus_are(cluster, new_run, mirror):
    run = new_run("features")
    target = "results/offline/features/things/spose-49.npy"
    run.finish(target, "--configfile", "config/offline.yaml")
    jobs = choose(run.jobs(), "rule", "JobState", "Partition", "TresPerNode")
    assert jobs == [
        ("list_things", "COMPLETED", "cpu", None),
        ("extract_features", "COMPLETED", "gpu", "gres:gpu:1"),
    ]


@pytest.mark.full
@pytest.mark.parametrize(
    ("target", "study"),
    [("demo", STUDY), ("consistency", "config/config.yaml")],
)
def test_whole_study_is_the_same_through_sbatch(
    cluster, new_run, mirror, target, study
):
    here, there = new_run("here"), new_run("there")
    here.finish_locally(target, "--configfile", study)
    there.finish(target, "--configfile", study)
    expected, found = here.contents(), there.contents()
    assert expected.keys() == found.keys()
    assert [name for name in expected if expected[name] != found[name]] == []
    assert {job["JobState"] for job in there.jobs()} == {"COMPLETED"}
