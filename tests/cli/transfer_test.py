"""cp, cat and rm: what arrives, what is told, what is left behind."""

from __future__ import annotations

import array
import fcntl
import os
import signal
import socket
import subprocess
import termios
from pathlib import Path

import pytest

from servers import EmbeddedServer, MotoServer

from .harness import Bucket, Cli, make_bucket, tree, wait_for, write_tree

BIG = os.urandom(20 << 20)
# Of every kind that the local file system holds too.
NAMES = [
    "plain",
    "with space",
    "a+b",
    "100%25",
    "k?x=1",
    "a#b",
    "quote'\"",
    "x&y<z>",
    "\u00fc",
    "u\u0308",
    "d/e/f",
    "..ok",
    "ok..txt",
    "tab\tand\nline",
    "\x01",
    "back\\slash",
]


def test_files_make_the_round_trip(cli: Cli, bucket: Bucket, tmp_path: Path) -> None:
    source = tmp_path / "in"
    write_tree(source, {**{name: name.encode() for name in NAMES}, "empty": b"", "big": BIG})
    done = cli("cp", "--recursive", source, bucket.uri("p"))
    assert (done.code, done.err) == (0, "")
    assert bucket.all() == {f"p/{name}": body for name, body in tree(source).items()}
    done = cli("cp", "--recursive", bucket.uri("p"), tmp_path / "out")
    assert (done.code, done.err) == (0, "")
    assert tree(tmp_path / "out") == tree(source)


def test_single_files_keep_or_change_their_name(cli: Cli, bucket: Bucket, tmp_path: Path) -> None:
    write_tree(tmp_path, {"a.jpg": b"1"})
    for target in (bucket.uri(), bucket.uri("d/"), bucket.uri("d/b")):
        assert cli("cp", "a.jpg", target, cwd=tmp_path).code == 0
    assert bucket.all() == {"a.jpg": b"1", "d/a.jpg": b"1", "d/b": b"1"}
    assert bucket.s3.head_object(Bucket=bucket.name, Key="d/b")["ContentType"] == "image/jpeg"
    (tmp_path / "there").mkdir()
    for target in (".", "there", "new/", "x/y/z", "there/as"):
        assert cli("cp", bucket.uri("d/b"), target, cwd=tmp_path).code == 0
    assert sorted(tree(tmp_path)) == ["a.jpg", "b", "new/b", "there/as", "there/b", "x/y/z"]


def test_options_of_the_object_arrive(cli: Cli, bucket: Bucket, tmp_path: Path) -> None:
    write_tree(tmp_path, {"a": b"1"})
    arguments = ["--content-type", "x/y", "--metadata", "one=1,two=zwei", "--metadata", "three=3"]
    assert cli("cp", tmp_path / "a", bucket.uri("a"), *arguments).code == 0
    head = bucket.s3.head_object(Bucket=bucket.name, Key="a")
    assert head["ContentType"] == "x/y"
    assert head["Metadata"] == {"one": "1", "two": "zwei", "three": "3"}
    done = cli("cp", "-", bucket.uri("a"), "--no-overwrite", data=b"2")
    assert done.code == 1
    assert "exists already" in done.err
    assert bucket.get("a") == b"1"


def test_a_small_file_is_one_put(cli: Cli, bucket: Bucket, tmp_path: Path) -> None:
    write_tree(tmp_path, {"a": b"1"})
    assert cli("cp", tmp_path / "a", bucket.uri("a")).code == 0
    # A multipart object's ETag ends in the number of its parts.
    assert "-" not in bucket.s3.head_object(Bucket=bucket.name, Key="a")["ETag"]
    done = cli("cp", tmp_path / "a", bucket.uri("a"), "--no-overwrite")
    assert done.code == 1
    assert "exists already" in done.err


def test_streams(cli: Cli, bucket: Bucket) -> None:
    done = cli("cp", "-", bucket.uri("s"), "--json", data=BIG)
    assert done.code == 0
    assert done.lines == [
        {
            "source": "-",
            "target": bucket.uri("s"),
            "bytes": len(BIG),
            "status": "ok",
            "error": None,
        }
    ]
    assert bucket.get("s") == BIG
    assert cli("cp", bucket.uri("s"), "-").out == BIG
    assert cli("cat", bucket.uri("s"), bucket.uri("s")).out == BIG + BIG
    assert cli("cat", "--range", "5-9", bucket.uri("s")).out == BIG[5:10]
    assert cli("cat", "--range", f"{len(BIG) - 3}-", bucket.uri("s")).out == BIG[-3:]
    assert cli("cp", "-", bucket.uri("e"), data=b"").code == 0
    assert bucket.get("e") == b""
    assert cli("cat", bucket.uri("e")).out == b""


def test_devices_are_written_to_not_replaced(cli: Cli, bucket: Bucket, tmp_path: Path) -> None:
    bucket.put("k", b"through a pipe")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with cli.start("cp", bucket.uri("k"), pipe) as process:
        assert pipe.read_bytes() == b"through a pipe"
        assert process.wait(60) == 0
    assert pipe.is_fifo()


def test_a_link_to_a_file_stays(cli: Cli, bucket: Bucket, tmp_path: Path) -> None:
    bucket.put("k", b"new")
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to("file")
    assert cli("cp", bucket.uri("k"), tmp_path / "link").code == 0
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"new"


def test_downloads_keep_what_stands_there_when_told(
    cli: Cli, bucket: Bucket, tmp_path: Path
) -> None:
    bucket.put_all({"p/a": b"new", "p/b": b"new"})
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "link").symlink_to("a")
    for target in ("a", ".", "link"):
        done = cli("cp", "--no-overwrite", bucket.uri("p/a"), target, cwd=tmp_path)
        assert done.code == 1, target
        assert "AlreadyExists: 'a' exists already" in done.err, target
    done = cli("cp", "--no-overwrite", "-r", bucket.uri("p/"), tmp_path, "--json")
    assert done.code == 1
    assert {line["source"]: line["status"] for line in done.lines if "source" in line} == {
        bucket.uri("p/a"): "failed",
        bucket.uri("p/b"): "ok",
    }
    assert tree(tmp_path) == {"a": b"old", "b": b"new"}


def test_a_pipe_counts_as_standing_there_and_a_descriptor_does_not(
    cli: Cli, bucket: Bucket, tmp_path: Path
) -> None:
    bucket.put("k", b"new")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    done = cli("cp", "--no-overwrite", bucket.uri("k"), pipe)
    assert done.code == 1
    assert "exists already" in done.err
    for target in ("-", "/dev/stdout"):
        assert cli("cp", "--no-overwrite", bucket.uri("k"), target).out == b"new"


def test_a_download_keeps_the_permissions_of_the_file_it_replaces(
    cli: Cli, bucket: Bucket, tmp_path: Path
) -> None:
    bucket.put("p/f", b"new")
    file = tmp_path / "f"
    ways: list[list[str | Path]] = [[bucket.uri("p/f"), file], ["-r", bucket.uri("p/"), tmp_path]]
    for arguments in ways:
        file.write_bytes(b"old")
        file.chmod(0o600)
        assert cli("cp", *arguments).code == 0
        assert file.read_bytes() == b"new"
        assert file.stat().st_mode & 0o7777 == 0o600


def test_a_failed_download_leaves_no_folder(cli: Cli, bucket: Bucket, tmp_path: Path) -> None:
    for target in ("new/f", "new/below/"):
        assert cli("cp", bucket.uri("none"), tmp_path / target).code == 1
        assert list(tmp_path.iterdir()) == []
    (tmp_path / "mine").mkdir()
    assert cli("cp", bucket.uri("none"), tmp_path / "mine" / "f").code == 1
    assert (tmp_path / "mine").is_dir()


def test_filters(cli: Cli, bucket: Bucket, tmp_path: Path) -> None:
    write_tree(tmp_path / "in", ["1.jpg", "1.txt", "d/2.jpg", "d/2.txt", "tmp/3.jpg"])
    choice = ["--exclude", "*", "--include", "*.jpg", "--exclude", "tmp/*"]
    assert cli("cp", "-r", tmp_path / "in", bucket.uri("p/"), *choice).code == 0
    assert sorted(bucket.all()) == ["p/1.jpg", "p/d/2.jpg"]
    assert cli("cp", "-r", bucket.uri("p"), tmp_path / "out", "--exclude", "d/*").code == 0
    assert sorted(tree(tmp_path / "out")) == ["1.jpg"]
    assert cli("rm", "-r", bucket.uri("p"), "--exclude", "1*").code == 0
    assert sorted(bucket.all()) == ["p/1.jpg"]


def test_dryrun_does_nothing(cli: Cli, bucket: Bucket, tmp_path: Path) -> None:
    write_tree(tmp_path / "in", {"a": b"1"})
    bucket.put("k", b"1")
    for arguments in (
        ("cp", "-r", str(tmp_path / "in"), bucket.uri("p")),
        ("cp", "-r", bucket.uri(), str(tmp_path / "out")),
        ("cp", bucket.uri("k"), bucket.uri("copy")),
        ("cp", "-", bucket.uri("in")),
        ("rm", bucket.uri("k")),
        ("rm", "-r", bucket.uri()),
    ):
        done = cli(*arguments, "--dryrun")
        assert done.code == 0
        assert done.text.startswith("(dryrun) "), arguments
    assert bucket.all() == {"k": b"1"}
    assert not (tmp_path / "out").exists()


def test_json_tells_all(cli: Cli, bucket: Bucket, tmp_path: Path) -> None:
    bucket.put_all({"p/a": b"12", "p/b": b"345"})
    done = cli("cp", "-r", bucket.uri("p"), tmp_path / "out", "--json", "--stats")
    assert sorted((line["source"], line["bytes"], line["status"]) for line in done.lines) == [
        (bucket.uri("p/a"), 2, "ok"),
        (bucket.uri("p/b"), 3, "ok"),
    ]
    assert (done.summary["objects"], done.summary["bytes"], done.summary["failed"]) == (2, 5, 0)
    assert done.summary["metrics"]
    done = cli("cp", bucket.uri("none"), tmp_path / "x", "--json")
    assert done.code == 1
    assert done.lines[0]["status"] == "failed"
    assert done.lines[0]["code"] == "NotFound"
    assert done.summary["failed"] == 1
    assert not (tmp_path / "x").exists()
    done = cli("rm", bucket.uri("p/a"), "--json")
    assert done.lines == [
        {"source": bucket.uri("p/a"), "target": "", "bytes": 0, "status": "ok", "error": None}
    ]


def test_quiet_is_quiet(cli: Cli, bucket: Bucket, tmp_path: Path) -> None:
    write_tree(tmp_path, {"a": b"1"})
    for arguments in (
        ("cp", str(tmp_path / "a"), bucket.uri("a")),
        ("cp", bucket.uri("a"), str(tmp_path / "b")),
        ("rm", bucket.uri("a")),
    ):
        done = cli(*arguments, "--quiet")
        assert (done.code, done.out, done.err) == (0, b"", "")
    done = cli("cp", bucket.uri("a"), tmp_path / "c", "--quiet")
    assert done.code == 1
    assert "no such object" in done.err


def test_rm_takes_a_folder_not_a_prefix(cli: Cli, bucket: Bucket) -> None:
    bucket.put_all({"run-1/a": b"", "run-1/b/c": b"", "run-17/a": b"", "run-1": b""})
    assert cli("rm", "--recursive", bucket.uri("run-1")).code == 0
    assert sorted(bucket.all()) == ["run-1", "run-17/a"]
    assert cli("rm", bucket.uri("run-1"), bucket.uri("nothing")).code == 0
    assert sorted(bucket.all()) == ["run-17/a"]


def test_rm_deletes_thousands(cli: Cli, bucket: Bucket, tmp_path: Path) -> None:
    write_tree(tmp_path / "in", [f"{i:04}" for i in range(2500)])
    assert cli("cp", "-r", tmp_path / "in", bucket.uri("p"), "--quiet").code == 0
    done = cli("rm", "-r", bucket.uri("p"), "--json")
    assert (done.code, done.summary["objects"]) == (0, 2500)
    assert bucket.all() == {}


def test_rm_of_a_folder_needs_recursive(cli: Cli, bucket: Bucket) -> None:
    bucket.put_all({"d/a": b"", "marked/": b"", "marked/a": b""})
    for more in ([], ["--dryrun"]):
        done = cli("rm", bucket.uri("marked/"), bucket.uri("d/"), *more)
        assert done.code == 2
        assert f"'{bucket.uri('d/')}' is a folder; add --recursive" in done.err
        assert sorted(bucket.all()) == ["d/a", "marked/", "marked/a"]
    assert cli("rm", bucket.uri("marked/"), bucket.uri("none/")).code == 0
    assert sorted(bucket.all()) == ["d/a", "marked/a"]


def test_nothing_to_copy_makes_no_folder(cli: Cli, bucket: Bucket, tmp_path: Path) -> None:
    bucket.put("p/a", b"")
    assert cli("cp", "-r", bucket.uri("none/"), tmp_path / "out").code == 1
    assert cli("cp", "-r", bucket.uri("p/"), tmp_path / "out", "--exclude", "*").code == 0
    assert not (tmp_path / "out").exists()


# REPORTS cli-5.
def test_nothing_is_written_outside_the_target(moto: MotoServer, tmp_path: Path) -> None:
    bucket, cli = make_bucket(moto), Cli(moto)
    keys = ["p/../../escape", "p/..", "p/a/../b", "p/./c", "p/ok..txt", "p/good", "p/link/in"]
    bucket.put_all(dict.fromkeys(keys, b"x"))
    out, outside = tmp_path / "x" / "out", tmp_path / "outside"
    out.mkdir(parents=True)
    outside.mkdir()
    (out / "link").symlink_to(outside)
    done = cli("cp", "--recursive", bucket.uri("p/"), out, "--json")
    assert done.code == 1
    assert tree(tmp_path) == {"x/out/good": b"x", "x/out/ok..txt": b"x"}
    failed = {line["source"] for line in done.lines if line["status"] == "failed"}
    assert failed == {bucket.uri(key) for key in keys} - {bucket.uri(k) for k in keys[4:6]}
    # The same by name; a bare '..' is refused, not a crash.
    assert cli("cp", bucket.uri("p/.."), f"{out}/").code == 1
    assert cli("cp", bucket.uri("p/.."), out / "dots").code == 0


# REPORTS cli-6.
def test_keys_that_differ_in_slashes_never_share_a_file(moto: MotoServer, tmp_path: Path) -> None:
    bucket, other, cli = make_bucket(moto), make_bucket(moto), Cli(moto)
    objects = {"d/a": b"12", "d//a": b"12345", "/a": b"1", "d/": b""}
    bucket.put_all(objects)
    assert cli("cp", "-r", bucket.uri(), other.uri()).code == 0
    assert other.all() == objects
    done = cli("cp", "-r", bucket.uri(), tmp_path / "out", "--json")
    assert done.code == 1
    assert tree(tmp_path / "out") == {"d/a": b"12"}
    failed = {line["source"]: line["error"] for line in done.lines if line["status"] == "failed"}
    assert sorted(failed) == sorted([bucket.uri("d//a"), bucket.uri("/a")])
    assert "'//'" in failed[bucket.uri("d//a")]


def test_a_key_and_a_folder_of_one_name_clash(cli: Cli, bucket: Bucket, tmp_path: Path) -> None:
    bucket.put_all({"x": b"file", "x/y": b"below", "z/": b"content of a marker"})
    done = cli("cp", "-r", bucket.uri(), tmp_path / "out")
    assert done.code == 1
    assert tree(tmp_path / "out") in ({"x": b"file"}, {"x/y": b"below"})
    assert "z/" in done.err


# REPORTS cli-7.
@pytest.mark.parametrize(
    "threshold", [[], ["--multipart-threshold", "5MiB", "--part-size", "5MiB"]]
)
def test_copies_within_the_server(
    cli: Cli, bucket: Bucket, other: Bucket, threshold: list[str]
) -> None:
    keys = ["k+1.bin", "k 2.bin", "k%41.bin", "k?x=1.bin", "\u00fc#.bin"]
    bodies = {key: os.urandom(12 << 20) for key in keys}
    for key, body in bodies.items():
        bucket.put(key, body, ContentType="x/y", Metadata={"kept": "yes"})
    done = cli("cp", "-r", bucket.uri(), other.uri("t"), *threshold)
    assert (done.code, done.err) == (0, "")
    assert other.all() == {f"t/{key}": body for key, body in bodies.items()}
    for key in keys:
        head = other.s3.head_object(Bucket=other.name, Key=f"t/{key}")
        assert (head["ContentType"], head["Metadata"]) == ("x/y", {"kept": "yes"})
    assert cli("cp", bucket.uri("k%41.bin"), other.uri("one/"), *threshold).code == 0
    assert other.get("one/k%41.bin") == bodies["k%41.bin"]


def test_copies_within_the_server_may_be_told_to_create_only(cli: Cli, bucket: Bucket) -> None:
    bucket.put_all({"d/a": b"new", "d/b": b"new", "t/a": b"old"})
    done = cli("cp", bucket.uri("d/a"), bucket.uri("t/a"), "--no-overwrite")
    assert done.code == 1
    assert "exists already" in done.err
    done = cli("cp", "-r", bucket.uri("d/"), bucket.uri("t/"), "--no-overwrite", "--json")
    assert done.code == 1
    assert bucket.get("t/a") == b"old"
    assert bucket.get("t/b") == b"new"


def test_nothing_is_copied_into_or_onto_itself(cli: Cli, bucket: Bucket, other: Bucket) -> None:
    bucket.put_all({"d/a": b"1", "d/sub/b": b"2"})
    before = bucket.all()
    wrong_use = {
        ("-r", bucket.uri("d/"), bucket.uri("d/sub/")): "into itself",
        ("-r", bucket.uri("d"), bucket.uri("d/new")): "into itself",
        ("-r", bucket.uri(), bucket.uri("new/")): "into itself",
        ("-r", bucket.uri("d"), bucket.uri("d/")): "are the same",
        ("-r", bucket.uri(), bucket.uri()): "are the same",
        (bucket.uri("d/a"), bucket.uri("d/a")): "are the same",
        (bucket.uri("d/a"), bucket.uri("d/")): "are the same",
    }
    for arguments, says in wrong_use.items():
        done = cli("cp", *arguments)
        assert done.code == 2, arguments
        assert says in done.err, arguments
    assert bucket.all() == before
    for arguments in (
        (bucket.uri("d/a"), bucket.uri("d/a"), "--metadata", "x=1"),
        (bucket.uri("d/a"), bucket.uri("d/a"), "--storage-class", "STANDARD_IA"),
        (bucket.uri("d/a"), bucket.uri("d/a"), "--sse", "AES256"),
        ("-r", bucket.uri("d/"), bucket.uri("d/"), "--content-type", "x/y"),
        ("-r", bucket.uri("d/sub/"), bucket.uri("d/")),  # out of a folder
        ("-r", bucket.uri("d/"), bucket.uri("d-2/")),
        ("-r", bucket.uri("d/"), other.uri("d/sub/")),
    ):
        done = cli("cp", *arguments)
        assert (done.code, done.err) == (0, ""), arguments
    head = bucket.s3.head_object(Bucket=bucket.name, Key="d/a")
    assert (head["Metadata"], head["ContentType"]) == ({"x": "1"}, "x/y")


def test_ctrl_c_leaves_no_open_upload(cli: Cli, bucket: Bucket) -> None:
    with cli.start(
        "cp", "-", bucket.uri("k"), "--part-size", "5MiB", stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(BIG)
        process.stdin.flush()
        wait_for(bucket.uploads, "the upload to begin")
        process.send_signal(signal.SIGINT)  # while it waits for more input
        assert process.wait(30) == -signal.SIGINT
    assert bucket.uploads() == []
    assert bucket.all() == {}


def test_ctrl_c_ends_a_write_into_a_pipe_that_nobody_empties(cli: Cli, bucket: Bucket) -> None:
    bucket.put("k", BIG)
    with cli.start(
        "cp", bucket.uri("k"), "-", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        pipe = process.stdout.fileno()

        def is_full() -> bool:
            held = array.array("i", [0])
            fcntl.ioctl(pipe, termios.FIONREAD, held)
            return held[0] > 61440

        wait_for(is_full, "the pipe to be full")
        os.read(pipe, 4096)  # now there is room, but not for much
        wait_for(is_full, "the next bytes")
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == -signal.SIGINT


def test_verify_needs_a_file(cli: Cli, bucket: Bucket, tmp_path: Path) -> None:
    bucket.put("k", b"x")
    done = cli("cp", "--verify", bucket.uri("k"), "-")
    assert (done.code, done.out) == (2, b"")
    assert "--verify needs a file" in done.err
    done = cli("cp", "--verify", bucket.uri("k"), "/dev/stderr")
    assert done.code == 1
    assert "--verify needs a file" in done.err


def test_ctrl_c_leaves_no_half_file(tmp_path: Path) -> None:
    with EmbeddedServer(["--bytes-per-second", "2000000"]) as slow:
        filled = make_bucket(slow)
        filled.put_all({f"p/{i}": BIG for i in range(3)})
        out = tmp_path / "out"
        with Cli(slow).start(
            "cp", "-r", filled.uri("p"), out, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        ) as process:
            wait_for(lambda: list(out.glob(".*.part")), "the downloads to begin")
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == -signal.SIGINT
        assert not out.exists()


def test_the_rest_is_not_tried_when_nothing_can_be_reached(cli: Cli, tmp_path: Path) -> None:
    write_tree(tmp_path, {f"{i}": b"x" for i in range(200)})
    with socket.create_server(("127.0.0.1", 0)) as held:
        endpoint = f"http://127.0.0.1:{held.getsockname()[1]}"
    done = cli(
        "cp", "-r", tmp_path, "s3://bucket", "--endpoint-url", endpoint, "--max-attempts", "2"
    )
    assert done.code == 1
    failed, rest = done.err.count("upload failed"), done.err.splitlines()[-1]
    assert 16 <= failed <= 80
    assert rest == (
        f"headrace cp: {200 - failed} more were not tried, because the endpoint cannot be reached"
    )


def test_errors_say_what_to_do(cli: Cli, bucket: Bucket, tmp_path: Path) -> None:
    write_tree(tmp_path, {"file": b"x", "folder/x": b"x"})
    file, folder = str(tmp_path / "file"), str(tmp_path / "folder")
    wrong_use = {
        ("cp", file, folder): "is an S3 address",
        ("cp", folder, bucket.uri()): "add --recursive",
        ("cp", "-r", file, bucket.uri()): "leave out --recursive",
        ("cp", "-r", bucket.uri(), file): "is not a folder",
        ("cp", bucket.uri(), folder): "add --recursive",
        ("cp", bucket.uri("d/"), folder): "add --recursive",
        ("cp", "-", bucket.uri()): "has no name",
        ("cp", "-r", "-", bucket.uri()): "--recursive cannot",
        ("cp", "s3:/x/y", file): "",
        ("cp", "s3://x y/z", file): "only letters, digits",
        ("cp", file, bucket.uri("k"), "--part-size", "big"): "--part-size: 'big' is not a size",
        ("cp", file, bucket.uri("k"), "--metadata", "x"): "write NAME=VALUE",
        ("cp", file, bucket.uri("k"), "--include", "x"): "need --recursive",
        ("cp", file, bucket.uri("k"), "--endpoint-url", "localhost"): "write http://HOST:PORT",
        ("rm", bucket.uri()): "add --recursive",
        ("rm", "file"): "write s3://bucket/key",
        ("cat", bucket.uri()): "name an object",
        ("cat", bucket.uri("k"), "--range", "9-1"): "write FIRST-LAST",
        ("stat", bucket.uri()): "name an object",
        ("ls", "bucket"): "write s3://bucket/key",
        ("cp", file): "TARGET is required",
        ("nonsense",): "",
    }
    for arguments, says in wrong_use.items():
        done = cli(*arguments)
        assert done.code == 2, (arguments, done)
        assert says in done.err + done.text, (arguments, done)
    failures = {
        ("cp", str(tmp_path / "none"), bucket.uri()): "No such file",
        ("cp", bucket.uri("none"), file): "no such object",
        ("cp", "s3://headrace-no-such-bucket/k", file): "no such bucket",
        ("cp", "-r", bucket.uri("none"), folder): "nothing stands under",
        ("cat", bucket.uri("none")): "no such object",
        ("ls", bucket.uri("none")): "nothing stands under",
        ("cp", "-r", "/proc/self/none", bucket.uri()): "No such file",
    }
    for arguments, says in failures.items():
        done = cli(*arguments)
        assert done.code == 1, (arguments, done)
        assert says in done.err, (arguments, done)
    assert (tmp_path / "file").read_bytes() == b"x"  # a failed download leaves the old one
    assert bucket.all() == {}


def test_unusual_files_are_told_and_the_rest_goes_on(
    cli: Cli, bucket: Bucket, tmp_path: Path
) -> None:
    write_tree(tmp_path, ["a", "d/b"])
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "broken").symlink_to("nowhere")
    (tmp_path / "d" / "circle").symlink_to(tmp_path)
    (tmp_path / "linked").symlink_to("a")
    done = cli("cp", "-r", tmp_path, bucket.uri("p"))
    assert done.code == 1
    assert sorted(bucket.all()) == ["p/a", "p/d/b", "p/linked"]
    for name in ("pipe", "broken", "circle"):
        assert name in done.err
    assert cli("cp", "-r", tmp_path / "d", bucket.uri("q"), "--no-follow-symlinks").code == 0
    assert sorted(key for key in bucket.all() if key.startswith("q/")) == ["q/b"]
