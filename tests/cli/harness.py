"""The headrace binary as a user runs it, against a server of its own."""

from __future__ import annotations

import json
import os
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import botocore.config

from servers import EmbeddedServer, S3Server

LIMIT = 60  # seconds; a command that takes longer hangs


@dataclass
class Finished:
    """How a command ended."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The JSON Lines before the summary."""
        return [json.loads(line) for line in self.out.splitlines()][:-1]

    @property
    def summary(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out.splitlines()[-1])["summary"]
        return found


@dataclass
class Cli:
    """Runs `headrace` with the environment of one server."""

    server: S3Server

    @property
    def environment(self) -> dict[str, str]:
        clean = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
        return {**clean, **self.server.environment(), "TZ": "UTC"}

    def __call__(
        self,
        *arguments: str | bytes | Path,
        data: bytes = b"",
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Finished:
        done = subprocess.run(
            [EmbeddedServer.binary(), *arguments],
            input=data,
            capture_output=True,
            timeout=LIMIT,
            cwd=cwd,
            env={**self.environment, **(environment or {})},
            check=False,
        )
        return Finished(done.returncode, done.stdout, done.stderr.decode(errors="replace"))

    def start(self, *arguments: str | Path, **how: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen([EmbeddedServer.binary(), *arguments], env=self.environment, **how)


@dataclass
class Bucket:
    """A bucket as boto3 sees it: what other clients put and find."""

    s3: Any
    name: str

    def put(self, key: str, body: bytes, **more: Any) -> None:
        self.s3.put_object(Bucket=self.name, Key=key, Body=body, **more)

    def put_all(self, objects: Mapping[str, bytes]) -> None:
        for key, body in objects.items():
            self.put(key, body)

    def get(self, key: str) -> bytes:
        body: bytes = self.s3.get_object(Bucket=self.name, Key=key)["Body"].read()
        return body

    def all(self) -> dict[str, bytes]:
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket=self.name)
        keys = [entry["Key"] for page in pages for entry in page.get("Contents", [])]
        return {key: self.get(key) for key in keys}

    def uploads(self) -> list[Any]:
        found: list[Any] = self.s3.list_multipart_uploads(Bucket=self.name).get("Uploads", [])
        return found

    def uri(self, key: str = "") -> str:
        return f"s3://{self.name}/{key}"


def boto_client(server: S3Server) -> Any:
    return boto3.client(
        "s3",
        endpoint_url=server.endpoint,
        region_name=server.region,
        aws_access_key_id=server.access_key,
        aws_secret_access_key=server.secret_key,
        config=botocore.config.Config(s3={"addressing_style": "path"}),
    )


def make_bucket(server: S3Server) -> Bucket:
    bucket = Bucket(boto_client(server), f"cli-{uuid.uuid4().hex[:12]}")
    bucket.s3.create_bucket(Bucket=bucket.name)
    return bucket


def tree(folder: Path) -> dict[str, bytes]:
    """The files below a folder; links are not followed."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def write_tree(folder: Path, files: Mapping[str, bytes] | Sequence[str]) -> None:
    contents = files if isinstance(files, Mapping) else {name: name.encode() for name in files}
    for name, body in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)


def wait_for(condition: Callable[[], object], what: str) -> None:
    """Until it is true; fails after half a minute."""
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, f"waited for {what} in vain"
        time.sleep(0.01)
