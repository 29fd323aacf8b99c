from __future__ import annotations

import contextlib
import csv
import gc
import io
import multiprocessing
import os
import pickle
import random
import signal
import tarfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import boto3
import pytest

import headrace
from servers import EmbeddedServer

PART = headrace.ClientConfig().part_size
BODY = os.urandom(3 * PART + 17)


@pytest.fixture
def uploads(server: EmbeddedServer, bucket: str) -> Any:
    """A function that gives the keys of the bucket's open multipart uploads."""
    s3 = boto3.client("s3", endpoint_url=server.endpoint)

    def open_uploads() -> list[str]:
        answer = s3.list_multipart_uploads(Bucket=bucket[5:])
        return [upload["Key"] for upload in answer.get("Uploads", [])]

    return open_uploads


@pytest.fixture
def slow() -> Iterator[headrace.Client]:
    """A client of a server that answers after 0.4 s, with BODY as s3://bucket/key."""
    with EmbeddedServer(["--first-byte-ms", "400", "--first-byte-sigma", "0"]) as server:
        client = headrace.Client(
            region=server.region,
            endpoint_url=server.endpoint,
            config=headrace.ClientConfig(
                access_key_id=server.access_key, secret_access_key=server.secret_key
            ),
        )
        client.create_bucket("bucket")
        client.put("s3://bucket/key", BODY)
        yield client


@contextlib.contextmanager
def alarm(seconds: float, handle: Callable[[int, Any], None], again: float = 0) -> Iterator[None]:
    """Has `handle` called so many seconds from now: once, or again and again after so many."""
    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, seconds, again)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class TestReader:
    @pytest.mark.parametrize("size", [0, 1, PART - 1, PART, PART + 1, 3 * PART + 17])
    def test_reads_every_size_in_every_way(
        self, client: headrace.Client, bucket: str, size: int
    ) -> None:
        body = BODY[:size]
        client.put(f"{bucket}/key", body)
        with client.open(f"{bucket}/key") as reader:
            assert reader.read() == body
            assert reader.read() == b"" and reader.read(1) == b"" and reader.read(0) == b""
            assert reader.seek(0, os.SEEK_END) == size == reader.tell() == reader.size
            assert reader.seek(0) == 0
            target = bytearray(size + 10)
            assert reader.readinto(target) == size
            assert target[:size] == body
            assert reader.readinto(target) == 0
            assert reader.readinto(bytearray(0)) == 0
            reader.seek(size + 5)
            assert reader.read(5) == b"" and reader.tell() == size + 5
            reader.seek(-min(size, 3), os.SEEK_END)
            assert reader.read(10) == body[size - min(size, 3) :]
            reader.seek(0)
            assert reader.read(None) == body
            assert b"".join(iter(lambda: reader.read1(), b"")) == b""

    def test_seeks_as_files_do(self, client: headrace.Client, bucket: str) -> None:
        client.put(f"{bucket}/key", BODY)
        reader = client.open(f"{bucket}/key")
        generator = __import__("random").Random(1)
        for _ in range(50):
            place, count = generator.randrange(len(BODY)), generator.randrange(200_000)
            assert reader.seek(place) == place
            assert reader.read(count) == BODY[place : place + count]
            assert reader.tell() == min(place + count, len(BODY))
        reader.seek(10)
        assert reader.seek(5, os.SEEK_CUR) == 15
        with pytest.raises(ValueError, match="negative"):
            reader.seek(-16, os.SEEK_CUR)
        with pytest.raises(ValueError, match="whence"):
            reader.seek(0, 9)
        assert reader.tell() == 15

    def test_is_a_proper_io_object(self, client: headrace.Client, bucket: str) -> None:
        client.put(f"{bucket}/key", "zwölf\nlines\n".encode())
        reader = client.open(f"{bucket}/key")
        assert isinstance(reader, io.BufferedIOBase)
        assert reader.readable() and reader.seekable() and not reader.writable()
        assert reader.name == f"{bucket}/key"
        assert list(io.TextIOWrapper(reader, "utf-8")) == ["zwölf\n", "lines\n"]
        with pytest.raises(OSError):
            reader.fileno()
        reader.close()
        reader.close()
        with pytest.raises(ValueError, match="closed"):
            reader.read()

    def test_tarfile_reads_through_it(self, client: headrace.Client, bucket: str) -> None:
        with (
            client.open(f"{bucket}/a.tar", "wb") as writer,
            tarfile.open(fileobj=writer, mode="w|") as tar,
        ):
            for number in range(20):
                info = tarfile.TarInfo(f"{number}.bin")
                info.size = 10_000
                tar.addfile(info, io.BytesIO(BODY[number : number + 10_000]))
        with client.open(f"{bucket}/a.tar") as reader, tarfile.open(fileobj=reader) as tar:
            member = tar.extractfile("13.bin")
            assert member is not None and member.read() == BODY[13:10_013]
            assert len(tar.getnames()) == 20

    def test_an_object_replaced_between_reads_is_never_mixed(
        self, client: headrace.Client, bucket: str
    ) -> None:
        client.put(f"{bucket}/key", BODY)
        reader = client.open(f"{bucket}/key")
        assert reader.read(10) == BODY[:10]
        client.put(f"{bucket}/key", bytes(len(BODY)))
        reader.seek(len(BODY) - 10)
        with pytest.raises(headrace.ObjectChanged):
            reader.read(10)

    def test_what_is_not_there_shows_at_open(self, client: headrace.Client, bucket: str) -> None:
        with pytest.raises(FileNotFoundError):
            client.open(f"{bucket}/missing")

    @pytest.mark.parametrize("mode", ["rw", "r+", "r+b", "a", "ab", "b", "rtb", ""])
    def test_other_modes_are_refused(self, client: headrace.Client, bucket: str, mode: Any) -> None:
        with pytest.raises(headrace.InvalidArgument, match="mode"):
            client.open(f"{bucket}/key", mode)

    def test_threads_that_share_it_take_turns(self, client: headrace.Client, bucket: str) -> None:
        client.put(f"{bucket}/key", BODY)
        reader = client.open(f"{bucket}/key")

        def use(seed: int) -> None:
            choose = random.Random(seed)
            for _ in range(300):
                # Its place is shared, so what comes is from anywhere: whole, and of the object.
                reader.seek(choose.randrange(len(BODY) - 1000))
                data = reader.read(choose.randrange(1, 1000))
                assert data in BODY

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(use, range(8)))

    def test_a_signal_handler_may_not_use_what_it_interrupts(self, slow: headrace.Client) -> None:
        reader = slow.open("s3://bucket/key")
        refused: list[str] = []

        def handle(number: int, frame: object) -> None:
            for use in (lambda: reader.read(1), lambda: reader.seek(2)):
                with pytest.raises(RuntimeError, match="reentrant") as caught:
                    use()
                refused.append(str(caught.value))

        reader.seek(2 * PART)  # not read ahead
        with alarm(0.1, handle):
            assert reader.read(10) == BODY[2 * PART : 2 * PART + 10]
        assert len(refused) == 2

    @pytest.mark.parametrize("way", ["read", "readinto"])
    def test_threads_that_share_it_get_each_byte_once(
        self, client: headrace.Client, bucket: str, way: str
    ) -> None:
        client.put(f"{bucket}/key", BODY)
        reader = client.open(f"{bucket}/key")

        def take(_: int) -> list[bytes]:
            if way == "read":
                return list(iter(lambda: reader.read(50_000), b""))
            target = bytearray(50_000)
            return [bytes(target[:n]) for n in iter(lambda: reader.readinto(target), 0)]

        with ThreadPoolExecutor(8) as pool:
            blocks = [block for taken in pool.map(take, range(8)) for block in taken]
        assert sorted(blocks) == sorted(
            BODY[at : at + 50_000] for at in range(0, len(BODY), 50_000)
        )
        assert reader.tell() == len(BODY)

    def test_much_is_asked_of_a_small_object(self, client: headrace.Client, bucket: str) -> None:
        client.put(f"{bucket}/key", b"0123456789")
        reader = headrace.ObjectReader(client._native, f"{bucket}/key")
        assert reader.read(1 << 44) == b"0123456789"
        assert reader.seek(1) == 1 and reader.read(1 << 70) == b"123456789"

    def test_places_beyond_any_object(self, client: headrace.Client, bucket: str) -> None:
        client.put(f"{bucket}/key", b"0123456789")
        reader = client.open(f"{bucket}/key")
        assert reader.seek((1 << 63) - 1) and reader.read(1) == b""
        assert reader.readinto(bytearray(1)) == 0
        with pytest.raises(headrace.InvalidArgument, match="at most"):
            reader.seek(1 << 63)
        assert reader.tell() == (1 << 63) - 1

    def test_may_be_closed_while_another_thread_reads(
        self, client: headrace.Client, bucket: str
    ) -> None:
        client.put(f"{bucket}/key", BODY)
        for _ in range(30):
            reader = client.open(f"{bucket}/key")

            def read_on(reader: headrace.ObjectReader = reader) -> None:
                at = 0
                with contextlib.suppress(ValueError, headrace.InvalidArgument):  # closed
                    while data := reader.read(100_000):
                        assert data == BODY[at : at + len(data)]
                        at += len(data)

            thread = threading.Thread(target=read_on)
            thread.start()
            reader.read(0)
            reader.close()
            thread.join()


LINES = b"".join(b"%d," % number * (number % 7) + b"\n" for number in range(10_000))
CONTENTS = {
    "empty": b"",
    "one byte": b"x",
    "no final newline": b"a\nb",
    "newlines only": b"\n" * 20_000,
    "many short lines": LINES,
    "lines over several pieces": b"\n".join(b"x" * size for size in (8191, 8192, 8193, 50_000, 3)),
    "more than a part": b"y" * (PART + 5) + b"\r\nend\n",
}


class TestLines:
    @pytest.fixture(params=CONTENTS)
    def both(
        self, client: headrace.Client, bucket: str, request: pytest.FixtureRequest
    ) -> tuple[headrace.ObjectReader, io.BytesIO]:
        """A reader of an object, and what it is to be like."""
        client.put(f"{bucket}/key", CONTENTS[request.param])
        return client.open(f"{bucket}/key"), io.BytesIO(CONTENTS[request.param])

    def test_are_those_of_a_file(self, both: Any) -> None:
        reader, like = both
        assert list(reader) == list(like)
        assert reader.readline() == b"" == reader.peek()

    @pytest.mark.parametrize("hint", [-1, 0, 1, 10_000])
    def test_readlines(self, both: Any, hint: int) -> None:
        reader, memory = both
        like = io.BufferedReader(memory)  # as files do: memory stops a line earlier
        assert reader.readlines(hint) == like.readlines(hint)
        assert reader.tell() == like.tell()

    @pytest.mark.parametrize("limit", [0, 1, 9000])
    def test_readline_with_a_limit(self, both: Any, limit: int) -> None:
        reader, like = both
        for _ in range(20):
            assert reader.readline(limit) == like.readline(limit)
            assert reader.tell() == like.tell()

    def test_between_reads_and_seeks(self, both: Any) -> None:
        reader, like = both
        choose = random.Random(1)
        size = len(like.getvalue())
        for _ in range(500):
            count = choose.choice([0, 1, 10, 1000, 8192, 8193, 20_000])
            place = choose.randrange(size + 10)
            use: tuple[Any, ...] = choose.choice(
                [
                    ("readline",),
                    ("readline", count),
                    ("read", count),
                    ("readinto", bytearray(count)),
                    ("seek", place),
                    ("seek", -min(9, like.tell()), os.SEEK_CUR),
                ]
            )
            assert getattr(reader, use[0])(*use[1:]) == getattr(like, use[0])(*use[1:])
            assert next(reader, None) == next(like, None)
            assert reader.tell() == like.tell()
            seen = reader.peek()
            assert like.getvalue()[like.tell() :].startswith(seen)
            assert seen or like.tell() >= size

    def test_csv(self, client: headrace.Client, bucket: str) -> None:
        rows = [["a", "zwölf\nlines"], ["b", 'a "quote"']] * 2000
        with client.open(f"{bucket}/rows.csv", "w", newline="") as writer:
            csv.writer(writer).writerows(rows)
        with client.open(f"{bucket}/rows.csv", "r", newline="") as reader:
            assert list(csv.reader(reader)) == rows

    @pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
    def test_pickles(self, client: headrace.Client, bucket: str, protocol: int) -> None:
        values = [list(range(5000)), b"x" * 300_000, {"text": "zwölf"}, bytearray(100_000), None]
        with client.open(f"{bucket}/key", "wb") as writer:
            for value in values:
                pickle.dump(value, writer, protocol)
            writer.write(b"rest")
        with client.open(f"{bucket}/key") as reader:
            assert [pickle.load(reader) for _ in values] == values
            assert reader.read() == b"rest"

    def test_ask_the_engine_about_once_a_piece(self, client: headrace.Client, bucket: str) -> None:
        client.put(f"{bucket}/key", LINES)
        reader = client.open(f"{bucket}/key")
        native = reader._reader()
        sizes: list[int] = []

        class Counting:
            def read(self, offset: int, size: int) -> bytes:
                sizes.append(size)
                return native.read(offset, size)

            def __getattr__(self, name: str) -> Any:
                return getattr(native, name)

        reader._native = Counting()  # type: ignore[assignment]
        assert sum(1 for _ in reader) == 10_000
        assert len(sizes) < len(LINES) / 1000
        # Large reads go straight to the engine, also from within what was peeked at.
        sizes.clear()
        reader.seek(0)
        assert reader.readline() == b"\n"
        assert reader.read(100_000) == LINES[1:100_001]
        assert sizes[-1] == 100_000

    def test_end_with_the_reader(self, client: headrace.Client, bucket: str) -> None:
        client.put(f"{bucket}/key", LINES)
        reader = client.open(f"{bucket}/key")
        assert reader.peek() == reader.peek(1) == LINES[: len(reader.peek())] != b""
        reader.close()
        for use in (reader.peek, reader.read1, reader.readline):
            with pytest.raises(ValueError, match="closed"):
                use()

    def test_a_child_does_not_go_on_with_lines_of_another_version(
        self, client: headrace.Client, bucket: str
    ) -> None:
        client.put(f"{bucket}/key", LINES)
        reader = client.open(f"{bucket}/key")
        assert reader.readline() == b"\n"

        def child(expected: bytes | None) -> None:
            if expected is not None:
                assert reader.readline() == expected
                return
            with pytest.raises(headrace.ObjectChanged):
                reader.readline()

        def run(expected: bytes | None) -> int | None:
            fork = multiprocessing.get_context("fork")
            process = fork.Process(target=child, args=(expected,))
            process.start()
            process.join(60)
            return process.exitcode

        assert run(b"1,\n") == 0
        client.put(f"{bucket}/key", LINES[::-1])
        assert run(None) == 0
        assert reader.readline() == b"1,\n"

    def test_threads_that_share_it_get_whole_lines(
        self, client: headrace.Client, bucket: str
    ) -> None:
        client.put(f"{bucket}/key", LINES)
        reader = client.open(f"{bucket}/key")
        with ThreadPoolExecutor(8) as pool:
            taken = list(pool.map(lambda _: list(reader), range(8)))
        assert sorted(line for lines in taken for line in lines) == sorted(
            LINES.splitlines(keepends=True)
        )


class TestText:
    def test_is_published_on_close(self, client: headrace.Client, bucket: str) -> None:
        writer = client.open(f"{bucket}/key", "w", content_type="text/plain")
        assert isinstance(writer, headrace.TextWriter) and isinstance(writer, io.TextIOBase)
        assert writer.write("zwölf\n") == 6
        writer.writelines(["and ", "more\n"])
        print("lines", file=writer)
        writer.flush()
        with pytest.raises(headrace.NotFound):
            client.head(f"{bucket}/key")
        writer.close()
        writer.close()
        assert bytes(client.get(f"{bucket}/key")) == "zwölf\nand more\nlines\n".encode()
        assert client.head(f"{bucket}/key").content_type == "text/plain"
        with pytest.raises(ValueError, match="closed"):
            writer.write("x")
        writer.abort()
        with client.open(f"{bucket}/key", "r") as reader:
            assert reader.readlines() == ["zwölf\n", "and more\n", "lines\n"]

    @pytest.mark.parametrize("length", [10, PART])
    @pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
    def test_an_exception_publishes_nothing(
        self,
        client: headrace.Client,
        bucket: str,
        length: int,
        error: type[BaseException],
        uploads: Any,
    ) -> None:
        client.put(f"{bucket}/key", b"old")
        with pytest.raises(error, match="the user's"), client.open(f"{bucket}/key", "w") as writer:
            for _ in range(3):
                writer.write("x" * length)
            raise error("the user's")
        writer.close()
        assert bytes(client.get(f"{bucket}/key")) == b"old"
        assert uploads() == []

    @pytest.mark.parametrize("length", [10, PART])
    def test_dropping_it_unclosed_publishes_nothing(
        self, client: headrace.Client, bucket: str, length: int, uploads: Any
    ) -> None:
        client.put(f"{bucket}/key", b"old")
        for in_a_cycle in (False, True):
            writer: Any = client.open(f"{bucket}/key", "w")
            writer.write("x" * length)
            writer.write("x" * length)
            if in_a_cycle:
                writer.cycle = writer
            del writer
            gc.collect()
        assert bytes(client.get(f"{bucket}/key")) == b"old"
        assert uploads() == []

    def test_abort_publishes_nothing(self, client: headrace.Client, bucket: str) -> None:
        client.put(f"{bucket}/key", b"old")
        with client.open(f"{bucket}/key", "w") as writer:
            writer.write("x")
            writer.abort()
            with pytest.raises(ValueError, match="closed"):
                writer.write("x")
        assert bytes(client.get(f"{bucket}/key")) == b"old"

    def test_what_cannot_be_encoded_publishes_nothing(
        self, client: headrace.Client, bucket: str
    ) -> None:
        client.put(f"{bucket}/key", b"old")
        with (
            pytest.raises(UnicodeEncodeError),
            client.open(f"{bucket}/key", "w", encoding="ascii") as writer,
        ):
            print("zw", "ölf", file=writer)
        writer = client.open(f"{bucket}/key", "w", encoding="ascii")
        with pytest.raises(UnicodeEncodeError):
            writer.writelines(["zw", "ölf"])
        with pytest.raises(headrace.InvalidArgument, match="a write failed before"):
            writer.close()
        writer.close()
        assert bytes(client.get(f"{bucket}/key")) == b"old"

    @pytest.mark.parametrize("way", ["close", "flush", "detach"])
    def test_a_failed_flush_publishes_nothing(
        self, client: headrace.Client, bucket: str, monkeypatch: pytest.MonkeyPatch, way: str
    ) -> None:
        client.put(f"{bucket}/key", b"old")
        writer = client.open(f"{bucket}/key", "w")
        writer.write("pending")

        def fail(data: object) -> int:
            raise OSError("of the flush")

        monkeypatch.setattr(writer.buffer, "write", fail)
        with pytest.raises(OSError, match="of the flush"):
            getattr(writer, way)()
        with pytest.raises(headrace.InvalidArgument, match="a write failed before"):
            writer.close()
        writer.close()
        with pytest.raises(ValueError, match="closed"):
            writer.flush()
        assert bytes(client.get(f"{bucket}/key")) == b"old"

    def test_an_error_of_the_service_reaches_the_caller(self, client: headrace.Client) -> None:
        with pytest.raises(headrace.NotFound), client.open("s3://no-such-bucket/key", "w") as file:
            file.write("x")
        writer = client.open("s3://no-such-bucket/key", "w")
        with pytest.raises(headrace.NotFound):
            for _ in range(8):
                writer.write("x" * PART)
        with pytest.raises(headrace.InvalidArgument, match="a write failed before"):
            writer.close()

    def test_goes_on_after_an_argument_of_the_wrong_type(
        self, client: headrace.Client, bucket: str
    ) -> None:
        with client.open(f"{bucket}/key", "w") as writer:
            with pytest.raises(TypeError):
                writer.write(b"x")  # type: ignore[arg-type]
            writer.write("good")
        assert bytes(client.get(f"{bucket}/key")) == b"good"

    def test_create_only(self, client: headrace.Client, bucket: str) -> None:
        with client.open(f"{bucket}/key", "x") as writer:
            writer.write("first")
        with pytest.raises(FileExistsError), client.open(f"{bucket}/key", "xt") as writer:
            writer.write("second")
        assert bytes(client.get(f"{bucket}/key")) == b"first"

    def test_nested_blocks_publish_once(self, client: headrace.Client, bucket: str) -> None:
        with pytest.raises(RuntimeError), client.open(f"{bucket}/key", "w") as writer:
            with writer:
                writer.write("whole")
            raise RuntimeError("after it was published")
        assert bytes(client.get(f"{bucket}/key")) == b"whole"

    def test_detach_hands_over_what_publishes(self, client: headrace.Client, bucket: str) -> None:
        writer = client.open(f"{bucket}/key", "w")
        writer.write("text, ")
        binary = writer.detach()
        with pytest.raises(ValueError, match="detached"):
            writer.write("x")
        with pytest.raises(ValueError, match="detached"):
            writer.close()
        del writer
        gc.collect()
        assert isinstance(binary, headrace.ObjectWriter)
        binary.write(b"bytes")
        binary.close()
        assert bytes(client.get(f"{bucket}/key")) == b"text, bytes"

    def test_an_exception_after_detach_publishes_nothing(
        self, client: headrace.Client, bucket: str
    ) -> None:
        with pytest.raises(RuntimeError), client.open(f"{bucket}/key", "w") as writer:
            writer.write("x")
            binary = writer.detach()
            raise RuntimeError
        binary.close()
        with pytest.raises(headrace.NotFound):
            client.head(f"{bucket}/key")

    @pytest.mark.parametrize("encoding", [None, "utf-8-sig", "UTF16", "utf-16-le", "utf-32"])
    @pytest.mark.parametrize("newline", [None, "", "\n", "\r", "\r\n"])
    def test_newlines_and_encodings_are_those_of_files(
        self,
        client: headrace.Client,
        bucket: str,
        tmp_path: Path,
        encoding: str | None,
        newline: str | None,
    ) -> None:
        text = "a\nzwölf\r\nc\rd" * 3000
        path = tmp_path / "file"
        with (
            client.open(f"{bucket}/key", "wt", encoding=encoding, newline=newline) as writer,
            path.open("w", encoding=encoding or "utf-8", newline=newline) as file,
        ):
            writer.write(text)
            file.write(text)
        assert bytes(client.get(f"{bucket}/key")) == path.read_bytes()
        with (
            client.open(f"{bucket}/key", "rt", encoding=encoding, newline=newline) as reader,
            path.open(encoding=encoding or "utf-8", newline=newline) as file,
        ):
            assert list(reader) == list(file)
            assert reader.seek(0) == 0 and file.seek(0) == 0
            assert reader.read(7) == file.read(7)
            place = reader.tell()
            assert place == file.tell()
            rest = reader.read()
            assert rest == file.read()
            assert reader.seek(place) == place and reader.read() == rest

    def test_errors_of_encoding_are_handled_as_asked(
        self, client: headrace.Client, bucket: str
    ) -> None:
        with client.open(f"{bucket}/key", "w", encoding="ascii", errors="replace") as writer:
            writer.write("zwölf")
        assert bytes(client.get(f"{bucket}/key")) == b"zw?lf"
        client.put(f"{bucket}/key", b"zw\xf6lf")
        with client.open(f"{bucket}/key", "r", errors="ignore") as reader:
            assert reader.read() == "zwlf"
        with pytest.raises(UnicodeDecodeError), client.open(f"{bucket}/key", "r") as reader:
            reader.read()

    @pytest.mark.parametrize("mode", ["rb", "wb", "xb"])
    @pytest.mark.parametrize("option", ["encoding", "errors", "newline"])
    def test_its_options_are_refused_for_bytes(
        self, client: headrace.Client, bucket: str, mode: Any, option: str
    ) -> None:
        options: dict[str, Any] = {option: ""}
        with pytest.raises(headrace.InvalidArgument, match=f"{option}.* only for text"):
            client.open(f"{bucket}/key", mode, **options)

    def test_what_is_not_there_shows_at_open(self, client: headrace.Client, bucket: str) -> None:
        with pytest.raises(FileNotFoundError):
            client.open(f"{bucket}/missing", "r")

    def test_options_of_new_objects_are_refused_for_reading(
        self, client: headrace.Client, bucket: str
    ) -> None:
        options: dict[str, Any] = {"content_type": "text/plain"}
        with pytest.raises(headrace.InvalidArgument, match="content_type: only for writing"):
            client.open(f"{bucket}/key", "r", **options)


class TestWriter:
    def test_what_a_signal_raises_while_one_is_dropped_is_not_lost(
        self, slow: headrace.Client
    ) -> None:
        writer = slow.open("s3://bucket/large", "wb")
        writer.write(BODY)

        def handle(number: int, frame: object) -> None:
            raise InterruptedError("raised by the handler")

        with pytest.raises(InterruptedError), alarm(0.1, handle):
            del writer
            for _ in range(100):  # the handler runs at the latest here
                pass

    def test_signals_while_an_upload_is_aborted_hide_nothing(self, slow: headrace.Client) -> None:
        heard: list[int] = []

        def handle(number: int, frame: object) -> None:
            heard.append(number)
            if len(heard) == 1:
                raise InterruptedError("raised by the handler")

        # At 0.6 s the parts are under way; to abort takes until 1 s.
        with pytest.raises(InterruptedError, match="handler"), alarm(0.6, handle, again=0.05):
            slow.put("s3://bucket/large", b"x" * (20 << 20))
        assert len(heard) > 2

    @pytest.mark.parametrize("size", [10, len(BODY)])
    def test_create_only_finds_the_same_bytes_by_somebody_else(
        self, client: headrace.Client, bucket: str, uploads: Any, size: int
    ) -> None:
        client.put(f"{bucket}/key", BODY[:size])
        with pytest.raises(headrace.AlreadyExists):
            client.put(f"{bucket}/key", BODY[:size], if_none_match=True)
        writer = client.open(f"{bucket}/key", "xb")
        writer.write(BODY[:size])
        with pytest.raises(headrace.AlreadyExists):
            writer.close()
        assert uploads() == []

    @pytest.mark.parametrize("size", [0, 1, PART, 3 * PART + 17])
    def test_publishes_on_close(
        self, client: headrace.Client, bucket: str, size: int, uploads: Any
    ) -> None:
        with client.open(f"{bucket}/key", "wb", content_type="image/jpeg") as writer:
            for place in range(0, size, 1 << 20):
                block = BODY[place : min(place + (1 << 20), size)]
                assert writer.write(block) == len(block)
            assert writer.tell() == size
            with pytest.raises(headrace.NotFound):
                client.head(f"{bucket}/key")
        assert bytes(client.get(f"{bucket}/key")) == BODY[:size]
        head = client.head(f"{bucket}/key")
        assert (head.content_type, head.etag) == ("image/jpeg", writer.etag)
        assert uploads() == []
        with pytest.raises(ValueError, match="closed"):
            writer.write(b"x")

    @pytest.mark.parametrize("size", [1 << 10, 9 << 20, 3 * PART])
    @pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
    def test_an_exception_publishes_nothing(
        self,
        client: headrace.Client,
        bucket: str,
        size: int,
        error: type[BaseException],
        uploads: Any,
    ) -> None:
        client.put(f"{bucket}/key", b"old")
        with pytest.raises(error, match="the user's"), client.open(f"{bucket}/key", "wb") as writer:
            writer.write(BODY[:size])
            raise error("the user's")
        assert bytes(client.get(f"{bucket}/key")) == b"old"
        assert uploads() == []

    def test_dropping_it_unclosed_publishes_nothing(
        self, client: headrace.Client, bucket: str, uploads: Any
    ) -> None:
        writer = client.open(f"{bucket}/key", "wb")
        writer.write(BODY)
        del writer
        gc.collect()
        with pytest.raises(headrace.NotFound):
            client.head(f"{bucket}/key")
        assert uploads() == []

    def test_create_only(self, client: headrace.Client, bucket: str) -> None:
        with client.open(f"{bucket}/key", "xb") as writer:
            writer.write(b"first")
        with pytest.raises(FileExistsError), client.open(f"{bucket}/key", "xb") as writer:
            writer.write(b"second")
        assert bytes(client.get(f"{bucket}/key")) == b"first"

    def test_a_bucket_that_is_not_there(self, client: headrace.Client) -> None:
        with pytest.raises(headrace.NotFound), client.open("s3://no-such-bucket/key", "wb") as w:
            w.write(b"x")

    def test_threads_that_share_it_take_turns(self, client: headrace.Client, bucket: str) -> None:
        with client.open(f"{bucket}/key", "wb") as writer, ThreadPoolExecutor(6) as pool:
            pieces = [bytes([i]) * 100_000 for i in range(200)]
            list(pool.map(writer.write, pieces))
        got = bytes(client.get(f"{bucket}/key"))
        assert sorted(got[at : at + 100_000] for at in range(0, len(got), 100_000)) == pieces

    def test_goes_on_after_an_argument_of_the_wrong_type(
        self, client: headrace.Client, bucket: str
    ) -> None:
        with client.open(f"{bucket}/key", "wb") as writer:
            writer.write(b"good")
            with pytest.raises(TypeError):
                writer.write(None)  # type: ignore[arg-type]
            writer.write(b" and more")
        assert bytes(client.get(f"{bucket}/key")) == b"good and more"

    def test_close_says_that_an_earlier_write_failed(self, client: headrace.Client) -> None:
        writer = client.open("s3://no-such-bucket-here/key", "wb")
        with pytest.raises(headrace.NotFound):
            for _ in range(4):
                writer.write(BODY)
        with pytest.raises(headrace.InvalidArgument, match="a write failed before"):
            writer.close()
        writer.close()
