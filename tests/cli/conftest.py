"""A server for all tests of the command line, and a bucket for each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from servers import EmbeddedServer, MotoServer

from .harness import Bucket, Cli, make_bucket


@pytest.fixture(scope="session")
def server() -> Iterator[EmbeddedServer]:
    with EmbeddedServer() as started:
        yield started


@pytest.fixture(scope="session")
def moto() -> Iterator[MotoServer]:
    with MotoServer() as started:
        yield started


@pytest.fixture
def cli(server: EmbeddedServer) -> Cli:
    return Cli(server)


@pytest.fixture
def bucket(server: EmbeddedServer) -> Bucket:
    return make_bucket(server)


@pytest.fixture
def other(server: EmbeddedServer) -> Bucket:
    return make_bucket(server)
