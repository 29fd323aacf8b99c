"""ls and stat."""

from __future__ import annotations

import datetime
import re
import signal
import socket
import subprocess

from servers import EmbeddedServer

from .harness import Bucket, Cli


def test_ls_shows_a_folder(cli: Cli, bucket: Bucket) -> None:
    bucket.put_all({"p/a b": b"12", "p/d/x": b"1", "p/e/y": b"1", "q": b"123"})
    text = cli("ls", bucket.uri("p/")).text
    assert re.fullmatch(
        r" +PRE d/\n +PRE e/\n\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +2 a b\n"
        r"|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +2 a b\n +PRE d/\n +PRE e/\n",
        text,
    ), text
    assert "PRE p/" in cli("ls", bucket.uri("p")).text
    lines = cli("ls", "--recursive", bucket.uri()).text.splitlines()
    assert [line.split(maxsplit=3)[3] for line in lines] == ["p/a b", "p/d/x", "p/e/y", "q"]
    text = cli("ls", "-r", "--summarize", "--human-readable", bucket.uri()).text
    assert "Total Objects: 4" in text
    assert "Total Size: 7 B" in text


def test_ls_json_is_exact(cli: Cli, bucket: Bucket) -> None:
    keys = ["a", "b\n\x01\\", "d/x", "\u00fc"]
    bucket.put_all({key: key.encode() for key in keys})
    done = cli("ls", bucket.uri(), "--json")
    assert [line.get("key") or line["prefix"] for line in done.lines] == [
        "a",
        "b\n\x01\\",
        "d/",
        "\u00fc",
    ]
    first = done.lines[0]
    head = bucket.s3.head_object(Bucket=bucket.name, Key="a")
    assert first["etag"] == head["ETag"].strip('"')
    assert (first["bucket"], first["size"]) == (bucket.name, 1)
    modified = datetime.datetime.fromisoformat(first["last_modified"])
    assert abs(modified - head["LastModified"]) < datetime.timedelta(seconds=1)
    assert done.summary["objects"] == 3
    assert done.summary["prefixes"] == 1


def test_ls_text_keeps_the_terminal_safe(cli: Cli, bucket: Bucket) -> None:
    bucket.put("evil\x1b[31m\nline", b"")
    assert "evil\\x1b[31m\\x0aline\n" in cli("ls", bucket.uri()).text


def test_ls_lists_buckets(cli: Cli, bucket: Bucket) -> None:
    assert bucket.name in cli("ls").text.split()
    assert {"bucket": bucket.name} in cli("ls", "--json").lines


def test_ctrl_c_is_called_so(cli: Cli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with cli.start(
            "ls", "s3://bucket", "--endpoint-url", endpoint, stderr=subprocess.PIPE
        ) as process:
            silent.accept()
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=30)
            assert process.returncode == -signal.SIGINT
            assert errors.decode().endswith("headrace ls: interrupted\n")


def test_a_bucket_that_cannot_exist_is_told_the_rule(cli: Cli) -> None:
    done = cli("ls", "s3://My_Data")
    assert done.code == 1
    assert "no such bucket 'My_Data'" in done.err
    assert "3 to 63 characters" in done.err


def test_no_bucket_at_all_is_listed() -> None:
    with EmbeddedServer() as empty:
        done = Cli(empty)("ls")
        assert (done.code, done.out, done.err) == (0, b"", "")


def test_stat(cli: Cli, bucket: Bucket) -> None:
    bucket.put("d/a", b"123", ContentType="x/y", Metadata={"m": "v"})
    text = cli("stat", bucket.uri("d/a")).text
    assert "Size: 3" in text
    assert "Type: x/y" in text
    assert "m=v" in text
    done = cli("stat", "--json", bucket.uri("d/a"), bucket.uri("d"))
    assert done.code == 1
    found, missing = done.lines
    assert (found["bucket"], found["key"], found["size"]) == (bucket.name, "d/a", 3)
    assert found["metadata"] == {"m": "v"}
    assert (missing["key"], missing["code"]) == ("d", "NotFound")
    assert done.summary == {"objects": 1, "failed": 1, "bytes": 3}


def test_every_verb_has_help_with_examples(cli: Cli) -> None:
    for verb in ("ls", "cp", "rm", "cat", "stat"):
        done = cli(verb, "--help")
        assert done.code == 0
        assert f"headrace {verb} " in done.text
        assert "Examples:" in done.text
        assert "status" in done.text
