"""A scenario: its file, and its server with the data that the cells read."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import uuid
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from servers.s3 import EmbeddedServer, S3Server, SeaweedServer

from .cells import ROOT

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
