"""How bench/run judges: a wrong verdict would be a wrong claim."""

from __future__ import annotations

from typing import Any

import pytest

from headrace_bench.cells import Measured
from headrace_bench.report import machine, table, versions
from headrace_bench.scenario import SCENARIOS, load
from headrace_bench.targets import judge


def cell(
    *,
    units: int = 100,
    seconds: float = 1.0,
    client_cpu: float = 1.0,
    server_cpu: float = 0.5,
    size: int = 10**9,
) -> list[Measured]:
    return [Measured(units, size, seconds, client_cpu, server_cpu, 2**20, units, {"waiting": 0.01})]


SPEED = {"metric": "units_per_s", "ours": "ours", "peer": ["slow", "fast"], "at_least": 1.3}
COST = {"metric": "client_cpu_per_gb", "ours": "ours", "peer": ["slow", "fast"], "at_most": 0.6}


@pytest.mark.parametrize(
    ("target", "results", "line"),
    [
        (  # of several peers the best counts
            SPEED,
            {"ours": cell(units=140), "slow": cell(units=10), "fast": cell(units=100)},
            "s units_per_s ours=140 fast=100 1.4 >=1.3x met",
        ),
        (
            SPEED,
            {"ours": cell(units=120), "slow": cell(units=10), "fast": cell(units=100)},
            "s units_per_s ours=120 fast=100 1.2 >=1.3x short",
        ),
        (
            SPEED,
            {"ours": cell(units=96, server_cpu=1.0), "slow": cell(units=1), "fast": cell()},
            "s units_per_s ours=96 fast=100 0.96 >=0.95x server-bound met",
        ),
        (
            COST,
            {"ours": cell(client_cpu=0.6), "slow": cell(client_cpu=9), "fast": cell()},
            "s client_cpu_per_gb ours=0.6 fast=1 0.6 <=0.6x met",
        ),
        (
            COST,
            {"ours": cell(client_cpu=0.61), "slow": cell(client_cpu=9), "fast": cell()},
            "s client_cpu_per_gb ours=0.61 fast=1 0.61 <=0.6x short",
        ),
        (  # whoever did not run is not compared, and not left out either
            COST,
            {"ours": cell(client_cpu=0.1), "slow": cell()},
            "s client_cpu_per_gb: no run of fast short",
        ),
        (COST, {"slow": cell(), "fast": cell()}, "s client_cpu_per_gb: no run of ours short"),
        (  # times: the shortest is the best, and the ratio is of speeds
            {**SPEED, "metric": "seconds", "inverted": True, "at_least": 5},
            {"ours": cell(seconds=2), "slow": cell(seconds=30), "fast": cell(seconds=10)},
            "s seconds ours=2 fast=10 5 >=5x met",
        ),
        (
            {"metric": "peak_memory", "ours": "ours", "above": "idle", "at_most": 1},
            {"ours": cell(), "idle": cell()},
            "s ours:peak_memory 0 - - <=1 met",
        ),
        (
            {"metric": "waiting", "ours": "ours", "at_most": 0.005},
            {"ours": cell()},
            "s ours:waiting 0.01 - - <=0.005 short",
        ),
        (
            {"metric": "waiting", "ours": "ours", "reported": True},
            {"ours": cell()},
            "s ours:waiting 0.01 - - reported",
        ),
    ],
)
def test_a_target_is_met_or_short(
    target: dict[str, Any], results: dict[str, list[Measured]], line: str
) -> None:
    assert judge(target, results, "s") == (line, not line.endswith("short"))


def test_a_table_gives_medians_and_no_rates_of_what_moved_nothing() -> None:
    rows = table({"moved": cell(units=1) + cell(units=3) + cell(units=9), "listed": cell(size=0)})
    assert rows[2] == "| moved | 3.0 | 1000.0 | 1.00 | 1.00 | 0.50 | 1.00 | 1 |"
    assert rows[3] == "| listed | 100.0 | - | 1.00 | 1.00 | 0.50 | - | 1 |"


@pytest.mark.parametrize("name", sorted(path.stem for path in SCENARIOS.glob("*.json")))
def test_the_targets_of_a_scenario_name_its_cells(name: str) -> None:
    scenario = load(name)
    results = {each["id"]: cell() for each in scenario["cells"]}
    for runs in results.values():
        runs[0].extra = dict.fromkeys(("waiting", "wait_p99", "bytes_per_key"), 1.0)
    for target in scenario["targets"]:
        assert "no run of" not in judge(target, results, name)[0]


def test_it_says_on_what_it_measured() -> None:
    assert "cores" in machine()
    assert "libcurl" in versions()["headrace"]
