"""The client over TLS: whom it trusts, and that everything works there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace
from cli.harness import Cli
from servers import Certificate, EmbeddedServer, make_certificate

BODY = os.urandom(12 << 20)
BUCKET = "s3://bucket"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def server(certificate: Certificate) -> Iterator[EmbeddedServer]:
    """A server that speaks TLS only; the object `k` is there."""
    with EmbeddedServer(certificate.arguments) as started, pytest.MonkeyPatch.context() as patch:
        lead_to(started, patch)
        client = connect(ca_bundle=str(certificate.path))
        client.create_bucket("bucket")
        client.put(f"{BUCKET}/k", BODY)
        yield started


def lead_to(server: EmbeddedServer, patch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("AWS_") or name == "SSL_CERT_FILE":
            patch.delenv(name)
    for name, value in server.environment().items():
        patch.setenv(name, value)


@pytest.fixture(autouse=True)
def environment(server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    lead_to(server, monkeypatch)


def connect(ca_bundle: str | None = None, verify_tls: bool = True) -> headrace.Client:
    config = headrace.ClientConfig(
        ca_bundle=ca_bundle, verify_tls=verify_tls, part_size=5 << 20, multipart_threshold=5 << 20
    )
    return headrace.Client(config=config)


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """Another server's certificate, for the same address."""
    return make_certificate(tmp_path_factory.mktemp("other"))


def assert_refused(client: headrace.Client, why: str) -> None:
    with pytest.raises(headrace.Unreachable, match=why) as caught:
        client.get(f"{BUCKET}/k")
    assert caught.value.attempts == 1


def test_every_operation_works(server: EmbeddedServer, certificate: Certificate) -> None:
    assert server.endpoint.startswith("https://")
    client = connect(ca_bundle=str(certificate.path))
    client.put(f"{BUCKET}/ops/small", b"small")
    client.put(f"{BUCKET}/ops/large", BODY)  # three parts
    assert bytes(client.get(f"{BUCKET}/ops/small")) == b"small"
    assert bytes(client.get(f"{BUCKET}/ops/large")) == BODY  # three ranges
    uris = [f"{BUCKET}/ops/large", f"{BUCKET}/ops/small"] * 10
    assert [len(data) for data in client.get_many(uris)] == [len(BODY), 5] * 10
    with client.open(f"{BUCKET}/ops/large") as file:
        file.seek(-100, os.SEEK_END)
        assert file.read() == BODY[-100:]
    assert [info.key for info in client.list(f"{BUCKET}/ops/")] == ["ops/large", "ops/small"]
    client.delete([f"{BUCKET}/ops/large", f"{BUCKET}/ops/small"])
    assert list(client.list(f"{BUCKET}/ops/")) == []


def test_the_environment_names_the_bundle(
    certificate: Certificate, other: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_CA_BUNDLE", str(certificate.path))
    assert bytes(connect().get(f"{BUCKET}/k")) == BODY
    # What is given to the client counts for more.
    assert_refused(connect(ca_bundle=str(other.path)), "self-signed")
    monkeypatch.setenv("AWS_CA_BUNDLE", str(other.path))
    assert bytes(connect(ca_bundle=str(certificate.path)).get(f"{BUCKET}/k")) == BODY


def test_the_system_does_not_trust_it() -> None:
    assert_refused(connect(), "self-signed")


def test_another_servers_certificate_is_refused(other: Certificate) -> None:
    assert_refused(connect(ca_bundle=str(other.path)), "self-signed|unable to get local issuer")


def test_the_certificate_has_to_be_for_the_servers_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = make_certificate(tmp_path, "elsewhere.example")
    with EmbeddedServer(elsewhere.arguments) as server:
        lead_to(server, monkeypatch)
        # As libcurl 7 and 8 call it.
        name = r"target (host name|ipv4 address) '127\.0\.0\.1'"
        assert_refused(connect(ca_bundle=str(elsewhere.path)), name)
        connect(verify_tls=False).create_bucket("bucket")


def test_a_bundle_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert_refused(connect(ca_bundle=str(tmp_path / "none.pem")), "none.pem")


def test_verification_can_be_turned_off() -> None:
    assert bytes(connect(verify_tls=False).get(f"{BUCKET}/k")) == BODY


def test_the_command_line_has_the_same_options(
    server: EmbeddedServer, certificate: Certificate, tmp_path: Path
) -> None:
    cli = Cli(server)
    copy = ("cp", f"{BUCKET}/k", tmp_path / "file")
    refused = cli(*copy)
    assert refused.code == 1 and "self-signed" in refused.err
    assert not (tmp_path / "file").exists()
    for options in (["--ca-bundle", str(certificate.path)], ["--no-verify-ssl"]):
        done = cli(*copy, *options)
        assert done.code == 0, done.err
        assert (tmp_path / "file").read_bytes() == BODY
        (tmp_path / "file").unlink()
