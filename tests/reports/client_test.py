"""Reports about S3 clients (REPORTS.md, client)."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import headrace
from cli.harness import Bucket, Cli, make_bucket
from servers import (
    Answer,
    Close,
    Edit,
    Proxy,
    Request,
    Response,
    S3Server,
    once,
)

from .support import (
    LIMIT,
    MIB,
    client_of,
    config_of,
    held,
    is_get,
    is_listing,
    random_bytes,
    signature_holds,
)

pytestmark = pytest.mark.timeout(LIMIT)
BODY = random_bytes(8 * MIB)


class TestClient1EndpointsWithSlashesAndPaths:
    """arrow-rs#6641: `//bucket` paths, and a Host or path that is not the signed one."""

    @pytest.mark.parametrize("end", ["/", "//"])
    def test_slashes_at_the_end_make_no_difference(
        self, any_server: S3Server, any_bucket: Bucket, end: str
    ) -> None:
        any_bucket.put("by-boto3", b"some bytes")
        with Proxy(any_server.endpoint) as proxy:
            client = client_of(any_server, proxy.endpoint + end)
            assert [info.key for info in client.list(any_bucket.uri())] == ["by-boto3"]
            client.put(any_bucket.uri("d/ours"), b"other bytes")
            assert bytes(client.get(any_bucket.uri("by-boto3"))) == b"some bytes"
            client.head(any_bucket.uri("d/ours"))
            assert proxy.requests
            for request in proxy.requests:
                assert re.match(rf"/{any_bucket.name}(/?\?|/[a-z])", request.target), request.target
                assert request.host == f"127.0.0.1:{proxy.port}"
                assert signature_holds(request, any_server)
        assert any_bucket.get("d/ours") == b"other bytes"

    @pytest.mark.parametrize("end", ["", "/", "//"])
    def test_a_path_is_sent_and_signed(self, running: Callable[[str], S3Server], end: str) -> None:
        moto = running("moto")  # checks no signature, so that P can take the path off
        bucket = make_bucket(moto)
        bucket.put("by-boto3", b"some bytes")

        def only_below_gw(request: Request) -> Answer | Edit:
            if not request.target.startswith("/gw/"):
                return Answer(Response(404, body=b"not here"))
            return Edit(target=request.target.removeprefix("/gw"))

        with Proxy(moto.endpoint, only_below_gw) as proxy:
            client = client_of(moto, f"{proxy.endpoint}/gw{end}")
            client.put(bucket.uri("odd key+%/a"), b"other bytes")
            assert bytes(client.get(bucket.uri("by-boto3"))) == b"some bytes"
            assert len(list(client.list(bucket.uri()))) == 2
            client.delete([bucket.uri("by-boto3")])
            assert [r.host for r in proxy.requests] == [f"127.0.0.1:{proxy.port}"] * 4
            assert all(signature_holds(request, moto) for request in proxy.requests)
        assert bucket.all() == {"odd key+%/a": b"other bytes"}

    def test_the_command_line_takes_them_from_the_environment(
        self, server: S3Server, bucket: Bucket
    ) -> None:
        bucket.put("k", b"some bytes")
        done = Cli(server)(
            "cat", bucket.uri("k"), environment={"AWS_ENDPOINT_URL": server.endpoint + "//"}
        )
        assert (done.code, done.out) == (0, b"some bytes")


def read_by_get(client: headrace.Client, uri: str) -> bytes:
    return bytes(client.get(uri))


def read_by_range(client: headrace.Client, uri: str) -> bytes:
    return BODY[:MIB] + bytes(client.get(uri, range=(MIB, None)))


def read_by_closed_range(client: headrace.Client, uri: str) -> bytes:
    return BODY[:MIB] + bytes(client.get(uri, range=(MIB, len(BODY))))


def read_by_get_many(client: headrace.Client, uri: str) -> bytes:
    (data,) = client.get_many([uri])
    return bytes(data)


def read_as_file(client: headrace.Client, uri: str) -> bytes:
    with client.open(uri) as file:
        return file.read()


READS = [read_by_get, read_by_range, read_by_closed_range, read_by_get_many, read_as_file]
Read = Callable[[headrace.Client, str], bytes]


def first_byte_of(request: Request) -> int:
    found = re.fullmatch(r"bytes=(\d+)-(\d*)", request.headers.get("range", "bytes=0-"))
    assert found, request.headers
    return int(found[1])


class TestClient2BodiesThatBreakOff:
    """object_store#53: the connection drops in mid-body, and the whole read fails."""

    @pytest.mark.parametrize("read", READS)
    @pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
    def test_only_the_rest_is_asked_for(
        self, server: S3Server, bucket: Bucket, read: Read, reset: bool
    ) -> None:
        bucket.put("k", BODY)
        broken: list[Request] = []

        def break_off(request: Request) -> Close | None:
            if not is_get(request):
                return None
            broken.append(request)
            return Close(after=100_000 if read is read_as_file else 3 * MIB, reset=reset)

        with Proxy(server.endpoint, once(break_off)) as proxy:
            client = client_of(server, proxy.endpoint)
            assert read(client, bucket.uri("k")) == BODY
            gets = [request for request in proxy.requests if is_get(request)]
            (first,) = broken
            rest = [r for r in gets if first_byte_of(r) > first_byte_of(first)]
            resumed = min(rest, key=first_byte_of)
            reached = first_byte_of(first) + (100_000 if read is read_as_file else 3 * MIB)
            # A reset may swallow bytes that were on their way; a close may not.
            assert first_byte_of(resumed) == reached or (reset and len(gets) > 1)
            assert resumed.headers["if-match"].startswith('"') or reset
            assert held(client) == {}

    @pytest.mark.parametrize("read", READS[:4])
    def test_one_byte_before_the_end(self, server: S3Server, bucket: Bucket, read: Read) -> None:
        bucket.put("k", BODY)

        def break_off(request: Request) -> Close | None:
            missing = len(BODY) - first_byte_of(request) - 1
            return Close(after=missing) if is_get(request) else None

        with Proxy(server.endpoint, once(break_off)) as proxy:
            assert read(client_of(server, proxy.endpoint), bucket.uri("k")) == BODY
            *_, last = proxy.requests
            assert first_byte_of(last) == len(BODY) - 1
            assert re.fullmatch('"[0-9a-f]{32}"', last.headers["if-match"])

    def test_again_and_again(self, server: S3Server, bucket: Bucket) -> None:
        bucket.put("k", BODY)
        with Proxy(server.endpoint, lambda r: Close(after=700_000) if is_get(r) else None) as proxy:
            client = client_of(server, proxy.endpoint, max_attempts=3)
            assert bytes(client.get(bucket.uri("k"))) == BODY  # each attempt made progress
            starts = [first_byte_of(r) for r in proxy.requests if is_get(r)]
            assert starts == list(range(0, len(BODY), 700_000))

    @pytest.mark.parametrize("read", READS)
    @pytest.mark.parametrize("size", [0, 1 * MIB, len(BODY), len(BODY) + 1])
    def test_replaced_before_the_resume(
        self, server: S3Server, bucket: Bucket, read: Read, size: int
    ) -> None:
        bucket.put("k", BODY)
        other = random_bytes(size, seed=2)
        lock = threading.Lock()
        gets: list[Request] = []

        def replace_before_the_second(request: Request) -> Close | None:
            if not is_get(request):
                return None
            with lock:
                gets.append(request)
                if len(gets) == 2:
                    bucket.put("k", other)
            return Close(after=100_000) if len(gets) == 1 else None

        with Proxy(server.endpoint, replace_before_the_second) as proxy:
            client = client_of(server, proxy.endpoint)
            with pytest.raises(headrace.ObjectChanged, match="was replaced") as caught:
                read(client, bucket.uri("k"))
            assert caught.value.key == "k" or "k was replaced" in str(caught.value)
            assert held(client) == {}
        assert bytes(client_of(server).get(bucket.uri("k"))) == other

    @pytest.mark.parametrize("size", [0, 4 * MIB, len(BODY) + 1])
    def test_replaced_between_the_parts_of_a_range(
        self, server: S3Server, bucket: Bucket, size: int
    ) -> None:
        """All parts are asked for at once, before any answer has named the version."""
        bucket.put("k", BODY)
        count = 0

        def replace_before_the_fifth(request: Request) -> None:
            nonlocal count
            count += is_get(request)
            if count == 5 and is_get(request):
                bucket.put("k", random_bytes(size, seed=2))

        with Proxy(server.endpoint, replace_before_the_fifth) as proxy:
            client = client_of(server, proxy.endpoint, part_size=MIB, max_in_flight=1)
            with pytest.raises(headrace.ObjectChanged, match="was replaced"):
                client.get(bucket.uri("k"), range=(0, len(BODY)))

    def test_deleted_before_the_resume(self, server: S3Server, bucket: Bucket) -> None:
        bucket.put("k", BODY)

        def delete(request: Request) -> Close | None:
            if not is_get(request):
                return None
            if "range" in request.headers:
                bucket.s3.delete_object(Bucket=bucket.name, Key="k")
                return None
            return Close(after=3 * MIB)

        with Proxy(server.endpoint, delete) as proxy, pytest.raises(headrace.Error) as caught:
            client_of(server, proxy.endpoint).get(bucket.uri("k"))
        assert isinstance(caught.value, (headrace.NotFound, headrace.ObjectChanged))

    def test_the_command_line(self, server: S3Server, bucket: Bucket, tmp_path: Path) -> None:
        bucket.put("k", BODY)
        for target in (tmp_path / "file", "-"):
            script = once(lambda r: Close(after=100_000) if is_get(r) else None)
            with Proxy(server.endpoint, script) as proxy:
                through = {"AWS_ENDPOINT_URL": proxy.endpoint}
                done = Cli(server)("cp", bucket.uri("k"), target, environment=through)
                assert done.code == 0, done.err
                assert (done.out if target == "-" else (tmp_path / "file").read_bytes()) == BODY


def etags_without_quotes(response: Response) -> Response:
    response.body = re.sub(rb"<ETag>(?:&quot;|&#34;|\")", b"<ETag>", response.body)
    response.body = re.sub(rb"(?:&quot;|&#34;|\")</ETag>", b"</ETag>", response.body)
    return response


class TestClient5EtagsInQuotes:
    """minio-go#687: an ETag goes out bare in If-Match, or comes without quotes in a listing."""

    @staticmethod
    def fill(bucket: Bucket) -> str:
        """Uploads BODY in two parts, which gives an ETag that ends in -2; returns it bare."""
        where = {"Bucket": bucket.name, "Key": "k"}
        upload = bucket.s3.create_multipart_upload(**where)["UploadId"]
        parts = []
        for number, body in enumerate((BODY[: 5 * MIB], BODY[5 * MIB :]), 1):
            answer = bucket.s3.upload_part(**where, UploadId=upload, PartNumber=number, Body=body)
            parts.append({"PartNumber": number, "ETag": answer["ETag"]})
        done = bucket.s3.complete_multipart_upload(
            **where, UploadId=upload, MultipartUpload={"Parts": parts}
        )
        etag = str(done["ETag"])
        assert re.fullmatch('"[0-9a-f]{32}-2"', etag)
        return etag.strip('"')

    @staticmethod
    def strict(
        refused: Callable[[str], bool], seen: list[str]
    ) -> Callable[[Request], Answer | Edit | None]:
        """P: lists ETags without quotes, and answers 412 to the If-Match that `refused` names."""

        def script(request: Request) -> Answer | Edit | None:
            if is_listing(request):
                return Edit(response=etags_without_quotes)
            match = request.headers.get("if-match", "")
            if match:
                seen.append(match)
            if match and refused(match):
                body = b"<Error><Code>PreconditionFailed</Code><Message>no</Message></Error>"
                return Answer(Response(412, body=body))
            return None

        return script

    @pytest.mark.parametrize("listed_first", [False, True])
    @pytest.mark.parametrize("refuses", ["bare", "quoted"])
    @pytest.mark.parametrize("how", ["get", "file", "dataset"])
    def test_both_forms_are_one_version(
        self, server: S3Server, bucket: Bucket, refuses: str, listed_first: bool, how: str
    ) -> None:
        etag = self.fill(bucket)
        seen: list[str] = []

        def refused(match: str) -> bool:
            return match.startswith('"') == (refuses == "quoted")

        with Proxy(server.endpoint, self.strict(refused, seen)) as proxy:
            settings = {"part_size": MIB, "max_in_flight": 4}
            client = client_of(server, proxy.endpoint, **settings)
            if_match = None
            if listed_first:
                (info,) = client.list(bucket.uri())
                assert info.etag == etag == client.head(bucket.uri("k")).etag
                if_match = info.etag
            if how == "get":
                data = client.get(bucket.uri("k"), if_match=if_match)
                assert data.etag == etag
                assert bytes(data) == BODY
            elif how == "file":
                with client.open(bucket.uri("k")) as file:
                    assert file.read() == BODY
            else:
                torch = pytest.importorskip("headrace.torch", reason="no torch")
                choose = {
                    "endpoint": proxy.endpoint,
                    "region": server.region,
                    "s3client_config": config_of(server, **settings),
                }
                dataset = (
                    torch.S3MapDataset.from_prefix(bucket.uri(), **choose)
                    if listed_first
                    else torch.S3MapDataset.from_objects([bucket.uri("k")], **choose)
                )
                assert dataset[0].read() == BODY
            assert seen
            if refuses == "bare":
                assert set(seen) == {f'"{etag}"'}

    @pytest.mark.parametrize("size", [0, MIB, len(BODY), len(BODY) + 1])
    @pytest.mark.parametrize("read", [read_by_get, read_as_file])
    def test_a_change_shows_where_if_match_is_refused(
        self, server: S3Server, bucket: Bucket, read: Read, size: int
    ) -> None:
        """The ETag of each answer is looked at instead, so versions do not mix."""
        self.fill(bucket)
        passed = 0

        def script(request: Request) -> Answer | None:
            nonlocal passed
            if not is_get(request):
                return None
            if "if-match" in request.headers:
                return Answer(Response(412))
            passed += 1
            if passed == 4:
                bucket.put("k", random_bytes(size, seed=2))
            return None

        with Proxy(server.endpoint, script) as proxy:
            client = client_of(server, proxy.endpoint, part_size=MIB, max_in_flight=1)
            with pytest.raises(headrace.ObjectChanged, match="was replaced"):
                read(client, bucket.uri("k"))
            assert passed >= 4
            assert held(client) == {}


class TestClient8PartsOfOneSize:
    """opendal#2904: R2 refuses an upload whose parts, the last aside, differ in size.

    The uniform mode for streams beyond a thousand parts follows; up to there parts are uniform.
    """

    @pytest.mark.parametrize("how", ["file", "stream"])
    def test_an_upload_of_300_mib(
        self, server: S3Server, bucket: Bucket, tmp_path: Path, how: str
    ) -> None:
        size = 300 * MIB + 12_345
        source = tmp_path / "source"
        block = random_bytes(4 * MIB)
        with source.open("wb") as target:
            for start in range(0, size, len(block)):
                target.write(block[: size - start])
        sizes: dict[int, int] = {}
        lock = threading.Lock()

        def uniform_only(request: Request) -> Answer | None:
            with lock:
                proxy.requests.clear()  # so that the proxy does not hold all the bodies
                if number := re.search(r"partNumber=(\d+)", request.target):
                    sizes[int(number[1])] = len(request.body)
            if request.method == "POST" and "uploadId=" in request.target:
                *all_but_last, last = (sizes[n] for n in sorted(sizes))
                if len(set(all_but_last)) != 1 or last > all_but_last[0]:
                    return Answer(Response(400, body=b"<Error><Code>InvalidPart</Code></Error>"))
            return None

        with Proxy(server.endpoint, uniform_only) as proxy:
            through = {"AWS_ENDPOINT_URL": proxy.endpoint}
            with source.open("rb") as file:
                process = Cli(server).start(
                    "cp",
                    source if how == "file" else "-",
                    bucket.uri("k"),
                    "--quiet",
                    "--endpoint-url",
                    through["AWS_ENDPOINT_URL"],
                    stdin=file,
                )
                assert process.wait(LIMIT) == 0
        assert sum(sizes.values()) == size
        assert len(sizes) > 2
        assert bucket.get("k") == source.read_bytes()
        assert bucket.uploads() == []

    def test_a_refusal_names_the_cause_and_the_cure(self, server: S3Server, bucket: Bucket) -> None:
        def refuse(request: Request) -> Answer | None:
            if request.method == "POST" and "uploadId=" in request.target:
                body = (
                    b"<Error><Code>InvalidPart</Code><Message>All non-trailing parts must have the "
                    b"same length.</Message></Error>"
                )
                return Answer(Response(400, body=body))
            return None

        with Proxy(server.endpoint, refuse) as proxy:
            client = client_of(server, proxy.endpoint, part_size=5 * MIB)
            with (
                pytest.raises(headrace.Error) as caught,
                client.open(bucket.uri("k"), "wb") as file,
            ):
                file.write(BODY)
                file.write(BODY)
                file.write(BODY)
            assert "demand parts of one size" in caught.value.message
            assert "expected_size" in caught.value.message
            assert (caught.value.s3_code, caught.value.key) == ("InvalidPart", "k")
            assert held(client) == {}
        assert (bucket.uploads(), bucket.all()) == ([], {})


class TestClient10KeysInListings:
    """aws-sdk-core-ruby#161: a plus becomes a space, or a control character breaks the XML."""

    KEYS = ("a+b", "a b", "a%2Bb", "x&y<z>", "x\x01y", "x\ry", "\u00fc", "u\u0308", "a%20b", "]]>")

    def fill(self, bucket: Bucket) -> dict[str, bytes]:
        bodies = {key: f"the bytes of {key!r}".encode() for key in self.KEYS}
        bucket.put_all(bodies)
        return bodies

    def test_every_key_is_listed_read_and_deleted_as_it_was_put(
        self, any_server: S3Server, any_bucket: Bucket
    ) -> None:
        bodies = self.fill(any_bucket)
        client = client_of(any_server)
        listed = [info.key for info in client.list(any_bucket.uri())]
        assert sorted(listed) == sorted(bodies)
        assert {key: bytes(client.get(any_bucket.uri(key))) for key in listed} == bodies
        client.delete([any_bucket.uri(key) for key in listed])
        assert any_bucket.all() == {}

    def test_every_key_is_deleted_alone(self, any_server: S3Server, any_bucket: Bucket) -> None:
        bodies = self.fill(any_bucket)
        client = client_of(any_server)
        for count, key in enumerate(bodies, 1):
            client.delete(any_bucket.uri(key))
            assert len(list(client.list(any_bucket.uri()))) == len(bodies) - count

    def test_the_command_line(
        self, any_server: S3Server, any_bucket: Bucket, tmp_path: Path
    ) -> None:
        bodies = self.fill(any_bucket)
        cli = Cli(any_server)
        done = cli("ls", "--recursive", any_bucket.uri(), "--json")
        assert sorted(line["key"] for line in done.lines) == sorted(bodies)
        done = cli("rm", "--recursive", any_bucket.uri())
        assert (done.code, any_bucket.all()) == (0, {})


ISSUE_TOKEN = """
import datetime, json, pathlib, sys, time
lifetime, announced = float(sys.argv[1]), sys.argv[2] == "announced"
calls = pathlib.Path(sys.argv[3])
now = time.time()
with calls.open("a") as file:
    print(now, file=file)
if len(calls.read_text().splitlines()) > int(sys.argv[4]):
    sys.exit("no more tokens today")
until = datetime.datetime.fromtimestamp(now + lifetime, datetime.timezone.utc)
answer = {
    "Version": 1,
    "AccessKeyId": sys.argv[5],
    "SecretAccessKey": sys.argv[6],
    "SessionToken": f"issued-{now}",
}
if announced:
    answer["Expiration"] = until.isoformat()
print(json.dumps(answer))
"""
EXPIRED = (
    b"<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>"
)


class TestClient11TokensThatExpire:
    """s5cmd#678: in a long transfer the session token expires, and the run dies."""

    @staticmethod
    def refuse_old_tokens(lifetime: float) -> Callable[[Request], Answer | None]:
        def script(request: Request) -> Answer | None:
            token = request.headers.get("x-amz-security-token", "issued-0")
            if time.time() > float(token.removeprefix("issued-")) + lifetime:
                # A HEAD's answer cannot say why.
                return Answer(Response(400, body=b"" if request.method == "HEAD" else EXPIRED))
            return None

        return script

    @staticmethod
    def profile(
        server: S3Server,
        folder: Path,
        monkeypatch: pytest.MonkeyPatch,
        lifetime: float,
        *,
        announced: bool = True,
        most: int = 10**6,
    ) -> Path:
        """Makes a profile `p` whose credential_process gives tokens; returns its list of calls."""
        program, calls = folder / "issue.py", folder / "calls"
        program.write_text(ISSUE_TOKEN)
        words = [sys.executable, program, lifetime, "announced" if announced else "silent"]
        words += [calls, most, server.access_key, server.secret_key]
        command = " ".join(f'"{word}"' for word in words)
        (folder / "config").write_text(f"[profile p]\ncredential_process = {command}\n")
        monkeypatch.setenv("AWS_CONFIG_FILE", str(folder / "config"))
        return calls

    @pytest.mark.parametrize(
        ("lifetime", "seconds"),
        [(3.0, 9.0), pytest.param(20.0, 60.0, marks=[pytest.mark.long, pytest.mark.timeout(180)])],
    )
    @pytest.mark.parametrize("announced", [True, False], ids=["announced", "not-announced"])
    def test_gets_and_one_slow_upload_go_on(
        self,
        server: S3Server,
        bucket: Bucket,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        lifetime: float,
        seconds: float,
        announced: bool,
    ) -> None:
        bucket.put("k", BODY[:115_000])
        calls = self.profile(server, tmp_path, monkeypatch, lifetime, announced=announced)
        with Proxy(server.endpoint, self.refuse_old_tokens(lifetime)) as proxy:
            config = headrace.ClientConfig(part_size=5 * MIB, hedge=False, progress_timeout=20.0)
            client = headrace.Client(
                endpoint_url=proxy.endpoint, region=server.region, profile="p", config=config
            )
            began = time.monotonic()
            end = began + seconds
            upload = b"".join(random_bytes(5 * MIB, seed) for seed in range(20))
            uploads = set()
            creations = 0

            def get_until_the_end() -> int:
                count = 0
                while time.monotonic() < end:
                    assert bytes(client.get(bucket.uri("k"))) == BODY[:115_000]
                    count += 1
                    time.sleep(0.02)
                return count

            with ThreadPoolExecutor(4) as pool:
                gets = [pool.submit(get_until_the_end) for _ in range(4)]
                with client.open(bucket.uri("slow"), "wb") as file:
                    for number in range(20):
                        file.write(upload[number * 5 * MIB : (number + 1) * 5 * MIB])
                        # The pace is the point: the upload outlives several tokens.
                        time.sleep(max(0.0, began + seconds * (number + 1) / 20 - time.monotonic()))
                assert all(got.result() > 0 for got in gets)
            for request in proxy.requests:
                creations += request.method == "POST" and request.target.endswith("?uploads=")
                if found := re.search("uploadId=([^&]+)", request.target):
                    uploads.add(found[1])
            assert len(uploads) == 1
            assert held(client) == {}
        assert bucket.get("slow") == upload
        assert bucket.uploads() == []
        # Renewed a little ahead when the end was announced, else when it was refused.
        count = len(calls.read_text().splitlines())
        assert seconds / lifetime - 1 <= count <= 1.5 * seconds / lifetime + 2

    @pytest.mark.parametrize("operation", ["get", "head", "list", "put", "file"])
    def test_fixed_credentials_fail_at_once(
        self, server: S3Server, bucket: Bucket, operation: str
    ) -> None:
        bucket.put("the-key", b"x")
        with Proxy(server.endpoint, self.refuse_old_tokens(0)) as proxy:
            client = client_of(server, proxy.endpoint, session_token="issued-1000")
            calls: dict[str, Callable[[], object]] = {
                "get": lambda: client.get(bucket.uri("the-key")),
                "head": lambda: client.head(bucket.uri("the-key")),
                "list": lambda: list(client.list(bucket.uri("the-key"))),
                "put": lambda: client.put(bucket.uri("the-key"), b"y"),
                "file": lambda: client.open(bucket.uri("the-key")),
            }
            began = time.monotonic()
            with pytest.raises(headrace.CredentialsError, match="credentials expired") as caught:
                calls[operation]()
            assert time.monotonic() - began < 2
            assert operation == "list" or caught.value.key == "the-key"
            assert caught.value.bucket == bucket.name
            assert len(proxy.requests) <= 2
            assert held(client) == {}
        assert bucket.get("the-key") == b"x"

    def test_a_process_that_gives_no_more_fails_at_once(
        self,
        server: S3Server,
        bucket: Bucket,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        bucket.put("the-key", b"x")
        self.profile(server, tmp_path, monkeypatch, 1.0, announced=False, most=1)
        with Proxy(server.endpoint, self.refuse_old_tokens(1.0)) as proxy:
            client = headrace.Client(endpoint_url=proxy.endpoint, region="us-east-1", profile="p")
            assert bytes(client.get(bucket.uri("the-key"))) == b"x"
            end = time.monotonic() + 30
            with pytest.raises(headrace.CredentialsError) as caught:
                while time.monotonic() < end:
                    client.get(bucket.uri("the-key"))
            assert caught.value.elapsed < 2
            assert "profile 'p' has a credential_process that failed" in caught.value.message
            assert caught.value.key == "the-key"

    def test_a_token_that_is_over_already(
        self,
        server: S3Server,
        bucket: Bucket,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        self.profile(server, tmp_path, monkeypatch, -60.0)
        client = headrace.Client(endpoint_url=server.endpoint, region="us-east-1", profile="p")
        with pytest.raises(headrace.CredentialsError, match="credentials expired") as caught:
            client.get(bucket.uri("the-key"))
        assert caught.value.key == "the-key"
