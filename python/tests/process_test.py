"""Forks, signals and the end of the interpreter: each in processes of its own."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import boto3
import pytest

import headrace
from servers import EmbeddedServer

BODY = os.urandom(1 << 20)


def in_child(work: object) -> int:
    """Runs `work` in a forked child; its exit status, 0 when it returned."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()  # type: ignore[operator]
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def descriptors() -> dict[str, str]:
    found = {}
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            found[entry.name] = str(entry.readlink())
    return found


def test_a_child_uses_what_it_inherited(client: headrace.Client, bucket: str) -> None:
    client.put(f"{bucket}/key", BODY)
    reader = client.open(f"{bucket}/key")
    assert reader.read(100) == BODY[:100]
    sockets = {value for value in descriptors().values() if value.startswith("socket:")}

    def child() -> None:
        assert bytes(client.get(f"{bucket}/key")) == BODY
        assert reader.read(100) == BODY[100:200]
        # The child works over connections of its own.
        mine = {value for value in descriptors().values() if value.startswith("socket:")}
        assert mine - sockets
        gc.collect()

    assert in_child(child) == 0
    assert in_child(child) == 0
    # The parent's go on as if nothing had been.
    assert reader.read(100) == BODY[100:200]
    assert bytes(client.get(f"{bucket}/key")) == BODY


def test_a_childs_reader_stays_with_its_version(client: headrace.Client, bucket: str) -> None:
    client.put(f"{bucket}/key", BODY)
    asked_its_size, by_read, by_readinto = (client.open(f"{bucket}/key") for _ in range(3))
    assert asked_its_size.size == len(BODY)
    assert by_read.read(100) == BODY[:100]
    assert by_readinto.readinto(bytearray(100)) == 100
    client.put(f"{bucket}/key", BODY[::-1])

    def child() -> None:
        for reader in (asked_its_size, by_read, by_readinto):
            with pytest.raises(headrace.ObjectChanged):
                reader.read(100)

    assert in_child(child) == 0


class StuckReader:
    """A native reader that answers nothing until it is told to."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.asked = threading.Event()
        self.ends = threading.Event()

    def alive(self) -> bool:
        return os.getpid() == self.process

    def read(self, offset: int, size: int) -> bytes:
        self.asked.set()
        assert self.ends.wait(60)
        return b"x" * size

    def etag(self) -> str:
        return ""

    def close(self) -> None:
        pass


def test_a_child_reads_though_a_thread_of_its_parent_did(
    client: headrace.Client, bucket: str
) -> None:
    client.put(f"{bucket}/key", BODY)
    reader = client.open(f"{bucket}/key")
    stuck = StuckReader()
    reader._native = stuck  # type: ignore[assignment]
    thread = threading.Thread(target=reader.read, args=(100,))
    thread.start()
    assert stuck.asked.wait(60)

    def child() -> None:
        signal.alarm(20)
        assert reader.read(100) == BODY[:100]

    try:
        assert in_child(child) == 0
    finally:
        stuck.ends.set()
        thread.join()


def test_closing_does_not_wait_for_a_read(client: headrace.Client, bucket: str) -> None:
    client.put(f"{bucket}/key", BODY)
    reader = client.open(f"{bucket}/key")
    stuck = StuckReader()
    reader._native = stuck  # type: ignore[assignment]
    with ThreadPoolExecutor(2) as pool:
        reading = pool.submit(reader.read, 100)
        assert stuck.asked.wait(60)
        waiting = pool.submit(reader.read, 100)
        try:
            reader.close()
        finally:
            stuck.ends.set()
        assert reading.result() == b"x" * 100
        with pytest.raises(ValueError, match="closed"):
            waiting.result()


def test_a_child_of_a_child(client: headrace.Client, bucket: str) -> None:
    client.put(f"{bucket}/key", BODY)

    def child() -> None:
        assert bytes(client.get(f"{bucket}/key")) == BODY
        assert in_child(lambda: client.get(f"{bucket}/key")) == 0
        assert bytes(client.get(f"{bucket}/key")) == BODY

    assert in_child(child) == 0


def test_a_fork_amid_fetches(client: headrace.Client, bucket: str) -> None:
    uris = [f"{bucket}/{number}" for number in range(20)]
    for uri in uris:
        client.put(uri, BODY)
    for _ in range(5):
        results = client.get_many(uris * 5)
        assert bytes(next(results)) == BODY

        def child() -> None:
            assert bytes(client.get(uris[0])) == BODY
            with pytest.raises(headrace.InvalidArgument, match="forked"):
                next(results)  # noqa: B023
            gc.collect()

        assert in_child(child) == 0
        assert sum(len(data) for data in results) == 99 * len(BODY)


def test_a_child_that_only_ends(client: headrace.Client, bucket: str) -> None:
    client.put(f"{bucket}/key", BODY)
    kept = client.get(f"{bucket}/key")
    writer = client.open(f"{bucket}/written", "wb")
    writer.write(BODY)
    process = multiprocessing.get_context("fork").Process(target=gc.collect)
    process.start()
    process.join(20)
    assert process.exitcode == 0
    writer.close()
    assert bytes(client.get(f"{bucket}/written")) == BODY == bytes(kept)


def fetch_hash(client: headrace.Client, uri: str) -> str:
    return hashlib.sha256(client.get(uri)).hexdigest()


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_client_travels_to_pools(client: headrace.Client, bucket: str, method: str) -> None:
    client.put(f"{bucket}/key", BODY)
    client.get(f"{bucket}/key")
    with multiprocessing.get_context(method).Pool(2) as pool:
        hashes = pool.starmap(fetch_hash, [(client, f"{bucket}/key")] * 8)
    assert hashes == [hashlib.sha256(BODY).hexdigest()] * 8


@pytest.fixture
def silent() -> Iterator[str]:
    """The endpoint of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


WAITS = {
    "get": "client.get('s3://bucket/key')",
    "get_many": "list(client.get_many(['s3://bucket/key'] * 100))",
    "list": "list(client.list('s3://bucket/'))",
    "put": "client.put('s3://bucket/key', b'x')",
    "open": "client.open('s3://bucket/key').read()",
    "read in its turn": (
        "reader = headrace.ObjectReader(client._native, 's3://bucket/key', size=10)\n"
        "    threading.Thread(target=reader.read, daemon=True).start()\n"
        "    while not any(turn.taken for turn in reader._turns.values()): pass\n"
        "    reader.read()"
    ),
    "delete": "client.delete([f's3://bucket/{i}' for i in range(5000)])",
}


@pytest.mark.parametrize("wait", WAITS)
def test_ctrl_c_ends_a_wait_at_once(silent: str, wait: str) -> None:
    setup = f"client = headrace.Client(endpoint_url={silent!r})\n"
    assert seconds_to_end(setup, WAITS[wait], dict(os.environ)) < 0.2


def test_ctrl_c_ends_a_batch_while_results_come_in(tmp_path: Path) -> None:
    rules = tmp_path / "faults.json"
    rules.write_text('[{"operation": "GetObject", "key": "first", "do": "stall", "ms": 30000}]')
    slow = ["--bytes-per-second", "100000", "--faults", str(rules), "--bucket", "bucket"]
    with EmbeddedServer(slow) as server:
        # Some thousand results a second, of sizes that do not come in at once: then it mostly waits
        # for several together.
        setup = (
            "client = headrace.Client()\n"
            "client.put('s3://bucket/first', b'')\n"
            "for size in range(2000, 8000, 250):\n"
            "    client.put(f's3://bucket/{size}', b'x' * size)\n"
            "others = [f's3://bucket/{size}' for size in range(2000, 8000, 250)] * 1000\n"
        )
        wait = "list(client.get_many(['s3://bucket/first', *others]))"
        took = seconds_to_end(setup, wait, {**os.environ, **server.environment()})
    assert took < 5  # the one in front stalls for 30


def seconds_to_end(setup: str, wait: str, environment: dict[str, str]) -> float:
    """How long a program waits on after Ctrl-C; it ends with KeyboardInterrupt, requests open."""
    script = (
        "import headrace, sys, threading, time\n"
        f"{setup}"
        "try:\n"
        "    print('waiting', flush=True)\n"
        f"    {wait}\n"
        "except KeyboardInterrupt:\n"
        "    print(time.time(), flush=True)\n"
        "    sys.exit(3)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    # Until the main thread sleeps in the engine: the interpreter's own loop would end at once.
    wait_until_it_waits(process.pid)
    sent = time.time()
    process.send_signal(signal.SIGINT)
    caught = process.stdout.readline()
    assert caught, "the process ended without KeyboardInterrupt"
    assert process.wait(5) == 3
    process.stdout.close()
    return float(caught) - sent


def wait_until_it_waits(pid: int) -> None:
    """Until the main thread has slept in a futex for a while, as it does in the engine."""
    futex = "202 "
    quiet = 0
    deadline = time.monotonic() + 10
    while quiet < 5 and time.monotonic() < deadline:
        time.sleep(0.01)
        quiet = quiet + 1 if Path(f"/proc/{pid}/syscall").read_text().startswith(futex) else 0
    assert quiet >= 5, "the process does not wait in the engine"


def run(script: str, environment: dict[str, str] | None = None) -> tuple[int, str, str]:
    """The status, output and errors of a Python process."""
    done = subprocess.run(
        [sys.executable, "-c", script],
        timeout=30,
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    return done.returncode, done.stdout, done.stderr


def test_ctrl_c_ends_the_search_for_a_region() -> None:
    """The metadata service is asked without the GIL: another thread takes the connection."""
    script = (
        "import headrace, os, signal, socket, threading, time\n"
        "listener = socket.create_server(('127.0.0.1', 0))\n"
        "os.environ.update(\n"
        "    AWS_EC2_METADATA_SERVICE_ENDPOINT=f'http://127.0.0.1:{listener.getsockname()[1]}',\n"
        "    AWS_METADATA_SERVICE_TIMEOUT='60', AWS_CONFIG_FILE=os.devnull)\n"
        "def interrupt():\n"
        "    connection, _ = listener.accept()\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    connection.recv(1 << 16)\n"
        "threading.Thread(target=interrupt).start()\n"
        "begin = time.monotonic()\n"
        "try:\n"
        "    headrace.Client()\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', time.monotonic() - begin < 3)\n"  # it would wait for five seconds
    )
    environment = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
    assert run(script, environment) == (0, "interrupted True\n", "")


def test_too_little_memory_is_a_memory_error(tmp_path: Path) -> None:
    """What the engine throws without the GIL arrives with it."""
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(1 << 32)
    script = (
        "import headrace, resource\n"
        "client = headrace.Client()\n"
        "pages = int(open('/proc/self/statm').read().split()[0])\n"
        "limit = pages * resource.getpagesize() + (256 << 20)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (limit, limit))\n"
        "try:\n"
        f"    client.get({str(large)!r})\n"
        "except MemoryError:\n"
        "    print('no memory')\n"
    )
    assert run(script) == (0, "no memory\n", "")


def test_a_signal_handler_may_use_the_client(client: headrace.Client, bucket: str) -> None:
    client.put(f"{bucket}/key", b"x" * 1000)
    seen: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(len(client.get(f"{bucket}/key"))))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        for _ in range(300):
            assert len(client.get(f"{bucket}/key")) == 1000
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert set(seen) == {1000}


@pytest.mark.parametrize(
    "rest",
    [
        "kept = client.get_many(uris)",
        "kept = client.get_many(uris); next(kept)",
        "kept = client.open(uris[0]); kept.read(1)",
        "kept = client.open(f'{bucket}/half', 'wb'); kept.write(b'x' * 30_000_000)",
        "import threading; threading.Thread(target=lambda: list(client.get_many(uris)), "
        "daemon=True).start()",
    ],
)
def test_the_interpreter_ends_with_work_under_way(
    client: headrace.Client, bucket: str, rest: str
) -> None:
    for number in range(8):
        client.put(f"{bucket}/{number}", BODY)
    script = (
        "import headrace\n"
        f"client = headrace.Client(); bucket = {bucket!r}\n"
        "uris = [f'{bucket}/{number % 8}' for number in range(200)]\n"
        f"{rest}\n"
    )
    assert run(script) == (0, "", "")
    assert f"{bucket}/half" not in [f"{bucket}/{info.key}" for info in client.list(f"{bucket}/")]


UPLOADS = {
    "a daemon thread that writes": (
        "    writer = client.open('s3://bucket/key', 'wb')\n    while True: writer.write(part)\n"
    ),
    "a daemon thread with an idle writer": (
        "    writer = client.open('s3://bucket/key', 'wb')\n"
        "    for _ in range(4): writer.write(part)\n"
        "    threading.Event().wait()\n"
    ),
    "a daemon thread amid a put": "    client.put('s3://bucket/key', bytes(1 << 29))\n",
    "a daemon thread that closes": (
        "    writer = client.open('s3://bucket/key', 'wb')\n"
        "    for _ in range(8): writer.write(part)\n"
        "    writer.close()\n"
    ),
    "a writer in a cycle": (
        "    writer = client.open('s3://bucket/key', 'wb')\n"
        "    for _ in range(4): writer.write(part)\n"
        "    kept = [writer]; kept.append(kept)\n"
    ),
}


@pytest.mark.parametrize("holder", UPLOADS)
def test_the_interpreter_ends_and_leaves_no_upload_open(
    slow_server: EmbeddedServer, holder: str
) -> None:
    script = (
        "import headrace, threading, time\n"
        "client = headrace.Client()\n"
        "part = bytes(8 << 20)\n"
        "def work():\n"
        f"{UPLOADS[holder]}"
        "threading.Thread(target=work, daemon=True).start()\n"
        "parts = 'headrace_requests_total{operation=\"upload_part\"}'\n"
        "while client.metrics()[parts] < 2: time.sleep(0.01)\n"
    )
    s3 = boto3.client(
        "s3",
        endpoint_url=slow_server.endpoint,
        aws_access_key_id=slow_server.access_key,
        aws_secret_access_key=slow_server.secret_key,
    )
    assert run(script, {**os.environ, **slow_server.environment()}) == (0, "", "")
    assert s3.list_multipart_uploads(Bucket="bucket").get("Uploads", []) == []
    assert s3.list_objects_v2(Bucket="bucket").get("Contents", []) == []


@pytest.fixture(scope="module")
def slow_server() -> Iterator[EmbeddedServer]:
    """One that takes longer to answer than the engine's waits go without a look at signals."""
    delays = ["--first-byte-ms=150", "--first-byte-sigma=0.01", "--bytes-per-second=20000000"]
    with EmbeddedServer(["--bucket=bucket", *delays]) as server:
        yield server


def test_the_interpreter_ends_in_time_though_an_abort_gets_no_answer() -> None:
    script = (
        "import headrace, threading\n"
        "client = headrace.Client()\n"
        "written = threading.Event()\n"
        "def work():\n"
        "    writer = client.open('s3://bucket/key', 'wb')\n"
        "    for _ in range(4): writer.write(bytes(8 << 20))\n"
        "    written.set()\n"
        "    threading.Event().wait()\n"
        "threading.Thread(target=work, daemon=True).start()\n"
        "written.wait()\n"
        "print('written', flush=True)\n"
        "input()\n"
    )
    with EmbeddedServer(["--bucket=bucket"]) as lost:
        process = subprocess.Popen(
            [sys.executable, "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **lost.environment()},
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "written\n"
        os.kill(lost.process.pid, signal.SIGSTOP)
        try:
            begin = time.monotonic()
            process.communicate("\n", timeout=30)
            assert process.returncode == 0
            assert 4 < time.monotonic() - begin < 9
        finally:
            os.kill(lost.process.pid, signal.SIGCONT)


def test_the_interpreter_ends_while_threads_come_back_from_the_engine() -> None:
    """Each close lets go of the GIL and takes it again; Python would end the thread there."""
    script = (
        "import headrace, threading, time\n"
        "client = headrace.Client()\n"
        "def work():\n"
        "    while True:\n"
        "        client._native.open_reader('s3://bucket/key', None, '', False).close()\n"
        "for _ in range(16):\n"
        "    threading.Thread(target=work, daemon=True).start()\n"
        "time.sleep(0.02)\n"
    )
    for _ in range(20):
        assert run(script) == (0, "", "")


def test_a_child_ends_though_a_thread_waited_for_the_gil(silent: str) -> None:
    script = (
        "import headrace, os, sys, threading\n"
        f"client = headrace.Client(endpoint_url={silent!r})\n"
        "for _ in range(16):\n"
        "    threading.Thread(target=lambda: client.get('s3://b/k'), daemon=True).start()\n"
        "for _ in range(20):\n"
        "    sum(range(3_000_000))\n"  # the threads look for signals meanwhile
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        sys.exit(0)\n"
        "    assert os.waitpid(child, 0)[1] == 0\n"
    )
    assert run(script) == (0, "", "")


def test_waiting_lets_other_threads_run(silent: str) -> None:
    script = (
        "import headrace, threading, time\n"
        f"client = headrace.Client(endpoint_url={silent!r})\n"
        "threading.Thread(target=lambda: client.get('s3://b/k'), daemon=True).start()\n"
        "begin = time.monotonic()\n"
        "count = sum(1 for _ in range(3_000_000))\n"
        "print(time.monotonic() - begin)\n"
    )
    status, output, errors = run(script)
    assert (status, errors) == (0, "")
    assert float(output) < 10
