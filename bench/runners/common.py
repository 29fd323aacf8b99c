"""What every runner shares: reading its cell, and saying when the measured time begins and ends.

A runner is a program of its own, run by the interpreter of the environment that it needs. It gets
one JSON object as argument and prints one JSON object a line: {"event": "begin"} when warm-up is
over, then {"event": "end", …} with what it counted. CPU time and memory are measured from outside.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any


def cell() -> dict[str, Any]:
    return dict(json.loads(sys.argv[1]))


def say(event: str, **fields: Any) -> None:
    print(json.dumps({"event": event, **fields}), flush=True)


class Meter:
    """Counts units and bytes in the measured time, which begins after `warmup` seconds.

    `tick` returns False when the time is over.
    """

    def __init__(self, warmup: float, seconds: float) -> None:
        self.begin_at = time.perf_counter() + warmup
        self.seconds = seconds
        self.began = 0.0
        self.units = 0
        self.bytes = 0
        self.waits: list[float] = []
        self.waited = 0.0

    def tick(self, units: int, size: int, wait: float = 0.0) -> bool:
        now = time.perf_counter()
        if not self.began:
            if now >= self.begin_at:
                say("begin")
                self.began = time.perf_counter()
            return True
        self.units += units
        self.bytes += size
        self.waits.append(wait)
        self.waited += wait
        return now - self.began < self.seconds

    def end(self, **extra: Any) -> None:
        elapsed = time.perf_counter() - self.began
        ordered = sorted(self.waits)
        p99 = ordered[min(int(len(ordered) * 0.99), len(ordered) - 1)] if ordered else 0.0
        say(
            "end",
            units=self.units,
            bytes=self.bytes,
            seconds=elapsed,
            wait_p99=p99,
            waiting=self.waited / elapsed,
            **extra,
        )
