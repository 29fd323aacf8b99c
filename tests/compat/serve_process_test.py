"""`headrace serve` as a process: what it prints, how it ends, what a kill leaves, TLS."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from boto3.s3.transfer import TransferConfig
from botocore.exceptions import ClientError

from compat.support import client_of, stats_of
from servers import EmbeddedServer, make_certificate

HEADRACE = EmbeddedServer.binary()


def test_it_tells_how_to_use_it_and_ends_cleanly(tmp_path: Path) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        process = subprocess.Popen(
            [HEADRACE, "serve", tmp_path / "store", "--access-key", "A", "--secret-key", "S'$"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("S3 server ready at http://127.0.0.1:")
        assert "access key A  secret key S'$" in line
        endpoint = line.split()[4]
        exports = "".join(process.stdout.readline() for _ in range(3))
        shown = "echo $AWS_ENDPOINT_URL $AWS_ACCESS_KEY_ID $AWS_SECRET_ACCESS_KEY"
        pasted = subprocess.run(["sh", "-c", exports + shown], capture_output=True, check=True)
        assert pasted.stdout.decode() == f"{endpoint} A S'$\n"
        process.send_signal(number)
        rest, errors = process.communicate(timeout=20)
        assert (process.returncode, rest, errors) == (0, "", "")


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        ([], 2, "DIR is required"),
        (["STORE", "--model", "quick"], 2, "--model"),
        (["STORE", "--port", "70000"], 2, "--port"),
        (["STORE", "--bucket", "My_Data"], 2, "3 to 63 characters"),
        (["STORE", "--first-byte-ms", "nan"], 2, "not a number of 0 or more"),
        (["STORE", "--bytes-per-second", "-1"], 2, "not a number of 0 or more"),
        (["/dev/null/store"], 1, "making /dev/null/store: Not a directory"),
        (["STORE", "--bind", "nowhere"], 2, "not an IP address"),
        (["STORE", "--faults", "/none.json"], 2, "/none.json"),
        (["FOREIGN"], 2, "no store of this server"),
        (["JOURNAL"], 2, "no journal of this server"),
        (["STORE", "--tls-cert", "/none.pem", "--tls-key", "/none.pem"], 2, "/none.pem"),
        (["STORE", "--tls-cert", "/none.pem"], 2, "needs both a certificate and its key"),
    ],
)
def test_wrong_use_is_explained(
    tmp_path: Path, arguments: list[str], code: int, expected: str
) -> None:
    kept = {"FOREIGN/lock": "a", "FOREIGN/notes": "b", "JOURNAL/journal": "no newline"}
    for name, text in kept.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    filled = [str(tmp_path / a) if a.isupper() else a for a in arguments]
    done = subprocess.run([HEADRACE, "serve", *filled], capture_output=True, text=True, timeout=20)
    assert done.returncode == code
    assert expected in done.stderr
    assert ("See headrace serve --help" in done.stderr) == (code == 2)
    assert not (tmp_path / "STORE").exists()
    left = {
        str(path.relative_to(tmp_path)): path.read_text()
        for path in tmp_path.rglob("*")
        if path.is_file()
    }
    assert left == kept
    assert not list(tmp_path.rglob("data"))


def test_buckets_that_are_asked_for_are_there(start: Callable[..., EmbeddedServer]) -> None:
    server = start("--bucket", "one", "--bucket", "two")
    names = [bucket["Name"] for bucket in client_of(server).list_buckets()["Buckets"]]
    assert names == ["one", "two"]


@pytest.mark.parametrize("kill", [False, True])
def test_a_restart_keeps_everything(start: Callable[..., EmbeddedServer], kill: bool) -> None:
    server = start()
    s3 = client_of(server)
    s3.create_bucket(Bucket="bucket")
    body = os.urandom(200_000)
    s3.put_object(Bucket="bucket", Key="k \x01//ü", Body=body, Metadata={"a": "b"})
    upload = s3.create_multipart_upload(Bucket="bucket", Key="big")["UploadId"]
    part = s3.upload_part(Bucket="bucket", Key="big", UploadId=upload, PartNumber=1, Body=body)
    assert server.process is not None
    if kill:
        server.process.kill()
    else:
        server.process.stop()

    server.start()
    s3 = client_of(server)
    got = s3.get_object(Bucket="bucket", Key="k \x01//ü")
    assert (got["Body"].read(), got["Metadata"]) == (body, {"a": "b"})
    s3.complete_multipart_upload(
        Bucket="bucket",
        Key="big",
        UploadId=upload,
        MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]},
    )
    assert s3.get_object(Bucket="bucket", Key="big")["Body"].read() == body


def data_files(server: EmbeddedServer) -> list[Path]:
    return [path for path in (server.folder / "data" / "data").rglob("*") if path.is_file()]


def test_a_kill_in_mid_upload_leaves_the_old_object(start: Callable[..., EmbeddedServer]) -> None:
    server = start()
    s3 = client_of(server)
    s3.create_bucket(Bucket="bucket")
    s3.put_object(Bucket="bucket", Key="k", Body=b"old")
    url = s3.generate_presigned_url("put_object", Params={"Bucket": "bucket", "Key": "k"})
    host, port = server.endpoint.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as half:
        target = url.removeprefix(server.endpoint)
        head = f"PUT {target} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 2000000\r\n\r\n"
        half.sendall(head.encode() + b"n" * 1_000_000)
        while stats_of(server)["bytes_received"] < 1_000_000:
            pass
        assert len(data_files(server)) == 2
        assert server.process is not None
        server.process.kill()

    server.start()
    s3 = client_of(server)
    assert s3.get_object(Bucket="bucket", Key="k")["Body"].read() == b"old"
    assert len(data_files(server)) == 1


def test_concurrent_writers_and_readers_see_whole_objects(
    server: EmbeddedServer, bucket: str
) -> None:
    bodies = {bytes([letter]) * 300_000 for letter in b"abcdefgh"}
    failures: list[Any] = []

    def work(body: bytes) -> None:
        s3 = client_of(server)
        for _ in range(20):
            s3.put_object(Bucket=bucket, Key="shared", Body=body)
            got = s3.get_object(Bucket=bucket, Key="shared")["Body"].read()
            if got not in bodies:
                failures.append(got[:10])

    threads = [threading.Thread(target=work, args=(body,)) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_tls(start: Callable[..., EmbeddedServer], tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path)
    server = start(*certificate.arguments)
    assert server.endpoint.startswith("https://")
    s3 = client_of(server, verify=str(certificate.path))
    s3.create_bucket(Bucket="bucket")
    body = os.urandom(20 << 20)
    # Over TLS botocore sends aws-chunked bodies with a checksum in the trailer.
    s3.put_object(Bucket="bucket", Key="k", Body=io.BytesIO(body))
    assert s3.get_object(Bucket="bucket", Key="k")["Body"].read() == body
    out = io.BytesIO()
    s3.download_fileobj("bucket", "k", out, Config=TransferConfig(multipart_threshold=5 << 20))
    assert out.getvalue() == body


def splitmix64(n: int) -> int:
    mask = (1 << 64) - 1
    z = ((n + 1) * 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)


def virtual_bytes(bucket: str, key: str, size: int) -> bytes:
    """What `--virtual` answers for a key, as src/devserver/virtual_bucket.h defines it."""
    start = 0xCBF29CE484222325
    for byte in f"{bucket}/{key}".encode():
        start = ((start ^ byte) * 0x100000001B3) & ((1 << 64) - 1)
    start %= 16 << 20
    first = start // 8
    words = [splitmix64((first + i) % (2 << 20)) for i in range(size // 8 + 2)]
    data = b"".join(word.to_bytes(8, "little") for word in words)
    return data[start % 8 : start % 8 + size]


def test_virtual_listing(start: Callable[..., EmbeddedServer], tmp_path: Path) -> None:
    listing = tmp_path / "keys.jsonl"
    lines: list[dict[str, Any]] = [
        {"bucket": "vbucket", "key": "odd \x01 ü", "size": 5},
        {"bucket": "vbucket", "prefix": "n/", "digits": 6, "count": 2500, "size": 1000},
    ]
    listing.write_text("".join(json.dumps(line) + "\n" for line in lines))
    s3 = client_of(start("--virtual", str(listing)))
    pages = list(s3.get_paginator("list_objects_v2").paginate(Bucket="vbucket"))
    keys = [entry["Key"] for page in pages for entry in page["Contents"]]
    assert keys == [*(f"n/{i:06}" for i in range(2500)), "odd \x01 ü"]
    for key, size in (("odd \x01 ü", 5), ("n/001234", 1000)):
        got = s3.get_object(Bucket="vbucket", Key=key)
        assert got["Body"].read() == virtual_bytes("vbucket", key, size)
        assert got["ETag"] == s3.head_object(Bucket="vbucket", Key=key)["ETag"]
    with pytest.raises(ClientError, match="MethodNotAllowed"):
        s3.put_object(Bucket="vbucket", Key="new", Body=b"")


def test_a_fault_file(start: Callable[..., EmbeddedServer], tmp_path: Path) -> None:
    rules = tmp_path / "faults.json"
    rules.write_text(json.dumps([{"operation": "HeadBucket", "do": "status", "status": 500}]))
    server = start("--faults", str(rules))
    s3 = client_of(server)
    s3.create_bucket(Bucket="bucket")
    with pytest.raises(ClientError):
        s3.head_bucket(Bucket="bucket")
    assert stats_of(server)["faults"] == 1
