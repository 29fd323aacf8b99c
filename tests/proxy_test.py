"""The client behind a forward proxy, as the environment names one."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator

import pytest

import headrace
from servers import Certificate, EmbeddedServer, ForwardProxy, Request, make_certificate

BODY = os.urandom(100_000)
# No name server knows it: what reaches the server reached it through the proxy.
HOST = "storage.invalid"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return make_certificate(tmp_path_factory.mktemp("tls"), HOST)


@pytest.fixture(scope="module")
def plain() -> Iterator[EmbeddedServer]:
    with EmbeddedServer() as started:
        yield started


@pytest.fixture(scope="module")
def secure(certificate: Certificate) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(certificate.arguments) as started:
        yield started


@pytest.fixture
def proxy() -> Iterator[ForwardProxy]:
    with ForwardProxy({HOST: "127.0.0.1"}) as started:
        yield started


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("AWS_") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


def connect(server: EmbeddedServer, host: str = HOST, ca_bundle: str = "") -> headrace.Client:
    """A client of the server under another name."""
    config = headrace.ClientConfig(
        access_key_id=server.access_key,
        secret_access_key=server.secret_key,
        force_path_style=True,
        max_attempts=2,
        ca_bundle=ca_bundle or None,
    )
    endpoint = server.endpoint.replace("127.0.0.1", host)
    return headrace.Client(endpoint_url=endpoint, region=server.region, config=config)


def use(client: headrace.Client) -> None:
    bucket = f"bucket-{os.urandom(4).hex()}"
    client.create_bucket(bucket)
    client.put(f"s3://{bucket}/a key", BODY)
    assert bytes(client.get(f"s3://{bucket}/a key")) == BODY
    assert [info.key for info in client.list(f"s3://{bucket}/")] == ["a key"]


def with_user(proxy: ForwardProxy) -> str:
    return proxy.endpoint.replace("http://", "http://user:p%40ss@")


def authorizations(requests: list[Request]) -> set[str]:
    return {request.headers.get("proxy-authorization", "") for request in requests}


USER = f"Basic {base64.b64encode(b'user:p@ss').decode()}"


@pytest.mark.parametrize("variable", ["http_proxy", "all_proxy", "ALL_PROXY"])
def test_http_requests_are_given_to_the_proxy(
    plain: EmbeddedServer, proxy: ForwardProxy, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, proxy.endpoint)
    use(connect(plain))
    assert [request.method for request in proxy.requests] == ["PUT", "PUT", "GET", "GET"]
    origin = plain.endpoint.replace("127.0.0.1", HOST)
    assert all(request.target.startswith(f"{origin}/bucket-") for request in proxy.requests)


@pytest.mark.parametrize("variable", ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"])
def test_https_goes_through_a_tunnel(
    secure: EmbeddedServer,
    certificate: Certificate,
    proxy: ForwardProxy,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
) -> None:
    monkeypatch.setenv(variable, proxy.endpoint)
    use(connect(secure, ca_bundle=str(certificate.path)))
    # One, for all requests: the connection inside is kept.
    port = secure.endpoint.rpartition(":")[2]
    assert [(r.method, r.target) for r in proxy.requests] == [("CONNECT", f"{HOST}:{port}")]


def test_a_tunnel_is_no_reason_to_trust_its_end(
    secure: EmbeddedServer, proxy: ForwardProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", proxy.endpoint)
    with pytest.raises(headrace.Unreachable, match="self-signed"):
        use(connect(secure))
    assert [request.method for request in proxy.requests] == ["CONNECT"]


def test_the_proxys_user_is_told_to_the_proxy(
    plain: EmbeddedServer,
    secure: EmbeddedServer,
    certificate: Certificate,
    proxy: ForwardProxy,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("all_proxy", with_user(proxy))
    use(connect(plain))
    assert authorizations(proxy.requests) == {USER}
    proxy.requests.clear()
    use(connect(secure, ca_bundle=str(certificate.path)))
    assert authorizations(proxy.requests) == {USER}


@pytest.mark.parametrize("variable", ["no_proxy", "NO_PROXY"])
@pytest.mark.parametrize("value", ["127.0.0.1", "elsewhere, 127.0.0.1", "*"])
def test_no_proxy_names_hosts_that_are_reached_directly(
    plain: EmbeddedServer,
    proxy: ForwardProxy,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    value: str,
) -> None:
    monkeypatch.setenv("http_proxy", proxy.endpoint)
    use(connect(plain, "127.0.0.1"))
    assert len(proxy.requests) == 4
    monkeypatch.setenv(variable, value)
    use(connect(plain, "127.0.0.1"))
    assert len(proxy.requests) == 4


def test_http_proxy_in_capitals_is_not_looked_at(
    plain: EmbeddedServer, proxy: ForwardProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A web server sets it from a header of whoever asks."""
    monkeypatch.setenv("HTTP_PROXY", proxy.endpoint)
    use(connect(plain, "127.0.0.1"))
    assert proxy.requests == []


def test_a_proxy_that_refuses_a_tunnel_is_named(
    secure: EmbeddedServer, certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ForwardProxy(refuse_tunnels=True) as proxy:
        monkeypatch.setenv("https_proxy", proxy.endpoint)
        with pytest.raises(headrace.Unreachable) as caught:
            use(connect(secure, ca_bundle=str(certificate.path)))
        assert f"through the proxy {proxy.endpoint}" in str(caught.value)
        assert "403" in str(caught.value)
        assert [request.method for request in proxy.requests] == ["CONNECT"] * 2
