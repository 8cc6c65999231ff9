"""Time to plan everything for all 86 representations; printed, never asserted."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
STUDY = "results: results/planned\nlearning: {synthetic: true, models: [paper-2024]}\n"


def test_plan_of_the_whole_study(benchmark, tmp_path):
    study = tmp_path / "study.yaml"
    study.write_text(STUDY)
    command = [sys.executable, "-m", "snakemake", "-n", "--cores", "2", "all"]
    command += ["--configfile", str(study), "--quiet", "--nolock"]
    planned = benchmark.pedantic(
        subprocess.run,
        args=(command,),
        kwargs={"cwd": ROOT, "capture_output": True, "text": True},
        rounds=1,
    )
    assert planned.returncode == 0, planned.stdout + planned.stderr
