"""The test servers themselves, seen by boto3: what they promise, real clients find."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import botocore.config
import botocore.exceptions
import botocore.session
import pytest

from servers import (
    Answer,
    Close,
    EcsServer,
    Edit,
    EmbeddedServer,
    ForwardProxy,
    ImdsServer,
    MotoServer,
    Proxy,
    Request,
    Response,
    S3Server,
    SeaweedServer,
    ServerError,
    StsServer,
    once,
)
from servers.process import free_ports

BODY = os.urandom(1 << 20)
TESTS = Path(__file__).resolve().parent


def client(server: S3Server, endpoint: str | None = None, **config: Any) -> Any:
    settings = {"retries": {"total_max_attempts": 1}, "s3": {"addressing_style": "path"}, **config}
    return boto3.client(
        "s3",
        endpoint_url=endpoint or server.endpoint,
        region_name=server.region,
        aws_access_key_id=server.access_key,
        aws_secret_access_key=server.secret_key,
        config=botocore.config.Config(**settings),
    )


@pytest.fixture(scope="module")
def moto() -> Iterator[MotoServer]:
    with MotoServer() as server:
        s3 = client(server)
        s3.create_bucket(Bucket="bucket")
        s3.put_object(Bucket="bucket", Key="key", Body=BODY)
        yield server


@pytest.mark.parametrize("kind", [EmbeddedServer, SeaweedServer, MotoServer])
def test_an_s3_server_keeps_what_is_put_and_is_gone_afterwards(kind: type[S3Server]) -> None:
    if kind is EmbeddedServer:
        try:
            EmbeddedServer.binary()
        except ServerError as error:
            pytest.skip(str(error))
    with kind() as server:
        assert server.process is not None
        s3 = client(server)
        s3.create_bucket(Bucket="bucket")
        s3.put_object(Bucket="bucket", Key="a/key", Body=BODY)
        assert s3.get_object(Bucket="bucket", Key="a/key")["Body"].read() == BODY
        process, folder = server.process, server.folder
    assert not process.running()
    assert not folder.exists()


def test_seaweedfs_refuses_a_wrong_secret() -> None:
    with SeaweedServer() as server:
        server.secret_key = "wrong"
        with pytest.raises(botocore.exceptions.ClientError, match="SignatureDoesNotMatch"):
            client(server).list_buckets()


def test_a_server_that_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_MOTO", "/bin/false")
    with pytest.raises(ServerError, match="ended with status 1"), MotoServer():
        pass
    monkeypatch.setenv("HEADRACE_MOTO", "/nowhere/moto")
    with pytest.raises(ServerError, match="/nowhere/moto is missing"), MotoServer():
        pass


def test_free_ports_are_distinct_and_have_their_twins() -> None:
    ports = free_ports(20, twins=True)
    assert len(set(ports)) == 20
    assert max(ports) + 10_000 < 32_768


def test_with_servers_passes_the_environment_and_the_exit_status() -> None:
    script = "import os, sys; print(os.environ['HEADRACE_TEST_MOTO_ENDPOINT']); sys.exit(7)"
    done = subprocess.run(
        [TESTS / "with_servers", "--only", "moto", sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout[:17]) == (7, "http://127.0.0.1:"), done.stderr


def test_with_servers_takes_its_servers_along_when_it_is_ended() -> None:
    script = (
        "import os, sys; print(os.environ['HEADRACE_TEST_MOTO_ENDPOINT'], flush=True);"
        "sys.stdin.read()"
    )
    runner = subprocess.Popen(
        [TESTS / "with_servers", "--only", "moto", sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert runner.stdout is not None and runner.stdin is not None
    endpoint = runner.stdout.readline().strip()
    runner.send_signal(signal.SIGTERM)
    runner.stdin.close()
    assert runner.wait(20) == 128 + signal.SIGTERM
    runner.stdout.close()
    with pytest.raises(botocore.exceptions.EndpointConnectionError):
        client(MotoServer(), endpoint).list_buckets()


class TestProxy:
    def test_passes_everything_on_and_records_it(self, moto: MotoServer) -> None:
        with Proxy(moto.endpoint) as proxy:
            s3 = client(moto, proxy.endpoint)
            s3.put_object(Bucket="bucket", Key="through", Body=BODY)
            assert s3.get_object(Bucket="bucket", Key="through")["Body"].read() == BODY
            assert s3.get_object(Bucket="bucket", Key="through")["Body"].read() == BODY
            assert s3.head_object(Bucket="bucket", Key="through")["ContentLength"] == len(BODY)
            # Nothing was sent twice: a kept connection serves one request after the other.
            assert [r.method for r in proxy.requests] == ["PUT", "GET", "GET", "HEAD"]
            assert proxy.requests[1].path == "/bucket/through"
            assert proxy.requests[1].host == f"127.0.0.1:{proxy.port}"

    @pytest.mark.parametrize("reset", [False, True])
    def test_closes_once_after_as_many_bytes_as_it_was_told(
        self, moto: MotoServer, reset: bool
    ) -> None:
        script = once(lambda request: Close(1000, reset) if request.method == "GET" else None)
        with Proxy(moto.endpoint, script) as proxy:
            s3 = client(moto, proxy.endpoint)
            body = s3.get_object(Bucket="bucket", Key="key")["Body"]
            with pytest.raises(
                (
                    botocore.exceptions.ResponseStreamingError,
                    botocore.exceptions.IncompleteReadError,
                )
            ):
                body.read()
            assert s3.get_object(Bucket="bucket", Key="key")["Body"].read() == BODY

    def test_answers_by_itself(self, moto: MotoServer) -> None:
        body = b"<Error><Code>ExpiredToken</Code><Message>old</Message></Error>"
        with (
            Proxy(moto.endpoint, lambda _: Answer(Response(400, body=body))) as proxy,
            pytest.raises(botocore.exceptions.ClientError, match="ExpiredToken"),
        ):
            client(moto, proxy.endpoint).get_object(Bucket="bucket", Key="key")

    def test_edits_targets_and_answers(self, moto: MotoServer) -> None:
        def script(request: Request) -> Edit:
            def bare_etag(response: Response) -> Response:
                if "ETag" in response.headers:
                    response.headers["ETag"] = response.headers["ETag"].strip('"')
                return response

            return Edit(request.target.removeprefix("/gw"), bare_etag)

        with Proxy(moto.endpoint, script) as proxy:
            s3 = client(moto, proxy.endpoint + "/gw")
            head = s3.head_object(Bucket="bucket", Key="key")
            assert '"' not in head["ETag"] and head["ContentLength"] == len(BODY)
            assert proxy.requests[0].path == "/gw/bucket/key"

    def test_a_forward_proxy_passes_requests_on(self, moto: MotoServer) -> None:
        with ForwardProxy() as proxy:
            s3 = client(moto, proxies={"http": proxy.endpoint})
            assert s3.get_object(Bucket="bucket", Key="key")["Body"].read() == BODY
            assert proxy.requests[0].target == f"{moto.endpoint}/bucket/key"


class TestCredentialServers:
    @pytest.fixture(autouse=True)
    def no_other_source(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in list(os.environ):
            if name.startswith("AWS_"):
                monkeypatch.delenv(name)
        monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")

    def credentials(self, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]) -> Any:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        found = botocore.session.Session().get_credentials()
        assert found is not None
        return found.get_frozen_credentials()

    def test_imds(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with ImdsServer() as server:
            found = self.credentials(monkeypatch, server.environment())
            assert (found.access_key, found.token) == ("AKIDMINTED", "token-1")
            assert [r.method for r in server.requests] == ["PUT", "GET", "GET"]

    def test_container_endpoint(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with EcsServer() as server:
            assert self.credentials(monkeypatch, server.environment()).token == "token-1"

    def test_web_identity(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        token = tmp_path / "token"
        with StsServer() as server:
            token.write_text(server.web_identity_token)
            environment = {
                "AWS_WEB_IDENTITY_TOKEN_FILE": str(token),
                "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/r",
                "AWS_REGION": "us-east-1",
                **server.environment(),
            }
            assert self.credentials(monkeypatch, environment).token == "token-1"

    def test_assume_role(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        config = tmp_path / "config"
        config.write_text(
            "[default]\nregion = us-east-1\nrole_arn = arn:aws:iam::123456789012:role/r\n"
            "source_profile = base\n[profile base]\naws_access_key_id = A\n"
            "aws_secret_access_key = s\n"
        )
        with StsServer(lifetime=900) as server:
            environment = {"AWS_CONFIG_FILE": str(config), **server.environment()}
            assert self.credentials(monkeypatch, environment).token == "token-1"
            assert b"Action=AssumeRole" in server.requests[0].body
