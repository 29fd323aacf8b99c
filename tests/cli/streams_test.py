"""Standard streams that are closed, full or left by their reader; targets that are no file."""

from __future__ import annotations

import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from servers import EmbeddedServer

from .harness import LIMIT, Bucket, Cli, Finished


def shell(cli: Cli, script: str) -> Finished:
    """Runs a script of bash in which `$H` is the binary."""
    done = subprocess.run(
        ["bash", "-c", f"H={shlex.quote(str(EmbeddedServer.binary()))}; {script}"],
        capture_output=True,
        timeout=LIMIT,
        env=cli.environment,
        check=False,
    )
    return Finished(done.returncode, done.stdout, done.stderr.decode())


@pytest.mark.parametrize("verb", ["cat KEY", "cp KEY -", "ls BUCKET", "stat KEY", "rm KEY"])
def test_a_closed_output_is_an_error(cli: Cli, bucket: Bucket, verb: str) -> None:
    bucket.put("k", b"hello")
    command = verb.replace("KEY", bucket.uri("k")).replace("BUCKET", bucket.uri())
    done = shell(cli, f"timeout -k 1 10 $H {command} >&-")
    assert done.code == 1, done
    assert "writing to standard output: Bad file descriptor" in done.err


def test_a_closed_input_is_an_error_and_no_object(cli: Cli, bucket: Bucket) -> None:
    done = shell(cli, f"timeout -k 1 10 $H cp - {bucket.uri('k')} <&-")
    assert done.code == 1, done
    assert "reading standard input: Bad file descriptor" in done.err
    assert bucket.all() == {}


def test_work_is_done_with_all_streams_closed(cli: Cli, bucket: Bucket, tmp_path: Path) -> None:
    bucket.put("k", b"hello")
    target = tmp_path / "out"
    done = shell(cli, f"timeout -k 1 10 $H cp -q {bucket.uri('k')} {target} <&- >&- 2>&-")
    assert done.code == 0
    assert target.read_bytes() == b"hello"


@pytest.mark.parametrize(
    "verb",
    ["--version", "--help", "ls BUCKET", "ls", "stat KEY", "cp KEY COPY", "rm KEY", "cat KEY"],
)
def test_a_full_output_is_told(cli: Cli, bucket: Bucket, verb: str) -> None:
    bucket.put("k", b"hello")
    command = verb.replace("KEY", bucket.uri("k")).replace("BUCKET", bucket.uri())
    done = shell(cli, f"$H {command.replace('COPY', bucket.uri('copy'))} >/dev/full")
    assert done.code == 1, done
    assert "writing to standard output: No space left on device" in done.err


def test_a_full_target_is_not_called_standard_output(cli: Cli, bucket: Bucket) -> None:
    bucket.put("k", b"hello")
    done = cli("cp", bucket.uri("k"), "/dev/full")
    assert done.code == 1
    assert "/dev/full: NoSpace: writing: No space left on device" in done.err


def test_a_full_standard_error_ends_no_verb_early(cli: Cli, bucket: Bucket, tmp_path: Path) -> None:
    bucket.put_all({"p/b": b"1", "p/c": b"2"})
    (tmp_path / "b").mkdir()
    done = shell(cli, f"$H cp -r {bucket.uri('p/')} {tmp_path} 2>/dev/full")
    assert done.code == 1
    assert (tmp_path / "c").read_bytes() == b"2"


@pytest.mark.parametrize("verb", ["cat KEY", "cp KEY -", "ls BUCKET", "stat KEY"])
def test_an_output_without_reader_ends_quietly(cli: Cli, bucket: Bucket, verb: str) -> None:
    bucket.put("k", bytes(4 << 20))
    command = verb.replace("KEY", bucket.uri("k")).replace("BUCKET", bucket.uri())
    with cli.start(*command.split(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.wait(30) == -signal.SIGPIPE  # 141 in a shell, as of coreutils
        assert process.stderr.read() == b""


def test_a_copy_without_reader_is_finished_first(cli: Cli, bucket: Bucket, tmp_path: Path) -> None:
    files = [f"{i}" for i in range(20)]
    for name in files:
        (tmp_path / name).write_bytes(b"x")
    with cli.start("cp", "-r", tmp_path, bucket.uri(), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(30) == -signal.SIGPIPE
    assert sorted(bucket.all()) == sorted(files)


@pytest.mark.parametrize("target", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "LINK"])
def test_standard_output_by_name_is_written_to(
    cli: Cli, bucket: Bucket, tmp_path: Path, target: str
) -> None:
    bucket.put("k", b"hello\n")
    (tmp_path / "link").symlink_to("/dev/stdout")
    out = tmp_path / "out"
    target = target.replace("LINK", str(tmp_path / "link"))
    done = shell(cli, f"(echo one; $H cp {bucket.uri('k')} {target}; echo two) >{out}")
    assert done.code == 0
    assert out.read_text() == "one\nhello\ntwo\n"
    assert shell(cli, f"$H cp {bucket.uri('k')} {target} | cat").text == "hello\n"


def test_another_descriptor_is_written_to(cli: Cli, bucket: Bucket, tmp_path: Path) -> None:
    bucket.put("k", b"hello\n")
    out = tmp_path / "out"
    script = f"exec 5>{out}; echo one >&5; $H cp {bucket.uri('k')} /dev/fd/5; echo two >&5"
    assert shell(cli, script).code == 0
    assert out.read_text() == "one\nhello\ntwo\n"
    done = shell(cli, f"$H cp {bucket.uri('k')} /dev/fd/77")
    assert done.code == 1
    assert "Bad file descriptor" in done.err


def test_a_link_to_a_device_is_written_through(cli: Cli, bucket: Bucket, tmp_path: Path) -> None:
    bucket.put("k", b"hello\n")
    (tmp_path / "null").symlink_to("/dev/null")
    assert cli("cp", bucket.uri("k"), tmp_path / "null").code == 0
    assert (tmp_path / "null").readlink() == Path("/dev/null")
