"""The embedded server, and clients of other projects pointed at it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from compat.support import client_of
from servers import EmbeddedServer

ROOT = Path(__file__).resolve().parents[2]
# The environment that holds the foreign clients; see tests/requirements-clients.txt.
CLIENTS = Path(os.environ.get("HEADRACE_CLIENTS", ROOT / ".venv-clients")) / "bin"


@pytest.fixture(scope="session")
def server() -> Iterator[EmbeddedServer]:
    with EmbeddedServer(["--anonymous", "open-bucket"]) as server:
        yield server


@pytest.fixture
def start() -> Iterator[Callable[..., EmbeddedServer]]:
    """Starts further servers, each over a folder of its own."""
    with ExitStack() as running:

        def start_one(*arguments: str) -> EmbeddedServer:
            return running.enter_context(EmbeddedServer(arguments))

        yield start_one


@pytest.fixture
def s3(server: EmbeddedServer) -> Any:
    return client_of(server)


@pytest.fixture
def bucket(s3: Any) -> str:
    name = f"test-{uuid.uuid4().hex[:12]}"
    s3.create_bucket(Bucket=name)
    return name


@pytest.fixture
def run(server: EmbeddedServer) -> Callable[..., str]:
    """Runs a program of the clients' environment against the server; gives its standard output."""

    def run_one(program: str, *arguments: str, stdin: bytes | None = None) -> str:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
        environment |= server.environment()
        environment["S3_ENDPOINT_URL"] = server.endpoint  # s5cmd's own name for it
        environment["PYTHONPATH"] = str(ROOT / "tests")
        command = [str(CLIENTS / program), *arguments]
        done = subprocess.run(
            command, env=environment, input=stdin, capture_output=True, timeout=100
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
