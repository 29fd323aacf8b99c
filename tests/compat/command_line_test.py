"""The AWS command line and s5cmd against the embedded server."""

from __future__ import annotations

import json
import os
import urllib.request
from pathlib import Path
from typing import Any

import pytest

NAMES = ["plain.bin", "with space", "a+b", "100%25", "\u00fcber", "sub/deep/er.txt"]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder with a file for each of NAMES, and one large enough for a multipart upload."""
    folder = tmp_path / "tree"
    for name in NAMES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(2000))
    (folder / "big").write_bytes(os.urandom(20 << 20))
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_aws_copies_a_tree_there_and_back(run: Any, s3: Any, tree: Path, tmp_path: Path) -> None:
    bucket = f"aws-cli-{os.getpid()}"
    run("aws", "s3", "mb", f"s3://{bucket}")
    run("aws", "s3", "cp", "--recursive", str(tree), f"s3://{bucket}/p/")
    run("aws", "s3", "sync", str(tree), f"s3://{bucket}/p/")
    run("aws", "s3", "mv", f"s3://{bucket}/p/a+b", f"s3://{bucket}/p/moved +%41")
    (tree / "a+b").rename(tree / "moved +%41")
    run("aws", "s3", "cp", "--recursive", f"s3://{bucket}/p/", f"s3://{bucket}/q/")
    for prefix in ("p", "q"):
        back = tmp_path / prefix
        run("aws", "s3", "sync", f"s3://{bucket}/{prefix}/", str(back))
        assert contents(back) == contents(tree)
    listed = run("aws", "s3", "ls", "--recursive", f"s3://{bucket}/p/")
    assert len(listed.splitlines()) == len(NAMES) + 1
    assert "PRE sub/" in run("aws", "s3", "ls", f"s3://{bucket}/p/")
    run("aws", "s3", "rb", "--force", f"s3://{bucket}")
    assert bucket not in [entry["Name"] for entry in s3.list_buckets()["Buckets"]]


def test_aws_streams_presigns_and_reads_ranges(
    run: Any, s3: Any, bucket: str, tmp_path: Path
) -> None:
    body = os.urandom(10 << 20)
    run("aws", "s3", "cp", "-", f"s3://{bucket}/from stdin", stdin=body)
    assert s3.get_object(Bucket=bucket, Key="from stdin")["Body"].read() == body
    url = run("aws", "s3", "presign", f"s3://{bucket}/from stdin").strip()
    assert urllib.request.urlopen(url).read() == body
    out = tmp_path / "range"
    where = ["--bucket", bucket, "--key", "from stdin"]
    run("aws", "s3api", "get-object", *where, "--range", "bytes=-7", str(out))
    assert out.read_bytes() == body[-7:]
    checksum = ["--checksum-algorithm", "SHA256"]
    put = ["aws", "s3api", "put-object", "--bucket", bucket, "--key", "sum", "--body", str(out)]
    assert json.loads(run(*put, *checksum))["ChecksumSHA256"]


def test_s5cmd_copies_a_tree_there_and_back(
    run: Any, bucket: str, tree: Path, tmp_path: Path
) -> None:
    run("s5cmd", "cp", f"{tree}/", f"s3://{bucket}/p/")
    listed = run("s5cmd", "ls", f"s3://{bucket}/p/*")
    assert len(listed.splitlines()) == len(NAMES) + 1
    run("s5cmd", "mv", f"s3://{bucket}/p/plain.bin", f"s3://{bucket}/p/moved.bin")
    (tree / "plain.bin").rename(tree / "moved.bin")
    run("s5cmd", "cp", f"s3://{bucket}/p/*", f"s3://{bucket}/q/")
    for prefix in ("p", "q"):
        back = tmp_path / prefix
        run("s5cmd", "cp", f"s3://{bucket}/{prefix}/*", f"{back}/")
        assert contents(back) == contents(tree)
    run("s5cmd", "rm", f"s3://{bucket}/*")
    done = run("s5cmd", "ls", f"s3://{bucket}")
    assert done.strip() == ""
    run("s5cmd", "rb", f"s3://{bucket}")
