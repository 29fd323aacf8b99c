"""Temporary credentials, from the services that hand them out to requests that a server accepts.

The sources mint numbered session tokens around the embedded server's own keys; that server checks
each signature, and a proxy before it sees which token a request has.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import botocore.credentials
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest

import headrace
from cli.harness import Bucket, make_bucket
from servers import EcsServer, EmbeddedServer, ForwardProxy, ImdsServer, Proxy, Request, StsServer

PART = os.urandom(5 << 20)
ROLE = "arn:aws:iam::123456789012:role/training"
Source = ImdsServer | EcsServer | StsServer


@dataclass(frozen=True)
class Kind:
    """A source of credentials, and the environment that leads to it."""

    make: Callable[..., Source]
    variables: Callable[[Source, EmbeddedServer, Path], dict[str, str]]
    refusal: str  # what an error says when the source gives none


def service_variables(source: Source, server: EmbeddedServer, folder: Path) -> dict[str, str]:
    return source.environment()


def token_file_variables(source: Source, server: EmbeddedServer, folder: Path) -> dict[str, str]:
    """The container endpoint as EKS Pod Identity gives it: the token in a file."""
    (folder / "token").write_text(EcsServer.token + "\n")
    environment = source.environment()
    del environment["AWS_CONTAINER_AUTHORIZATION_TOKEN"]
    return {**environment, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(folder / "token")}


def web_identity_variables(source: Source, server: EmbeddedServer, folder: Path) -> dict[str, str]:
    (folder / "token").write_text(StsServer.web_identity_token + "\n")
    return {
        "AWS_WEB_IDENTITY_TOKEN_FILE": str(folder / "token"),
        "AWS_ROLE_ARN": ROLE,
        **source.environment(),
    }


def assume_role_variables(source: Source, server: EmbeddedServer, folder: Path) -> dict[str, str]:
    (folder / "config").write_text(
        f"[profile training]\nrole_arn = {ROLE}\nsource_profile = base\nexternal_id = some-id\n"
        "[profile base]\naws_access_key_id = BASEKEY\naws_secret_access_key = base-secret\n"
    )
    return {
        "AWS_CONFIG_FILE": str(folder / "config"),
        "AWS_PROFILE": "training",
        **source.environment(),
    }


KINDS = {
    "imds": Kind(ImdsServer, service_variables, "meta-data/iam/security-credentials"),
    "container": Kind(EcsServer, service_variables, "container endpoint"),
    "container_token_file": Kind(EcsServer, token_file_variables, "container endpoint"),
    "web_identity": Kind(StsServer, web_identity_variables, f"STS gave no credentials.*{ROLE}"),
    "assume_role": Kind(StsServer, assume_role_variables, f"STS gave no credentials.*{ROLE}"),
}


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    with EmbeddedServer() as started:
        yield started


@pytest.fixture
def bucket(server: EmbeddedServer) -> Bucket:
    return make_bucket(server)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


Start = Callable[..., Source]


@pytest.fixture
def start(
    kind: Kind, server: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Start]:
    """Starts the source and leads the environment to it and to no other."""
    for name in list(os.environ):
        if name.startswith("AWS_") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    started: list[Source] = []

    def begin(secret_key: str = server.secret_key, **options: float) -> Source:
        source = kind.make(server.access_key, secret_key, **options)
        started.append(source.__enter__())
        environment = {
            "AWS_EC2_METADATA_DISABLED": str(kind.make is not ImdsServer).lower(),
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
            **kind.variables(source, server, tmp_path),
        }
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        return source

    yield begin
    for source in started:
        source.__exit__(None, None, None)


def connect(proxy: Proxy) -> headrace.Client:
    config = headrace.ClientConfig(part_size=len(PART), multipart_threshold=len(PART))
    return headrace.Client(endpoint_url=proxy.endpoint, region="us-east-1", config=config)


def tokens(proxy: Proxy) -> list[str]:
    return [request.headers.get("x-amz-security-token", "") for request in proxy.requests]


def test_requests_are_signed_with_them(
    start: Start, server: EmbeddedServer, bucket: Bucket
) -> None:
    source = start()
    with Proxy(server.endpoint) as proxy:
        client = connect(proxy)
        client.put(bucket.uri("k"), b"body")
        assert bytes(client.get(bucket.uri("k"))) == b"body"
        # Fetched once, for all requests.
        assert tokens(proxy) == ["token-1"] * 2
        assert len(source.issued) == 1


def test_the_server_looks_at_them(start: Start, server: EmbeddedServer, bucket: Bucket) -> None:
    start(secret_key="another")
    with (
        Proxy(server.endpoint) as proxy,
        pytest.raises(headrace.CredentialsError, match="signature does not match"),
    ):
        connect(proxy).get(bucket.uri("k"))


def test_a_refusal_names_its_source(
    kind: Kind, start: Start, server: EmbeddedServer, bucket: Bucket
) -> None:
    start(fail=1000)
    with (
        Proxy(server.endpoint) as proxy,
        pytest.raises(headrace.CredentialsError, match=kind.refusal),
    ):
        connect(proxy).get(bucket.uri("k"))
    assert proxy.requests == []


def test_a_source_that_fails_for_a_moment_is_asked_again(
    start: Start, server: EmbeddedServer, bucket: Bucket
) -> None:
    start(fail=1)
    with Proxy(server.endpoint) as proxy:
        connect(proxy).put(bucket.uri("k"), b"body")


def test_they_are_renewed_before_they_expire(
    start: Start, server: EmbeddedServer, bucket: Bucket
) -> None:
    """This server would take the first token for ever: their stated end alone has them renewed."""
    source = start(lifetime=3)
    bucket.put("k", b"body")
    with Proxy(server.endpoint) as proxy:
        client = connect(proxy)
        with client.open(bucket.uri("upload"), "wb") as file:
            file.write(PART)
            deadline = time.monotonic() + 20
            while len(source.issued) < 2 and time.monotonic() < deadline:
                assert bytes(client.get(bucket.uri("k"))) == b"body"
            file.write(PART)
        seen = tokens(proxy)
    assert bucket.get("upload") == PART * 2
    assert (seen[0], seen[-1]) == ("token-1", "token-2")
    assert set(seen) == {"token-1", "token-2"}


def botocores_authorization(source: Source, request: Request) -> str:
    """What botocore would have signed the request with."""
    signed = request.headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0]
    headers = {name: request.headers[name] for name in signed.split(";")}
    again = AWSRequest("POST", source.endpoint + request.target, headers, request.body)
    again.context["timestamp"] = request.headers["x-amz-date"]
    auth = SigV4Auth(botocore.credentials.Credentials("BASEKEY", "base-secret"), "sts", "us-east-1")
    text = auth.string_to_sign(again, auth.canonical_request(again))
    return (
        f"AWS4-HMAC-SHA256 Credential={auth.scope(again)}, SignedHeaders={signed}, "
        f"Signature={auth.signature(text, again)}"
    )


@pytest.mark.parametrize("kind", [KINDS["assume_role"]], ids=["assume_role"])
def test_a_role_is_asked_for_by_a_signed_request(
    start: Start, server: EmbeddedServer, bucket: Bucket
) -> None:
    source = start()
    with Proxy(server.endpoint) as proxy:
        connect(proxy).put(bucket.uri("k"), b"body")
    (request,) = source.requests
    assert b"ExternalId=some-id" in request.body
    assert request.headers["authorization"] == botocores_authorization(source, request)


@pytest.mark.parametrize("kind", [KINDS["imds"], KINDS["container"]], ids=["imds", "container"])
def test_this_machines_own_services_are_not_asked_through_a_proxy(
    start: Start, server: EmbeddedServer, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = start()
    with Proxy(server.endpoint) as proxy, ForwardProxy() as forward:
        monkeypatch.setenv("http_proxy", forward.endpoint)
        connect(proxy).put(bucket.uri("k"), b"body")
        # The request itself was; the secrets were not.
        assert [r.target for r in forward.requests] == [f"{proxy.endpoint}/{bucket.name}/k"]
        assert len(source.issued) == 1
