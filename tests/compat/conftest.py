"""The embedded server, and clients of other projects pointed at it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config

ROOT = Path(__file__).resolve().parents[2]
HEADRACE = Path(
    os.environ.get("HEADRACE_BIN", ROOT / "build" / "release" / "apps" / "headrace" / "headrace")
)
# The environment that holds the foreign clients; see tests/requirements-clients.txt.
CLIENTS = Path(os.environ.get("HEADRACE_CLIENTS", ROOT / ".venv-clients")) / "bin"


class Server:
    """One `headrace serve`, ended by its process id."""

    def __init__(self, folder: Path, arguments: Sequence[str] = ()) -> None:
        self.folder = folder
        command = [str(HEADRACE), "serve", str(folder), "--json", *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        ready = json.loads(self.process.stdout.readline())
        self.endpoint: str = ready["endpoint"]
        self.access_key: str = ready["access_key"]
        self.secret_key: str = ready["secret_key"]

    def environment(self) -> dict[str, str]:
        """This process's environment with the server's endpoint and keys as AWS variables."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
        return kept | {
            "AWS_ENDPOINT_URL": self.endpoint,
            "S3_ENDPOINT_URL": self.endpoint,  # s5cmd's own
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_PAGER": "",
        }

    def client(self, config: Config | None = None, **overrides: Any) -> Any:
        """A boto3 client; retries are off, so that a fault is seen and not repaired."""
        retries_off = Config(
            retries={"total_max_attempts": 1}, s3={"addressing_style": "path"}, signature_version="s3v4"
        )
        arguments: dict[str, Any] = {
            "endpoint_url": self.endpoint,
            "aws_access_key_id": self.access_key,
            "aws_secret_access_key": self.secret_key,
            "region_name": "us-east-1",
            "config": retries_off.merge(config) if config else retries_off,
        }
        return boto3.client("s3", **(arguments | overrides))

    def stop(self, *, kill: bool = False) -> int:
        """Ends the server and gives its exit code."""
        if self.process.poll() is None:
            if kill:
                self.process.kill()
            else:
                self.process.terminate()
        code = self.process.wait(timeout=20)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("store"), ["--anonymous", "open-bucket"])
    yield server
    assert server.stop() == 0


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Starts further servers, by default over a folder of this test."""
    running: list[Server] = []

    def start_one(*arguments: str, folder: Path | None = None) -> Server:
        running.append(Server(folder or tmp_path / "store", arguments))
        return running[-1]

    yield start_one
    for one in running:
        one.stop()


@pytest.fixture
def s3(server: Server) -> Any:
    return server.client()


@pytest.fixture
def bucket(s3: Any) -> str:
    name = f"test-{uuid.uuid4().hex[:12]}"
    s3.create_bucket(Bucket=name)
    return name


@pytest.fixture
def run(server: Server) -> Callable[..., str]:
    """Runs a program of the clients' environment against the server; gives its standard output."""

    def run_one(program: str, *arguments: str, stdin: bytes | None = None) -> str:
        command = [str(CLIENTS / program), *arguments]
        done = subprocess.run(
            command, env=server.environment(), input=stdin, capture_output=True, timeout=100
        )
        assert done.returncode == 0, f"{command}: {done.stderr.decode()}\n{done.stdout.decode()}"
        return done.stdout.decode()

    return run_one


@pytest.fixture
def run_python(run: Callable[..., str]) -> Callable[..., Any]:
    """Runs a script of this folder in the clients' Python; gives the JSON it prints last."""

    def run_script(script: str, *arguments: str) -> Any:
        output = run("python", str(Path(__file__).parent / script), *arguments)
        print(output, file=sys.stderr)
        return json.loads(output.splitlines()[-1])

    return run_script
