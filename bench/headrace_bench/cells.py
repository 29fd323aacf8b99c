"""Running one cell: a runner in its own environment against a server, measured from outside."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from servers.s3 import S3Server

from . import processes

ROOT = Path(__file__).resolve().parents[2]
# A runner that has not ended so long after its time is killed, and its cell has failed. Seconds.
PATIENCE = 60.0
PYTHONS = {
    "headrace": ROOT / ".venv/bin/python",
    "peers": ROOT / ".bench/peers/bin/python",
    "s3fs": ROOT / ".bench/s3fs/bin/python",
}


@dataclass
class Measured:
    """What one run of a cell brought. Times in seconds, memory in bytes."""

    units: int
    bytes: int
    seconds: float
    client_cpu: float
    server_cpu: float
    peak_memory: int
    requests: int
    extra: dict[str, Any] = field(default_factory=dict)

    def metric(self, name: str) -> float:
        """A named quantity, as scenario files ask for it."""
        gigabytes = self.bytes / 1e9
        values = {
            "units_per_s": self.units / self.seconds,
            "bytes_per_s": self.bytes / self.seconds,
            "units_per_cpu_s": self.units / max(self.client_cpu, 1e-9),
            "client_cpu_per_gb": self.client_cpu / max(gigabytes, 1e-9),
            "server_cpu_per_gb": self.server_cpu / max(gigabytes, 1e-9),
            "peak_memory": float(self.peak_memory),
            "seconds": self.seconds,
            "requests_per_unit": self.requests / max(self.units, 1),
        }
        return float(values[name] if name in values else self.extra[name])


def run_cell(cell: dict[str, Any], server: S3Server, seconds: float, warmup: float) -> Measured:
    """One run. Raises RuntimeError with the runner's output when it fails."""
    process = start_runner(cell, server, seconds, warmup)
    stderr = process.stderr
    assert process.stdout and stderr
    errors: list[str] = []
    reader = threading.Thread(target=lambda: errors.append(stderr.read()), daemon=True)
    reader.start()
    memory, over = processes.Memory(), threading.Event()

    def watch() -> None:
        while not over.wait(0.05):
            memory.sample(process.pid)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    limit = threading.Timer(warmup + seconds + PATIENCE, process.kill)
    limit.start()
    result = measure(process, server)
    limit.cancel()
    over.set()
    watcher.join()
    if result:
        result.peak_memory = memory.peak
        process.terminate()
    process.stdout.close()
    process.wait(timeout=60)
    reader.join(timeout=10)
    if result is None:
        raise RuntimeError(f"{cell['id']} failed:\n{''.join(errors)[-2000:]}")
    return result


def start_runner(
    cell: dict[str, Any], server: S3Server, seconds: float, warmup: float
) -> subprocess.Popen[str]:
    """The cell's program, with one JSON object as its argument."""
    arguments = {
        **cell,
        "endpoint": server.endpoint,
        "access_key": server.access_key,
        "secret_key": server.secret_key,
        "seconds": seconds,
        "warmup": warmup,
    }
    runner = ROOT / "bench" / "runners" / cell["runner"]
    command: list[str | Path]
    if runner.suffix == ".py":
        command = [PYTHONS[cell.get("environment", "peers")], runner]
    else:  # a program of our own build
        command = [ROOT / "build/release/bench" / cell["runner"]]
    environment = {**os.environ, **server.environment()}
    for name in ("PYTHONPATH", "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        environment.pop(name, None)
    return subprocess.Popen(
        [*command, json.dumps(arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def measure(process: subprocess.Popen[str], server: S3Server) -> Measured | None:
    """What happened between the runner's two lines; None when they did not come."""
    assert process.stdout and server.process
    begin: tuple[float, float, int] | None = None
    for line in process.stdout:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        now = (
            processes.cpu_seconds(process.pid),
            processes.cpu_seconds(server.process.pid),
            requests_of(server),
        )
        if event["event"] == "begin":
            begin = now
        elif event["event"] == "end" and begin:
            known = {"event", "units", "bytes", "seconds"}
            return Measured(
                units=event["units"],
                bytes=event["bytes"],
                seconds=event["seconds"],
                client_cpu=now[0] - begin[0],
                server_cpu=now[1] - begin[1],
                peak_memory=0,
                requests=now[2] - begin[2],
                extra={k: v for k, v in event.items() if k not in known},
            )
    return None


def requests_of(server: S3Server) -> int:
    """Requests that the embedded server has counted; 0 for servers that do not say."""
    if server.name != "embedded":
        return 0
    import urllib.request

    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{server.endpoint}/_headrace/stats", timeout=10) as answer:
        stats = json.load(answer)
    requests = stats["requests"]
    return int(sum(requests.values()) if isinstance(requests, dict) else requests)
