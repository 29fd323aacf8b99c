"""Progress: a line that renews itself on a terminal, plain lines otherwise, none when quiet."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

from servers import EmbeddedServer

from .harness import Cli, make_bucket

BODY = os.urandom(1_500_000)


def read_terminal(master: int) -> str:
    """All that the program wrote to its terminal."""
    pieces: list[bytes] = []
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # EIO: the other side was closed
            piece = b""
        if not piece:
            return b"".join(pieces).decode()
        pieces.append(piece)


def on_terminal(cli: Cli, *arguments: str | Path) -> str:
    master, slave = pty.openpty()
    with cli.start(*arguments, stderr=slave, stdout=subprocess.DEVNULL) as process:
        os.close(slave)
        text = read_terminal(master)
        assert process.wait(60) == 0
    os.close(master)
    return text


def test_a_terminal_shows_rate_and_time_left(tmp_path: Path) -> None:
    with EmbeddedServer(["--bytes-per-second", "1000000"]) as slow:
        bucket, cli = make_bucket(slow), Cli(slow)
        (tmp_path / "file").write_bytes(BODY)
        text = on_terminal(cli, "cp", tmp_path / "file", bucket.uri("k"))
        assert "of 1.4 MiB" in text
        assert "/s, " in text
        assert text.endswith("\r\x1b[K"), "the line is removed at the end"
        assert bucket.get("k") == BODY
        for silent in ("--quiet", "--no-progress"):
            assert on_terminal(cli, "cp", tmp_path / "file", bucket.uri("k"), silent) == ""


def test_a_size_that_is_not_known_is_not_told(tmp_path: Path) -> None:
    with EmbeddedServer(["--bytes-per-second", "1000000"]) as slow:
        bucket, cli = make_bucket(slow), Cli(slow)
        bucket.put("k", BODY)
        text = on_terminal(cli, "cp", bucket.uri("k"), tmp_path / "file")
        assert "/s, 0 of 1 objects" in text
        assert " of 0 B" not in text


def test_without_a_terminal_short_transfers_are_silent(cli: Cli, tmp_path: Path) -> None:
    bucket = make_bucket(cli.server)
    (tmp_path / "file").write_bytes(BODY)
    assert cli("cp", tmp_path / "file", bucket.uri("k")).err == ""
