"""A soak: random faults of all kinds, 64 workers, every byte checked, and nothing held at the end.

The rules are in faults/soak.json. Each fault is one that attempts get over, so every operation has
to end right: an error is a failure here.
"""

from __future__ import annotations

import json
import os
import random
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import headrace
from cli.harness import make_bucket
from servers import EmbeddedServer

WORKERS = 64
SEED = 20240229
MIB = 1 << 20
PART = 256 * 1024
BLOCK = random.Random(SEED).randbytes(8 * MIB)
RULES = Path(__file__).parent / "faults" / "soak.json"
WHOLE = {f"whole/{n:03}": n * 1_500 for n in range(100)}
RANGED = {f"ranged/{n:03}": PART + n * 77_777 for n in range(24)}


def content(key: str, size: int) -> bytes:
    """The bytes of an object, which are those of no other."""
    start = random.Random(key).randrange(len(BLOCK) - size)
    return BLOCK[start : start + size]


class Worker:
    """One thread's operations. It alone writes below its own prefix, so it knows what is there."""

    def __init__(self, client: headrace.Client, bucket: str, number: int) -> None:
        self.client = client
        self.bucket = bucket
        self.prefix = f"own/{number:02}/"
        self.random = random.Random(SEED + number)
        self.mine: dict[str, bytes] = {}
        self.made = 0
        self.log: list[Any] = []
        self.done: Counter[str] = Counter()

    def uri(self, key: str) -> str:
        return f"s3://{self.bucket}/{key}"

    def run(self, until: float) -> Counter[str]:
        kinds: list[tuple[Callable[[], None], int]] = [
            (self.get, 30),
            (self.get_ranged, 20),
            (self.get_range, 15),
            (self.get_many, 5),
            (self.read_file, 5),
            (self.put, 10),
            (self.write, 2),
            (self.abort, 1),
            (self.head, 5),
            (self.list, 3),
            (self.delete, 3),
        ]
        calls, weights = zip(*kinds, strict=True)
        while time.monotonic() < until:
            (call,) = self.random.choices(calls, weights)
            call()
            self.done[call.__name__] += 1
        self.list()
        for key, body in self.mine.items():
            assert bytes(self.client.get(self.uri(key))) == body, key
        return self.done

    def get(self) -> None:
        key = self.random.choice(list(WHOLE))
        data = self.client.get(self.uri(key))
        assert bytes(data) == content(key, WHOLE[key]), key

    def get_ranged(self) -> None:
        key = self.random.choice(list(RANGED))
        assert bytes(self.client.get(self.uri(key))) == content(key, RANGED[key]), key

    def get_range(self) -> None:
        key = self.random.choice(list(RANGED))
        start = self.random.randrange(RANGED[key] + 10)
        stop = start + self.random.randrange(2 * PART)
        data = self.client.get(self.uri(key), range=(start, stop))
        assert bytes(data) == content(key, RANGED[key])[start:stop], (key, start, stop)

    def get_many(self) -> None:
        keys = self.random.choices(list(WHOLE), k=8)
        found = self.client.get_many([self.uri(key) for key in keys])
        for key, data in zip(keys, found, strict=True):
            assert bytes(data) == content(key, WHOLE[key]), key

    def read_file(self) -> None:
        key = self.random.choice(list(RANGED))
        body = content(key, RANGED[key])
        with self.client.open(self.uri(key)) as file:
            assert file.read(1000) == body[:1000]
            file.seek(len(body) // 2)
            assert file.read() == body[len(body) // 2 :], key

    def new(self, size: int) -> tuple[str, bytes]:
        self.made += 1
        # Some keys are overwritten, some are new.
        key = f"{self.prefix}{self.made % 20:04}"
        return key, content(f"{key}#{self.made}", size)

    def put(self) -> None:
        key, body = self.new(self.random.randrange(200_000))
        self.client.put(self.uri(key), body)
        self.mine[key] = body
        self.log.append(("put", key, len(body)))
        assert bytes(self.client.get(self.uri(key))) == body, key

    def write(self) -> None:
        key, body = self.new(5 * MIB + self.random.randrange(2 * MIB))
        with self.client.open(self.uri(key), "wb") as file:
            for start in range(0, len(body), 1_000_000):
                file.write(body[start : start + 1_000_000])
        self.mine[key] = body
        self.log.append(("put", key, len(body)))
        assert bytes(self.client.get(self.uri(key))) == body, key

    def abort(self) -> None:
        key, body = self.new(5 * MIB + self.random.randrange(2 * MIB))
        file = self.client.open(self.uri(key), "wb")
        file.write(body)
        file.abort()
        self.log.append(("abort", key, len(body)))
        if key in self.mine:
            assert bytes(self.client.get(self.uri(key))) == self.mine[key], key

    def head(self) -> None:
        key = self.random.choice(list(WHOLE))
        assert self.client.head(self.uri(key)).size == WHOLE[key]

    def list(self) -> None:
        found = {info.key: info.size for info in self.client.list(self.uri(self.prefix))}
        assert found == {key: len(body) for key, body in self.mine.items()}, self.log

    def delete(self) -> None:
        keys = self.random.sample(sorted(self.mine), min(2, len(self.mine)))
        self.client.delete([self.uri(key) for key in keys])
        for key in keys:
            del self.mine[key]
        self.log.append(("delete", keys))


def admin(server: EmbeddedServer, what: str, body: bytes | None = None) -> Any:
    request = urllib.request.Request(f"{server.endpoint}/_headrace/{what}", body)
    with urllib.request.urlopen(request) as answer:
        text = answer.read()
    return json.loads(text) if text else None


@pytest.mark.parametrize(
    "seconds", [5, pytest.param(120, marks=[pytest.mark.long, pytest.mark.timeout(300)])]
)
def test_random_faults_change_no_byte_and_leave_nothing_held(
    seconds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    with EmbeddedServer(["--min-part-size", "1"]) as server:
        bucket = make_bucket(server).name
        client = headrace.Client(
            endpoint_url=server.endpoint,
            region=server.region,
            config=headrace.ClientConfig(
                access_key_id=server.access_key,
                secret_access_key=server.secret_key,
                part_size=PART,
                multipart_threshold=PART,
                memory_limit=64 * MIB,
                max_in_flight=WORKERS,
                idle_timeout=0.5,
                progress_timeout=30.0,
            ),
        )
        # By our own client: with a checksum that it can check.
        for key, size in {**WHOLE, **RANGED}.items():
            client.put(f"s3://{bucket}/{key}", content(key, size))
        admin(server, "reset", b"")
        admin(server, "faults", RULES.read_bytes())

        workers = [Worker(client, bucket, number) for number in range(WORKERS)]
        until = time.monotonic() + seconds
        with ThreadPoolExecutor(WORKERS) as pool:
            runs = [pool.submit(worker.run, until) for worker in workers]
            peak = 0.0
            while time.monotonic() < until:
                peak = max(peak, client.metrics()["headrace_in_flight"])
                threading.Event().wait(0.02)
            total: Counter[str] = sum((run.result() for run in runs), Counter())

        stats = admin(server, "stats")
        print(dict(total), f"peak {peak:.0f} in flight", stats)
        # It was what it says: work of every kind, faults amid it, many at once.
        assert set(total) >= {"get", "get_ranged", "get_range", "put", "write", "list", "delete"}
        struck = (
            stats["faults"] if isinstance(stats["faults"], int) else sum(stats["faults"].values())
        )
        assert struck > 10 * seconds
        assert stats["requests"]["CompleteMultipartUpload"] > 0
        assert peak > WORKERS / 2

        metrics = client.metrics()
        gauges = {
            name: value
            for name, value in metrics.items()
            if name.startswith(("headrace_in_flight", "headrace_queued", "headrace_budget_used"))
        }
        assert len(gauges) >= 3
        assert set(gauges.values()) == {0.0}, gauges
