"""`headrace datagen` as a user runs it; what it writes is tested beside its sources."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from .harness import Cli, wait_for


def test_writes_files_of_the_given_sizes(cli: Cli, tmp_path: Path) -> None:
    sizes = ("--size", "1KB", "--size", "1KiB")
    done = cli("datagen", "files", tmp_path / "made", "--count", "3", *sizes, "--json")
    assert done.code == 0, done.err
    assert done.summary["files"] == 3
    assert done.summary["bytes"] == 1000 + 1024 + 1000
    assert sorted(path.stat().st_size for path in (tmp_path / "made").iterdir()) == [
        1000,
        1000,
        1024,
    ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["images", "DIR", "--width", "5"], "width and height have to be 16 to 16384"),
        (["files", "DIR", "--count", "1", "--size", "many"], "'many' is not a size"),
        (["files", "DIR", "--count", "1"], "--size is required"),
    ],
)
def test_wrong_use_is_explained(
    cli: Cli, tmp_path: Path, arguments: list[str], expected: str
) -> None:
    done = cli("datagen", *[str(tmp_path / "made") if a == "DIR" else a for a in arguments])
    assert done.code == 2
    assert expected in done.err
    assert "See headrace datagen --help" in done.err
    assert not (tmp_path / "made").exists()


def test_a_failure_is_told_with_its_code(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    command = ("datagen", "files", tmp_path / "file" / "made", "--count", "1", "--size", "1")
    done = cli(*command)
    assert done.code == 1
    assert done.err.startswith("headrace datagen: NotFound: ")
    done = cli(*command, "--json")
    assert done.code == 1
    assert done.summary["code"] == "NotFound"


def test_ctrl_c_leaves_no_half_file(cli: Cli, tmp_path: Path) -> None:
    made = tmp_path / "made"
    with cli.start(
        "datagen", "files", made, "--count", "100000", "--size", "1MB", stderr=subprocess.PIPE
    ) as process:
        wait_for(lambda: list(made.glob("*.bin")), "the first file")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGINT
    assert errors.decode().endswith("headrace datagen: interrupted\n")
    assert {path.stat().st_size for path in made.iterdir()} == {1_000_000}


def test_its_summary_is_one_line_of_json(cli: Cli, tmp_path: Path) -> None:
    done = cli("datagen", "images", tmp_path, "--train", "2", "--held-out", "1", "--json")
    assert [list(json.loads(line)) for line in done.out.splitlines()] == [["summary"]]
    assert done.summary["files"] == 3
