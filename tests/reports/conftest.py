"""The three servers for all tests of this folder, and no AWS settings but the test's own."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator

import pytest

from cli.harness import Bucket, make_bucket
from servers import EmbeddedServer, MotoServer, S3Server, SeaweedServer

KINDS: dict[str, type[S3Server]] = {
    kind.name: kind for kind in (EmbeddedServer, MotoServer, SeaweedServer)
}


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")


@pytest.fixture(scope="session")
def running() -> Iterator[Callable[[str], S3Server]]:
    """Starts each server when the first test asks for it."""
    started: dict[str, S3Server] = {}
    with contextlib.ExitStack() as stack:

        def get(name: str) -> S3Server:
            if name not in started:
                started[name] = stack.enter_context(KINDS[name]())
            return started[name]

        yield get


@pytest.fixture
def server(running: Callable[[str], S3Server]) -> S3Server:
    """The embedded server."""
    return running("embedded")


@pytest.fixture
def new_bucket() -> Iterator[Callable[[S3Server], Bucket]]:
    """Makes buckets that go with the test: SeaweedFS has room for a few only."""
    made: list[Bucket] = []

    def make(server: S3Server) -> Bucket:
        made.append(make_bucket(server))
        return made[-1]

    yield make
    for bucket in made:
        for key in bucket.all():
            bucket.s3.delete_object(Bucket=bucket.name, Key=key)
        bucket.s3.delete_bucket(Bucket=bucket.name)


@pytest.fixture
def bucket(server: S3Server) -> Bucket:
    """A new bucket on the embedded server, seen by boto3."""
    return make_bucket(server)


@pytest.fixture(params=["embedded", "moto", "seaweedfs"])
def any_server(request: pytest.FixtureRequest, running: Callable[[str], S3Server]) -> S3Server:
    return running(request.param)


@pytest.fixture
def any_bucket(any_server: S3Server, new_bucket: Callable[[S3Server], Bucket]) -> Bucket:
    """A new bucket on that server."""
    return new_bucket(any_server)
