"""bench/run: see the script of that name."""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from . import report
from .cells import Measured, run_cell
from .scenario import SCENARIOS, load, start
from .targets import judge


def measure(name: str, quick: bool) -> tuple[dict[str, list[Measured]], list[str]]:
    """All rounds of a scenario, its cells in turn: what they brought, and what failed."""
    scenario = load(name)
    rounds = scenario.get("rounds", 3 if quick else 5)
    seconds, warmup = (6.0, 2.0) if quick else (20.0, 5.0)
    results: dict[str, list[Measured]] = {}
    failures: list[str] = []
    with ExitStack() as stack:
        server = start(stack, scenario["server"])
        for number in range(rounds):
            for cell in scenario["cells"]:
                where = f"  {name} round {number + 1} {cell['id']}:"
                try:
                    measured = run_cell(cell, server, seconds, warmup)
                except RuntimeError as error:
                    failures.append(str(error))
                    print(where, error, file=sys.stderr)
                    continue
                results.setdefault(cell["id"], []).append(measured)
                print(where, f"{measured.metric('units_per_s'):.0f} units/s", file=sys.stderr)
    return results, failures


def run(name: str, quick: bool) -> tuple[dict[str, Any], bool]:
    """Measures and prints one scenario; what it brought, raw, and whether all targets are met."""
    results, failures = measure(name, quick)
    scenario = load(name)
    print(f"\n## {name}\n\n{scenario['about']}\n")
    print("\n".join(report.table(results)) + "\n")
    verdicts = [judge(target, results, name) for target in scenario["targets"]]
    print("\n".join(line for line, _ in verdicts), flush=True)
    raw = {cell: [vars(measured) for measured in runs] for cell, runs in results.items()}
    return raw, not failures and all(met for _, met in verdicts)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench/run")
    parser.add_argument("names", nargs="+")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    names: list[str] = []
    for name in arguments.names:
        if name == "engine":
            names += sorted(path.stem for path in SCENARIOS.glob("*.json"))
        else:
            names.append(name)
    for name in names:
        load(name)
    began = time.monotonic()
    everything: dict[str, Any] = {
        "date": str(datetime.date.today()),
        "machine": report.machine(),
        "versions": report.versions(),
    }
    quick = "quick" if arguments.quick else "full"
    print(f"{everything['date']}; {everything['machine']}; {quick}")
    for environment, packages in everything["versions"].items():
        print(f"{environment}: {packages}")
    good = True
    for name in names:
        everything[name], met = run(name, arguments.quick)
        good = good and met
        if arguments.json:  # after each, so that a run that is broken off leaves what it has
            arguments.json.write_text(json.dumps(everything, indent=1))
    print(f"\n{time.monotonic() - began:.0f} s")
    if arguments.check and not good:
        sys.exit(1)


if __name__ == "__main__":
    main()
