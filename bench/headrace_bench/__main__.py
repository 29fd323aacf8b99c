"""bench/run: see the script of that name."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from servers.s3 import EmbeddedServer, S3Server, SeaweedServer

from .cells import ROOT, Measured, run_cell

SCENARIOS = ROOT / "bench" / "scenarios"


def load(name: str) -> dict[str, Any]:
    path = SCENARIOS / f"{name}.json"
    if not path.exists():
        known = ", ".join(sorted(p.stem for p in SCENARIOS.glob("*.json")))
        sys.exit(
            f"bench/run: there is no scenario {name!r}; there are {known}, and the group 'engine'"
        )
    return dict(json.loads(path.read_text()))


def start(stack: ExitStack, spec: dict[str, Any]) -> S3Server:
    """The scenario's server with its data."""
    if spec["kind"] == "seaweedfs":
        server: S3Server = stack.enter_context(SeaweedServer())
        fill(server, spec)
        return server
    arguments = list(spec.get("arguments", []))
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="headrace-bench-")))
    if "virtual" in spec:
        path = folder / "virtual.jsonl"
        path.write_text("".join(json.dumps(entry) + "\n" for entry in virtual(spec["virtual"])))
        arguments += ["--virtual", str(path)]
    if "faults" in spec:
        path = folder / "faults.json"
        path.write_text(json.dumps(spec["faults"]))
        arguments += ["--faults", str(path)]
    server = stack.enter_context(EmbeddedServer(arguments))
    for bucket in spec.get("buckets", []):
        client(server).create_bucket(bucket)
    if "jpegs" in spec:
        upload_jpegs(server, spec["jpegs"], folder)
    return server


def upload_jpegs(server: S3Server, spec: dict[str, Any], folder: Path) -> None:
    """Real pictures under BUCKET/PREFIX: for cells that decode."""
    binary = EmbeddedServer.binary()
    pictures = folder / "jpegs"
    count = str(spec["count"])
    made: list[str | Path] = [
        "datagen",
        "images",
        pictures,
        "--train",
        count,
        "--held-out",
        "1",
        "--quiet",
    ]
    subprocess.run([binary, *made], check=True)
    client(server).create_bucket(spec["bucket"])
    subprocess.run(
        [binary, "cp", "-r", "--quiet", pictures / "train", f"s3://{spec['bucket']}/"],
        check=True,
        env={**os.environ, **server.environment()},
    )


def virtual(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for entry in entries:
        if "uuids" in entry:
            import random
            import uuid

            choose = random.Random(0)
            made += [
                {
                    "bucket": entry["bucket"],
                    "key": entry["prefix"] + str(uuid.UUID(int=choose.getrandbits(128))),
                    "size": entry["size"],
                }
                for _ in range(entry["uuids"])
            ]
        elif "folders" in entry:
            made += [
                {
                    **{k: v for k, v in entry.items() if k != "folders"},
                    "prefix": f"{entry['prefix']}{folder:03d}/",
                }
                for folder in range(entry["folders"])
            ]
        else:
            made.append(entry)
    return made


def client(server: S3Server) -> Any:
    import headrace

    return headrace.Client(
        region="us-east-1",
        endpoint_url=server.endpoint,
        config=headrace.ClientConfig(
            access_key_id=server.access_key, secret_access_key=server.secret_key
        ),
    )


def fill(server: S3Server, spec: dict[str, Any]) -> None:
    """Writes real objects: for servers that cannot make them up."""
    writer = client(server)
    for entry in spec["virtual"]:
        writer.create_bucket(entry["bucket"])
        data = bytes(range(256)) * (entry["size"] // 256 + 1)
        for i in range(entry["count"]):
            key = f"{entry['prefix']}{i:0{entry['digits']}d}"
            writer.put(f"s3://{entry['bucket']}/{key}", memoryview(data)[: entry["size"]])


def machine() -> str:
    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return f"{model}, {os.cpu_count()} cores, {memory:.0f} GiB, Linux {platform.release()}"


def median(runs: list[Measured], metric: str) -> float:
    return statistics.median(run.metric(metric) for run in runs)


def judge(
    target: dict[str, Any], results: dict[str, list[Measured]], name: str
) -> tuple[str, bool]:
    """A target's line, and whether it was met. The peer is the best of those named."""
    metric = target["metric"]
    ours = median(results[target["ours"]], metric)
    if target.get("reported"):
        return f"{name} {target['ours']}:{metric} {ours:.4g} - - reported", True
    if "above" in target:  # a cell that shows what is there without the work
        ours -= median(results[target["above"]], metric)
    if "peer" not in target:
        limit = target.get("at_most", target.get("at_least"))
        met = ours <= target["at_most"] if "at_most" in target else ours >= target["at_least"]
        verdict = "met" if met else "short"
        sign = "<=" if "at_most" in target else ">="
        return f"{name} {target['ours']}:{metric} {ours:.4g} - - {sign}{limit:g} {verdict}", met
    peers = target["peer"] if isinstance(target["peer"], list) else [target["peer"]]
    values = {peer: median(results[peer], metric) for peer in peers if peer in results}
    if not values:
        raise KeyError(", ".join(peers))
    lower_is_better = "at_most" in target
    best = (min if lower_is_better else max)(values, key=lambda peer: values[peer])
    ratio = ours / values[best] if values[best] else float("inf")
    if target.get("inverted"):  # a time: the ratio is of speeds
        best = min(values, key=lambda peer: values[peer])
        ratio = values[best] / ours
    bound = ""
    limit = float(target["at_most"] if lower_is_better else target["at_least"])
    if not lower_is_better and metric in ("units_per_s", "bytes_per_s"):
        runs = results[target["ours"]]
        if statistics.median(r.server_cpu for r in runs) >= statistics.median(
            r.client_cpu for r in runs
        ):
            bound, limit = " server-bound", min(limit, 0.95)
    met = ratio <= limit if lower_is_better else ratio >= limit
    sign = "<=" if lower_is_better else ">="
    return (
        f"{name} {metric} {target['ours']}={ours:.4g} {best}={values[best]:.4g} {ratio:.3g} "
        f"{sign}{limit:g}x{bound} {'met' if met else 'short'}",
        met,
    )


def run(name: str, quick: bool) -> tuple[list[str], dict[str, Any], bool]:
    scenario = load(name)
    rounds = scenario.get("rounds", 3 if quick else 5)
    seconds, warmup = (6.0, 2.0) if quick else (20.0, 5.0)
    results: dict[str, list[Measured]] = {}
    failures: list[str] = []
    with ExitStack() as stack:
        server = start(stack, scenario["server"])
        for number in range(rounds):
            for cell in scenario["cells"]:
                try:
                    measured = run_cell(cell, server, seconds, warmup)
                except RuntimeError as error:
                    failures.append(str(error))
                    print(f"  {error}", file=sys.stderr)
                    continue
                results.setdefault(cell["id"], []).append(measured)
                print(
                    f"  {name} round {number + 1} {cell['id']}: "
                    f"{measured.metric('units_per_s'):.0f} units/s",
                    file=sys.stderr,
                )
    lines = [
        f"## {name}",
        "",
        scenario["about"],
        "",
        "| cell | units/s | MB/s | wall s | client CPU s | server CPU s | CPU s/GB | peak MiB |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for cell_id, runs in results.items():
        lines.append(
            f"| {cell_id} | {median(runs, 'units_per_s'):.1f} "
            f"| {median(runs, 'bytes_per_s') / 1e6:.1f} | {median(runs, 'seconds'):.2f} "
            f"| {statistics.median(r.client_cpu for r in runs):.2f} "
            f"| {statistics.median(r.server_cpu for r in runs):.2f} "
            f"| {median(runs, 'client_cpu_per_gb') if runs[0].bytes else 0:.2f} "
            f"| {median(runs, 'peak_memory') / 2**20:.0f} |"
        )
    lines.append("")
    all_met = not failures
    for target in scenario["targets"]:
        try:
            line, met = judge(target, results, name)
        except KeyError as missing:
            line, met = f"{name} {target['metric']}: no run of {missing} short", False
        lines.append(line)
        all_met = all_met and met
    raw = {cell_id: [vars(measured) for measured in runs] for cell_id, runs in results.items()}
    return lines, raw, all_met


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
            names += sorted(p.stem for p in SCENARIOS.glob("*.json"))
        else:
            names.append(name)
    for name in names:
        load(name)
    print(f"{datetime.date.today()}; {machine()}; {'quick' if arguments.quick else 'full'}")
    began = time.monotonic()
    everything: dict[str, Any] = {"machine": machine(), "date": str(datetime.date.today())}
    good = True
    for name in names:
        lines, raw, met = run(name, arguments.quick)
        print("\n".join(["", *lines]), flush=True)
        everything[name] = raw
        good = good and met
    print(f"\n{time.monotonic() - began:.0f} s")
    if arguments.json:
        arguments.json.write_text(json.dumps(everything, indent=1))
    if arguments.check and not good:
        sys.exit(1)


if __name__ == "__main__":
    main()
