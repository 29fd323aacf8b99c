"""The embedded server for all tests of this folder, and a bucket for each."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from multiprocessing import forkserver

import pytest

import headrace
from servers import EmbeddedServer


def end_forkserver() -> None:
    """Ends the process that earlier tests started with another environment."""
    forkserver._forkserver._stop()  # type: ignore[attr-defined]


@pytest.fixture(scope="session", autouse=True)
def server() -> Iterator[EmbeddedServer]:
    """One server for the session; the environment leads every client to it."""
    with EmbeddedServer() as running:
        before = dict(os.environ)
        for name in list(os.environ):
            if name.startswith("AWS_"):
                del os.environ[name]
        os.environ.update(running.environment())
        end_forkserver()
        yield running
        end_forkserver()
        os.environ.clear()
        os.environ.update(before)


@pytest.fixture
def client(server: EmbeddedServer) -> headrace.Client:
    return headrace.Client()


@pytest.fixture
def bucket(client: headrace.Client) -> str:
    """The address of a new bucket, without a slash at its end."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    client.create_bucket(name)
    return f"s3://{name}"
