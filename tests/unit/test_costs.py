"""Costs read from benchmark tables that are written here as Snakemake writes them."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from trialwise.costs import (
    costs_by_dimension,
    costs_by_rule,
    extrapolate_costs,
    read_benchmarks,
)
from trialwise.errors import InputError
from trialwise.models.registry import read_models

REGISTRY = Path(__file__).parents[2] / "config" / "models.tsv"
HEADER = "s h:m:s max_rss max_vms max_uss max_pss io_in io_out mean_load cpu_time"
MODELS = {
    name: SimpleNamespace(dimension=dimension)
    for name, dimension in {"net": 100, "small-net": 10, "large": 1000}.items()
}


def write(folder, job, seconds, memory="50.0"):
    path = folder / f"{job}.tsv"
    path.parent.mkdir(parents=True, exist_ok=True)
    numbers = f"{seconds} 0:00:00 {memory} 0 0 0 0 0 0 {2 * seconds}"
    path.write_text(f"{HEADER}\n{numbers}\n".replace(" ", "\t"))


def test_costs_add_up_by_rule(tmp_path):
    write(tmp_path, "learn/raw-net", 3)
    write(tmp_path, "learn/raw-large", 5, memory="90.0")
    write(tmp_path, "report", 1)
    table = costs_by_rule(read_benchmarks(tmp_path)).set_index("rule")
    assert table.loc["learn"].tolist() == [2, 16, 5, 90]
    assert table.loc["report"].tolist() == [1, 2, 1, 50]
    assert table.index[0] == "learn"


def test_a_job_is_about_the_longest_name_that_it_ends_with(tmp_path):
    write(tmp_path, "learn/raw-category-net", 2)
    write(tmp_path, "learn/raw-reward-net", 2)
    write(tmp_path, "learn/raw-category-small-net", 1)
    write(tmp_path, "draw/kappa-of-net", 7)
    write(tmp_path, "draw/shape-bias", 7)
    costs = costs_by_dimension(read_benchmarks(tmp_path), MODELS)
    assert set(costs["rule"]) == {"learn"}
    assert costs["dimension"].tolist() == [10, 100]
    assert costs["cpu_seconds"].tolist() == [2, 8]


def test_a_cost_in_proportion_to_the_dimension_is_extrapolated_exactly(tmp_path):
    registry = read_models(REGISTRY)
    paper = [model for model in registry.values() if "paper-2024" in model.set]
    for name in ("spose-49", "bert", "harmonization-vgg16"):
        write(tmp_path, f"learn/{name}", 1.5 * registry[name].dimension)
    costs = costs_by_dimension(read_benchmarks(tmp_path), registry)
    table = extrapolate_costs(costs, [model.dimension for model in paper])
    # 93,405 dimensions have the paper's 86 representations.
    assert table["cpu_hours"].item() == pytest.approx(3 * 93405 / 3600)


def test_a_job_too_short_to_be_measured_costs_nothing(tmp_path):
    write(tmp_path, "list_things", 0.1, memory="NA")
    jobs = read_benchmarks(tmp_path)
    assert np.isnan(jobs["memory_mb"].item())
    assert costs_by_rule(jobs)["jobs"].item() == 1


def test_a_folder_without_benchmarks_is_named(tmp_path):
    with pytest.raises(InputError, match="Name the folder `benchmarks`"):
        read_benchmarks(tmp_path)
    (tmp_path / "other.tsv").write_text("path\tbytes\n")
    with pytest.raises(InputError, match=r"other\.tsv has no column cpu_time"):
        read_benchmarks(tmp_path)
