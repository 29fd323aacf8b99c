"""Each row of docs/errors.md is a test of the same name here, and reads the row's own message."""

from __future__ import annotations

import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

import headrace
from cli.harness import Bucket, Cli, make_bucket
from servers import (
    Answer,
    EmbeddedServer,
    MotoServer,
    Proxy,
    Request,
    Response,
    make_certificate,
)
from servers.process import free_ports

pytestmark = pytest.mark.timeout(60)
PAGE = Path(__file__).parents[1] / "docs" / "errors.md"
BODY = os.urandom(1 << 20)
MIB = 1 << 20


@dataclass
class Row:
    """A row of the page: what is promised."""

    name: str
    outcome: str
    message: str
    left: str

    def check(self, text: str) -> None:
        """Asserts that a text holds the row's message."""
        wanted = re.fullmatch("`(.*)`", self.message)
        assert wanted, f"the row {self.name} promises no message"
        pattern = re.escape(wanted[1]).replace("…", ".*")
        assert re.search(pattern, text), f"{text!r} does not say {wanted[1]!r}"

    def check_error(self, error: headrace.Error) -> None:
        """Asserts that an exception is what the row says, and that it is of that class."""
        kind = self.outcome.strip("`")
        assert kind in (type(error).__name__, error.code), (kind, error)
        self.check(str(error))

    @contextmanager
    def raised(self) -> Iterator[pytest.ExceptionInfo[headrace.Error]]:
        """Asserts that the block raises what the row says."""
        with pytest.raises(headrace.Error) as caught:
            yield caught
        self.check_error(caught.value)


def rows() -> dict[str, Row]:
    found = {}
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and cells[0] != "what goes wrong":
            name = re.sub("[^a-z0-9]+", "_", cells[0].lower())
            found[f"test_{name}"] = Row(cells[0], *cells[1:])
    return found


def test_each_row_is_a_test_and_each_test_a_row() -> None:
    tests = {name for name in globals() if name.startswith("test_")}
    tests.remove("test_each_row_is_a_test_and_each_test_a_row")
    assert len(tests) > 20
    assert tests == set(rows())


@pytest.fixture
def row(request: pytest.FixtureRequest) -> Row:
    return rows()[request.node.originalname]


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    with EmbeddedServer() as started:
        yield started


@pytest.fixture
def faults(server: EmbeddedServer) -> Iterator[Callable[..., None]]:
    """Sets the server's fault rules; there are none after the test."""

    def set_rules(*rules: dict[str, Any]) -> None:
        url = f"{server.endpoint}/_headrace/faults"
        data = json.dumps(rules).encode()
        urllib.request.urlopen(urllib.request.Request(url, data, method="POST")).close()

    yield set_rules
    set_rules()


@pytest.fixture
def bucket(server: EmbeddedServer) -> Bucket:
    return make_bucket(server)


@pytest.fixture
def cli(server: EmbeddedServer) -> Cli:
    return Cli(server)


Connect = Callable[..., headrace.Client]


@pytest.fixture
def connect(server: EmbeddedServer) -> Connect:
    """Makes clients of the server with short deadlines; arguments change them."""

    def make(**changes: Any) -> headrace.Client:
        how = {"endpoint_url": server.endpoint, "region": server.region}
        settings: dict[str, Any] = {
            "access_key_id": server.access_key,
            "secret_access_key": server.secret_key,
            "max_attempts": 3,
            "idle_timeout": 0.5,
            "progress_timeout": 5.0,
        }
        for name, value in changes.items():
            (how if name in ("endpoint_url", "region", "profile") else settings)[name] = value
        given = {name: value for name, value in settings.items() if value is not None}
        return headrace.Client(config=headrace.ClientConfig(**given), **how)

    return make


def without_keys(**more: Any) -> dict[str, Any]:
    return {"access_key_id": None, "secret_access_key": None, **more}


def test_the_address_is_malformed(row: Row, connect: Connect, cli: Cli, tmp_path: Path) -> None:
    client = connect(endpoint_url="http://127.0.0.1:9")
    for uri in ("s3:/b/k", "s3:b/k", "http://b/k", "s4://b/k"):
        with row.raised():
            client.get(uri)
        with row.raised():
            client.put(uri, b"x")
    done = cli("cp", "s3:/b/k", tmp_path / "file")
    assert done.code == 2
    assert list(tmp_path.iterdir()) == []


def test_no_such_bucket(row: Row, connect: Connect, cli: Cli, tmp_path: Path) -> None:
    client = connect()
    calls: list[Callable[[], Any]] = [
        lambda: client.get("s3://headrace-none/k"),
        lambda: client.put("s3://headrace-none/k", b"x"),
        lambda: list(client.list("s3://headrace-none/")),
    ]
    for call in calls:
        with row.raised() as caught:
            call()
        assert caught.value.bucket == "headrace-none"
    done = cli("cp", "s3://headrace-none/k", tmp_path / "file")
    assert done.code == 1
    row.check(done.err)
    assert list(tmp_path.iterdir()) == []


def test_no_such_object(
    row: Row, connect: Connect, bucket: Bucket, cli: Cli, tmp_path: Path
) -> None:
    client = connect()
    calls: list[Callable[[], Any]] = [
        lambda: client.get(bucket.uri("k")),
        lambda: client.head(bucket.uri("k")),
        lambda: client.open(bucket.uri("k")),
        lambda: list(client.get_many([bucket.uri("k")])),
    ]
    for call in calls:
        with row.raised() as caught:
            call()
        assert caught.value.key == "k"
    (tmp_path / "file").write_bytes(b"older")
    done = cli("cp", bucket.uri("k"), tmp_path / "file")
    assert done.code == 1
    row.check(done.err)
    assert (tmp_path / "file").read_bytes() == b"older"


def test_no_such_profile(row: Row, connect: Connect, bucket: Bucket, cli: Cli) -> None:
    with row.raised():
        connect(**without_keys(profile="nope")).get(bucket.uri("k"))
    done = cli("ls", bucket.uri(), "--profile", "nope")
    assert done.code == 1
    row.check(done.err)


def test_no_credentials(row: Row, connect: Connect, bucket: Bucket) -> None:
    with row.raised() as caught:
        connect(**without_keys()).get(bucket.uri("k"))
    for source in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "instance metadata", "unsigned"):
        assert source in caught.value.message


def test_the_secret_key_is_wrong(row: Row, connect: Connect, bucket: Bucket, cli: Cli) -> None:
    with row.raised():
        connect(secret_access_key="wrong").get(bucket.uri("k"))
    done = cli("ls", bucket.uri(), environment={"AWS_SECRET_ACCESS_KEY": "wrong"})
    assert done.code == 1
    row.check(done.err)
    assert "wrong" not in done.err.replace("key is wrong", "")


def test_access_is_denied(
    row: Row, connect: Connect, bucket: Bucket, faults: Callable[..., None]
) -> None:
    bucket.put("k", b"older")
    faults({"do": "status", "status": 403, "code": "AccessDenied"})
    client = connect()
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("read", lambda: client.get(bucket.uri("k"))),
        ("read", lambda: client.head(bucket.uri("k"))),  # an answer without a body
        ("write", lambda: client.put(bucket.uri("k"), b"x")),
        ("list", lambda: list(client.list(bucket.uri()))),
    ]
    for action, call in calls:
        with row.raised() as caught:
            call()
        assert f"may {action} it" in caught.value.message
        assert caught.value.attempts == 1
    faults()
    assert bucket.get("k") == b"older"


def test_the_region_is_wrong(row: Row) -> None:
    assert row.outcome == "success"
    with EmbeddedServer(["--region", "eu-west-1"]) as elsewhere:
        elsewhere.region = "eu-west-1"
        bucket = make_bucket(elsewhere)
        bucket.put("k", BODY)
        config = headrace.ClientConfig(
            access_key_id=elsewhere.access_key, secret_access_key=elsewhere.secret_key
        )
        client = headrace.Client(endpoint_url=elsewhere.endpoint, region="us-west-2", config=config)
        # All find out at the same time.
        assert all(bytes(data) == BODY for data in client.get_many([bucket.uri("k")] * 40))
        client.put(bucket.uri("new"), BODY)
        assert bucket.get("new") == BODY
        done = Cli(elsewhere)("cat", bucket.uri("k"), "--region", "us-west-2")
        assert (done.code, done.out) == (0, BODY)


def test_the_endpoint_is_malformed(row: Row, connect: Connect, bucket: Bucket, cli: Cli) -> None:
    with row.raised():
        connect(endpoint_url="localhost:9000").get(bucket.uri("k"))
    done = cli("ls", bucket.uri(), "--endpoint-url", "localhost")
    assert done.code == 2
    row.check(done.err)


def test_the_endpoint_s_name_is_unknown(row: Row, connect: Connect, bucket: Bucket) -> None:
    with row.raised():
        connect(endpoint_url="http://no-such-host.invalid").get(bucket.uri("k"))


def test_the_endpoint_is_not_an_s3_server(row: Row, connect: Connect, bucket: Bucket) -> None:
    class HomePage(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "6")
            self.end_headers()
            self.wfile.write(b"<html>")

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), HomePage) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        with row.raised():
            list(connect(endpoint_url=f"http://127.0.0.1:{other.server_port}").list(bucket.uri()))
        other.shutdown()


def test_the_certificate_is_not_trusted(
    row: Row, connect: Connect, cli: Cli, tmp_path: Path
) -> None:
    certificate = make_certificate(tmp_path)
    with EmbeddedServer(certificate.arguments) as server:
        client = connect(endpoint_url=server.endpoint)
        for call in (client.get, client.head, client.open):
            with row.raised() as caught:
                call("s3://bucket/k")
            assert caught.value.attempts == 1  # asking again would not help
        with row.raised():
            client.put("s3://bucket/k", BODY)
        done = cli(
            *("cp", "s3://bucket/k", tmp_path / "file"),
            environment={"AWS_ENDPOINT_URL": server.endpoint},
        )
        assert done.code == 1
        row.check(done.err)
        assert not (tmp_path / "file").exists()


def test_the_endpoint_is_down(row: Row, connect: Connect, bucket: Bucket, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    client = connect(endpoint_url=f"http://127.0.0.1:{port}")
    began = time.monotonic()
    with row.raised() as caught:
        client.get(bucket.uri("k"))
    assert caught.value.attempts == 3
    assert time.monotonic() - began < 5
    with row.raised():
        client.put(bucket.uri("k"), b"x")


def test_the_proxy_is_down(
    row: Row,
    connect: Connect,
    bucket: Bucket,
    cli: Cli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (port,) = free_ports(1)
    monkeypatch.setenv("http_proxy", f"http://user:hidden@127.0.0.1:{port}")
    with row.raised() as caught:
        connect().put(bucket.uri("k"), BODY)
    done = cli("cp", bucket.uri("k"), tmp_path / "file", "--max-attempts", "2")
    assert done.code == 1
    row.check(done.err)
    for text in (str(caught.value), done.err):
        assert f"127.0.0.1:{port}" in text
        assert "hidden" not in text
    assert bucket.all() == {}


def test_the_answer_to_a_begun_upload_is_lost(
    row: Row, connect: Connect, bucket: Bucket, faults: Callable[..., None]
) -> None:
    assert row.outcome == "success"
    faults({"operation": "CreateMultipartUpload", "do": "close", "execute": True, "times": 1})
    connect().put(bucket.uri("k"), BODY * 20)
    assert bucket.get("k") == BODY * 20
    assert len(bucket.uploads()) == 1


def test_the_endpoint_comes_back(row: Row, connect: Connect, cli: Cli, tmp_path: Path) -> None:
    assert row.outcome == "success"
    (port,) = free_ports(1)
    serve = ("serve", tmp_path / "data", "--port", str(port))
    keys = ("--access-key", cli.server.access_key, "--secret-key", cli.server.secret_key)
    client = connect(
        endpoint_url=f"http://127.0.0.1:{port}", max_attempts=100, progress_timeout=40.0
    )
    done: list[str] = []

    def create() -> None:
        client.create_bucket("back-again")
        done.append("created")

    thread = threading.Thread(target=create)
    thread.start()
    while client.metrics().get('headrace_retries_total{class="transient"}', 0) < 2:
        assert thread.is_alive()
        time.sleep(0.01)
    with cli.start(*serve, *keys, stdout=subprocess.PIPE) as process:
        try:
            thread.join(40)
            assert done == ["created"]
            client.put("s3://back-again/k", BODY)
            assert bytes(client.get("s3://back-again/k")) == BODY
        finally:
            process.terminate()


@contextmanager
def skewed(offset: timedelta, tolerance: timedelta) -> Iterator[tuple[MotoServer, Proxy]]:
    """A server whose clock is off by `offset`, and that refuses what differs by more."""
    with MotoServer() as moto:  # checks no signature, so that any time will do behind the proxy

        def script(request: Request) -> Answer | None:
            now = datetime.now(timezone.utc) + offset
            text = request.headers.get("x-amz-date", "19700101T000000Z")
            signed = datetime.strptime(text, "%Y%m%dT%H%M%SZ").replace(tzinfo=timezone.utc)
            if abs(now - signed) < tolerance:
                return None
            body = b"<Error><Code>RequestTimeTooSkewed</Code><Message>too far</Message></Error>"
            return Answer(Response(403, {"Date": format_datetime(now, usegmt=True)}, body))

        with Proxy(moto.endpoint, script) as proxy:
            yield moto, proxy


def test_the_clock_is_wrong(row: Row, connect: Connect) -> None:
    assert row.outcome == "success"
    with skewed(timedelta(hours=1), timedelta(minutes=15)) as (moto, proxy):
        bucket = make_bucket(moto)
        bucket.put("k", BODY)
        client = connect(endpoint_url=proxy.endpoint)
        assert bytes(client.get(bucket.uri("k"))) == BODY
        assert len(proxy.requests) == 2
        client.put(bucket.uri("new"), BODY)
        assert len(proxy.requests) == 3  # the correction is remembered
        assert bucket.get("new") == BODY


def test_the_clock_cannot_be_corrected(row: Row, connect: Connect) -> None:
    with skewed(timedelta(hours=1), timedelta()) as (_, proxy):
        with row.raised() as caught:
            connect(endpoint_url=proxy.endpoint).get("s3://bucket/k")
        assert caught.value.attempts <= 3


TOKENS = """
import json, pathlib, sys
calls = pathlib.Path(sys.argv[1])
count = len(calls.read_text()) + 1 if calls.exists() else 1
calls.write_text("." * count)
token = f"token-{count if sys.argv[4] == 'renewing' else 1}"
keys = {"AccessKeyId": sys.argv[2], "SecretAccessKey": sys.argv[3], "SessionToken": token}
print(json.dumps({"Version": 1, **keys}))
"""


@contextmanager
def expiring(
    server: EmbeddedServer, folder: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> Iterator[Proxy]:
    """A profile `p`, and a proxy that takes the first token for three requests only."""
    (folder / "tokens.py").write_text(TOKENS)
    words = [sys.executable, folder / "tokens.py", folder / "calls"]
    words += [server.access_key, server.secret_key, source]
    command = " ".join(f'"{word}"' for word in words)
    (folder / "config").write_text(f"[profile p]\ncredential_process = {command}\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(folder / "config"))
    count = 0

    def script(request: Request) -> Answer | None:
        nonlocal count
        count += 1
        if count <= 3 or request.headers["x-amz-security-token"] != "token-1":
            return None
        return Answer(Response(400, body=b"<Error><Code>ExpiredToken</Code></Error>"))

    with Proxy(server.endpoint, script) as proxy:
        yield proxy


def test_the_token_expires_midway(
    row: Row,
    server: EmbeddedServer,
    connect: Connect,
    bucket: Bucket,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert row.outcome == "success"
    with expiring(server, tmp_path, monkeypatch, "renewing") as proxy:
        client = connect(
            **without_keys(profile="p", endpoint_url=proxy.endpoint, part_size=5 * MIB)
        )
        with client.open(bucket.uri("k"), "wb") as file:
            for _ in range(30):
                file.write(BODY)
    assert bucket.get("k") == BODY * 30
    assert (tmp_path / "calls").read_text() == ".."


def test_the_token_cannot_be_renewed(
    row: Row,
    server: EmbeddedServer,
    connect: Connect,
    bucket: Bucket,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with expiring(server, tmp_path, monkeypatch, "stale") as proxy:
        client = connect(**without_keys(profile="p", endpoint_url=proxy.endpoint))
        client.put(bucket.uri("k"), BODY)
        with row.raised() as caught:
            for _ in range(5):
                client.get(bucket.uri("k"))
        assert (caught.value.bucket, caught.value.key) == (bucket.name, "k")
        assert caught.value.elapsed < 3


def test_the_service_throttles_for_too_long(
    row: Row, connect: Connect, bucket: Bucket, faults: Callable[..., None]
) -> None:
    faults({"do": "status", "status": 503, "code": "SlowDown"})
    with row.raised() as caught:
        connect().put(bucket.uri("k"), b"x")
    assert caught.value.attempts == 3
    faults()
    assert bucket.all() == {}


def test_the_server_falls_silent(
    row: Row, connect: Connect, bucket: Bucket, faults: Callable[..., None]
) -> None:
    bucket.put("k", BODY)
    for at in ({}, {"at": 1000}):
        faults({"do": "stall", "ms": 60_000, **at})
        began = time.monotonic()
        with row.raised():
            connect(progress_timeout=2.0).get(bucket.uri("k"))
        assert time.monotonic() - began < 5


def test_the_object_is_archived(row: Row, connect: Connect, bucket: Bucket) -> None:
    bucket.put("it's", b"x", StorageClass="GLACIER")
    with row.raised() as caught:
        connect().get(bucket.uri("it's"))
    assert caught.value.code == "Archived"
    assert "--key 'it'\\''s'" in caught.value.message


def test_the_object_is_there_already(row: Row, connect: Connect, bucket: Bucket) -> None:
    bucket.put("k", b"older")
    client = connect()
    with row.raised():
        client.put(bucket.uri("k"), b"x", if_none_match=True)
    with row.raised(), client.open(bucket.uri("k"), "xb") as file:
        file.write(b"x")
    assert bucket.get("k") == b"older"


def test_the_file_is_there_already(row: Row, bucket: Bucket, cli: Cli, tmp_path: Path) -> None:
    bucket.put("k", BODY)
    (tmp_path / "k").write_bytes(b"older")
    done = cli("cp", "--no-overwrite", bucket.uri("k"), tmp_path)
    assert done.code == 1
    row.check(done.err)
    assert "AlreadyExists" in done.err
    assert (tmp_path / "k").read_bytes() == b"older"
    assert list(tmp_path.iterdir()) == [tmp_path / "k"]


def test_the_object_is_replaced_while_it_is_read(
    row: Row, connect: Connect, bucket: Bucket
) -> None:
    bucket.put("k", BODY * 4)
    client = connect(part_size=64 * 1024, memory_limit=16 * MIB)
    file = client.open(bucket.uri("k"))
    assert file.read(MIB) == BODY
    bucket.put("k", BODY[::-1] * 4)
    with row.raised():
        file.read()
    etag = client.head(bucket.uri("k")).etag
    bucket.put("k", BODY)
    with row.raised():
        client.get(bucket.uri("k"), if_match=etag)


def damage(times: int = 1_000) -> dict[str, Any]:
    return {"operation": "GetObject", "do": "corrupt", "at": 5, "times": times}


def test_a_page_comes_in_place_of_the_object(
    row: Row,
    connect: Connect,
    cli: Cli,
    bucket: Bucket,
    faults: Callable[..., None],
    tmp_path: Path,
) -> None:
    client = connect()
    bucket.put("k", b"small")
    listed = client.head(bucket.uri("k"))
    page = {"body": "<html>log in</html>"}
    for status in (200, 204):
        faults({"operation": "GetObject", "do": "status", "status": status, **page})
        row.message = row.message.replace("200", str(status))
        calls: list[Callable[[], Any]] = [
            lambda: client.get(bucket.uri("k")),
            lambda: client.get(bucket.uri("k"), range=(0, 2)),
            lambda: client.get(bucket.uri("k"), verify=True),
            lambda: client.get(bucket.uri("k"), if_match=listed.etag),
            lambda: list(client.get_many([listed])),
            lambda: client.open(bucket.uri("k")).read(),
        ]
        for call in calls:
            with row.raised() as caught:
                call()
            assert caught.value.attempts == 3
        done = cli("cp", bucket.uri("k"), tmp_path / "file", "--max-attempts", "2")
        assert done.code == 1
        row.check(done.err)
    assert list(tmp_path.iterdir()) == []
    faults({"operation": "GetObject", "do": "status", "status": 200, "times": 2, **page})
    assert bytes(client.get(bucket.uri("k"))) == b"small"


def test_a_page_comes_in_place_of_an_answer(
    row: Row, connect: Connect, bucket: Bucket, faults: Callable[..., None]
) -> None:
    client = connect()
    bucket.put("k", b"older")
    page = {"do": "status", "status": 200, "body": "<html>log in</html>"}
    calls: list[Callable[[], Any]] = [
        lambda: client.put(bucket.uri("k"), b"newer"),
        lambda: client.put(bucket.uri("large"), BODY * 20),
        lambda: client.head(bucket.uri("k")),
        lambda: client.delete(bucket.uri("k")),
        lambda: client.copy(bucket.uri("k"), bucket.uri("copy")),
        lambda: list(client.list(bucket.uri())),
        lambda: client.create_bucket("another-bucket"),
    ]
    faults(page)
    for call in calls:
        with row.raised() as caught:
            call()
        assert caught.value.attempts == 3
    faults({**page, "operation": "UploadPart"})
    with row.raised():
        client.put(bucket.uri("large"), BODY * 20)
    faults()
    assert bucket.all() == {"k": b"older"}
    assert bucket.uploads() == []
    faults({**page, "times": 2})
    client.put(bucket.uri("k"), b"newer")
    assert bucket.get("k") == b"newer"
    # An answer that was cut short within its document.
    faults({"operation": "CreateMultipartUpload", "do": "wrong-length", "delta": -5, "times": 1})
    client.put(bucket.uri("large"), BODY * 20)


def test_the_body_breaks_off_again_and_again(
    row: Row, connect: Connect, bucket: Bucket, faults: Callable[..., None]
) -> None:
    bucket.put("k", BODY)
    faults({"operation": "GetObject", "do": "truncate", "at": 2})
    with row.raised() as caught:
        connect().get(bucket.uri("k"))
    assert caught.value.attempts == 3
    # Each brings a good deal: as many attempts as it takes.
    faults({"operation": "GetObject", "do": "truncate", "at": 100_000})
    assert bytes(connect().get(bucket.uri("k"))) == BODY


def test_bytes_are_damaged_on_the_way(
    row: Row, connect: Connect, bucket: Bucket, faults: Callable[..., None]
) -> None:
    assert row.outcome == "success"
    bucket.put("k", BODY[:100_000])  # by boto3, with the checksum that it chooses
    faults(damage(times=2))
    assert bytes(connect().get(bucket.uri("k"))) == BODY[:100_000]
    connect().put(bucket.uri("large"), BODY * 20)
    faults(damage(times=1))
    assert bytes(connect().get(bucket.uri("large"), verify=True)) == BODY * 20
    faults(damage(times=1))
    assert bytes(connect().get(bucket.uri("large"))) != BODY * 20


def test_bytes_are_damaged_every_time(
    row: Row,
    connect: Connect,
    cli: Cli,
    bucket: Bucket,
    faults: Callable[..., None],
    tmp_path: Path,
) -> None:
    client = connect()
    bucket.put("small", BODY[:100_000])
    client.put(bucket.uri("large"), BODY * 20)
    for key in ("small", "large"):
        assert len(client.get(bucket.uri(key), verify=True)) >= 100_000
    faults(damage())
    for key in ("small", "large"):
        with row.raised():
            client.get(bucket.uri(key), verify=True)
        done = cli("cp", "--verify", bucket.uri(key), tmp_path / key)
        assert done.code == 1
        row.check(done.err)
    assert not list(tmp_path.iterdir())


def test_the_answer_to_an_upload_s_end_is_lost(
    row: Row, connect: Connect, bucket: Bucket, faults: Callable[..., None]
) -> None:
    assert row.outcome == "success"
    client = connect()
    faults({"operation": "CompleteMultipartUpload", "do": "close", "execute": True})
    client.put(bucket.uri("k"), BODY * 20)
    faults()
    assert bucket.get("k") == BODY * 20


def test_an_upload_s_end_never_arrives(
    row: Row, connect: Connect, bucket: Bucket, faults: Callable[..., None]
) -> None:
    client = connect()
    client.put(bucket.uri("k"), BODY * 20)
    faults({"operation": "CompleteMultipartUpload", "do": "close"})
    with row.raised():
        client.put(bucket.uri("k"), BODY[::-1] * 20)
    faults()
    assert bucket.get("k") == BODY * 20
    assert not bucket.uploads()


def test_the_answer_to_a_create_only_write_is_lost(
    row: Row, connect: Connect, bucket: Bucket, cli: Cli, faults: Callable[..., None]
) -> None:
    assert row.outcome == "success"
    for operation, body in (("PutObject", BODY), ("CompleteMultipartUpload", BODY * 20)):
        for kept_connection in (False, True):
            client = connect()
            key = f"{operation}-{kept_connection}"
            if kept_connection:
                client.put(bucket.uri("other"), body)
            faults({"operation": operation, "do": "close", "execute": True, "times": 1})
            client.put(bucket.uri(key), body, if_none_match=True)
            assert bucket.get(key) == body
            with pytest.raises(headrace.Error) as caught:
                client.put(bucket.uri(key), body[::-1], if_none_match=True)
            assert caught.value.code == "AlreadyExists"
    faults({"operation": "CopyObject", "do": "close", "execute": True, "times": 1})
    bucket.put("source", BODY)
    assert cli("cp", "--no-overwrite", bucket.uri("source"), bucket.uri("copy")).code == 0
    assert bucket.get("copy") == BODY
    assert cli("cp", "--no-overwrite", bucket.uri("other"), bucket.uri("copy")).code == 1


def test_there_is_no_checksum_to_verify(
    row: Row, connect: Connect, bucket: Bucket, tmp_path: Path
) -> None:
    (tmp_path / "k").write_bytes(BODY)
    with row.raised():
        connect().get(str(tmp_path / "k"), verify=True)
    with pytest.raises(headrace.InvalidArgument, match="leave out the range or verify"):
        connect().get(bucket.uri("k"), range=(0, 5), verify=True)


def test_the_object_is_empty(
    row: Row, connect: Connect, bucket: Bucket, cli: Cli, tmp_path: Path
) -> None:
    assert row.outcome == "success"
    bucket.put("k", b"")
    client = connect()
    assert bytes(client.get(bucket.uri("k"))) == b""
    assert client.open(bucket.uri("k")).read() == b""
    client.put(bucket.uri("new"), b"")
    assert bucket.get("new") == b""
    assert cli("cp", bucket.uri("k"), tmp_path / "file").code == 0
    assert (tmp_path / "file").read_bytes() == b""


def test_the_budget_is_smaller_than_the_parts(row: Row, connect: Connect) -> None:
    with row.raised():
        connect(memory_limit=MIB, part_size=MIB)
    # The cure that it names is one.
    connect(memory_limit=8 * MIB, part_size=MIB)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(folder)]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system needs root and CAP_SYS_ADMIN")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_the_disk_is_full(
    row: Row, connect: Connect, bucket: Bucket, cli: Cli, small_disk: Path
) -> None:
    bucket.put("k", BODY)
    (small_disk / "file").write_bytes(b"older")
    done = cli("cp", bucket.uri("k"), small_disk / "file")
    assert done.code == 1
    row.check(done.err)
    assert "NoSpace" in done.err
    with row.raised():
        connect().put(str(small_disk / "file"), BODY)
    assert [path.name for path in small_disk.iterdir()] == ["file"]
    assert (small_disk / "file").read_bytes() == b"older"


def test_the_target_is_read_only(row: Row, bucket: Bucket, cli: Cli) -> None:
    bucket.put("k", BODY)
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as programs:
        Path(folder).chmod(0o555)
        # Root may write anywhere; another user may not reach the program in root's checkout.
        who: dict[str, Any] = {"user": 65534, "group": 65534} if os.getuid() == 0 else {}
        Path(programs).chmod(0o755)
        program = shutil.copy(EmbeddedServer.binary(), programs)
        with subprocess.Popen(
            [program, "cp", bucket.uri("k"), f"{folder}/file"],
            env=cli.environment,
            stderr=subprocess.PIPE,
            **who,
        ) as process:
            _, error = process.communicate(timeout=30)
        assert process.returncode == 1
        row.check(error.decode())
        assert "AccessDenied" in error.decode()
        assert list(Path(folder).iterdir()) == []


def test_a_folder_stands_where_a_file_should(
    row: Row, bucket: Bucket, cli: Cli, tmp_path: Path
) -> None:
    bucket.put("p/k", BODY)
    bucket.put("p/other", BODY)
    (tmp_path / "k").mkdir()
    (tmp_path / "k" / "inside").write_bytes(b"x")
    for source in (["--recursive", bucket.uri("p/")], [bucket.uri("p/k")]):
        done = cli("cp", *source, f"{tmp_path}/")
        assert done.code == 1
        row.check(done.err)
        assert "AlreadyExists" in done.err
    assert (tmp_path / "other").read_bytes() == BODY
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["inside", "k", "other"]


def test_a_file_stands_where_a_folder_should(
    row: Row, bucket: Bucket, cli: Cli, tmp_path: Path
) -> None:
    bucket.put("k", BODY)
    (tmp_path / "file").write_bytes(b"older")
    done = cli("cp", bucket.uri("k"), tmp_path / "file" / "k")
    assert done.code == 1
    row.check(done.err)
    assert (tmp_path / "file").read_bytes() == b"older"


def test_the_port_is_taken(row: Row, server: EmbeddedServer, cli: Cli, tmp_path: Path) -> None:
    port = server.endpoint.rpartition(":")[2]
    done = cli("serve", tmp_path / "data", "--port", port)
    assert done.code == 1
    row.check(done.err)
    assert make_bucket(server).all() == {}
