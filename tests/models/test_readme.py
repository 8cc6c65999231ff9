"""What README.md shows and says of networks, with the packages of the models."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]


def test_new_model_is_scored_beside_the_others(
    small_checkout, readme_lines, lite0, lite0_weights
):
    (line,) = [line for line in readme_lines if "like=efficientnet-lite0" in line]
    root = small_checkout(line)
    scores = pd.read_csv(root / "results/demo/choices/scores.csv")
    assert set(scores["model"]) == {"truth", "truth-trial", "source", "lite0-classes"}
    features = np.load(root / "results/demo/features/simulated/lite0-classes.npy")
    assert features.shape[1] == 1000


def test_picture_of_the_rules_is_that_of_the_workflow(small_checkout):
    pytest.importorskip("pyarrow")
    root = small_checkout("snakemake --cores 1 rule_graph")
    text = (ROOT / "README.md").read_text()
    (shown,) = re.findall(r"```mermaid\n.*?```\n", text, re.DOTALL)
    assert (root / "results/rule-graph.md").read_text() == shown
