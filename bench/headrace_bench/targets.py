"""Targets: what a scenario owes, and whether it was met."""

from __future__ import annotations

import statistics
from typing import Any

from .cells import Measured

# What "at least equal" means: all that is asked of a speed where the server is the bound.
EQUAL = 0.95

Results = dict[str, list[Measured]]


def median(runs: list[Measured], metric: str) -> float:
    return statistics.median(run.metric(metric) for run in runs)


def judge(target: dict[str, Any], results: Results, name: str) -> tuple[str, bool]:
    """A target's line, and whether it was met: short where a cell that it names has no run."""
    metric, ours = target["metric"], target["ours"]
    peers = target.get("peer", [])
    peers = peers if isinstance(peers, list) else [peers]
    base = target.get("above")  # the cell that shows what is there without the work
    missing = [cell for cell in [ours, *peers, base] if cell and cell not in results]
    if missing:
        return f"{name} {metric}: no run of {', '.join(missing)} short", False
    value = median(results[ours], metric) - (median(results[base], metric) if base else 0)
    if target.get("reported"):
        return f"{name} {ours}:{metric} {value:.4g} - - reported", True
    at_most = "at_most" in target
    limit = float(target["at_most"] if at_most else target["at_least"])
    sign = "<=" if at_most else ">="
    if not peers:
        met = value <= limit if at_most else value >= limit
        return f"{name} {ours}:{metric} {value:.4g} - - {sign}{limit:g} {verdict(met)}", met
    peer, best, ratio = compare(value, peers, target, results)
    bound = ""
    if not at_most and metric in ("units_per_s", "bytes_per_s") and server_bound(results[ours]):
        bound, limit = " server-bound", min(limit, EQUAL)
    met = ratio <= limit if at_most else ratio >= limit
    return (
        f"{name} {metric} {ours}={value:.4g} {peer}={best:.4g} {ratio:.3g} "
        f"{sign}{limit:g}x{bound} {verdict(met)}",
        met,
    )


def compare(
    value: float, peers: list[str], target: dict[str, Any], results: Results
) -> tuple[str, float, float]:
    """The best of the peers, what it has, and the ratio: ours / peer, of times peer / ours."""
    inverted = bool(target.get("inverted"))
    values = {peer: median(results[peer], target["metric"]) for peer in peers}
    pick = min if "at_most" in target or inverted else max
    best = pick(values, key=lambda peer: values[peer])
    over, under = (values[best], value) if inverted else (value, values[best])
    return best, values[best], over / under if under else float("inf")


def server_bound(runs: list[Measured]) -> bool:
    """Whether the server used at least as much CPU time as the client."""
    server = statistics.median(run.server_cpu for run in runs)
    return server >= statistics.median(run.client_cpu for run in runs)


def verdict(met: bool) -> str:
    return "met" if met else "short"
