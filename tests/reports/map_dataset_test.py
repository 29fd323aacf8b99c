"""Reports about map-style data sets (REPORTS.md, map-dataset)."""

from __future__ import annotations

import functools
import hashlib
import multiprocessing
import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="no torch for this Python")

import headrace  # noqa: E402
from cli.harness import Bucket, make_bucket  # noqa: E402
from headrace.torch import (  # noqa: E402
    DataLoader,
    S3MapDataset,
    S3Reader,
    S3ReaderConstructor,
)
from servers import Proxy, S3Server  # noqa: E402

from .support import LIMIT, MIB, client_of, config_of, held, is_get, random_bytes  # noqa: E402

pytestmark = pytest.mark.timeout(LIMIT)


def dataset_of(
    server: S3Server, uris: str | list[str], endpoint: str | None = None, **more: Any
) -> S3MapDataset:
    """All below a prefix, or the named objects."""
    config = config_of(server, **more.pop("settings", {}))
    how: dict[str, Any] = {"region": server.region, "endpoint": endpoint or server.endpoint}
    if isinstance(uris, str):
        return S3MapDataset.from_prefix(uris, s3client_config=config, **how, **more)
    return S3MapDataset.from_objects(uris, s3client_config=config, **how, **more)


class TestMapDataset3ObjectsOfZeroBytes:
    """smart_open#548: reading a zero-byte object asks for a range and dies of 416."""

    PART = 512 * 1024
    # Around a part, and around the 256 KiB that a reader asks for first.
    SIZES = (0, 1, MIB // 4 - 1, MIB // 4, MIB // 4 + 1, PART - 1, PART, PART + 1)
    KINDS = (
        S3ReaderConstructor.sequential(),
        S3ReaderConstructor.range_based(),
        S3ReaderConstructor.range_based(0),
        S3ReaderConstructor.dcp_optimized(),
    )

    def fill(self, bucket: Bucket) -> dict[str, bytes]:
        bodies = {f"p/{size:07}": random_bytes(size) for size in self.SIZES}
        bucket.put_all(bodies)
        return bodies

    @staticmethod
    def read_in_every_way(open_it: Callable[[], Any], body: bytes) -> None:
        size = len(body)
        assert open_it().read() == body
        assert open_it().read(0) == b""
        assert open_it().read(size + 1) == body
        for buffer_size in (0, 1, size, size + 10):
            buffer = bytearray(buffer_size)
            assert open_it().readinto(buffer) == min(size, buffer_size)
            assert buffer[:size] == body[:buffer_size]
        file = open_it()
        assert file.seek(0, 2) == file.tell() == size
        assert (file.read(), file.read(1), file.readinto(bytearray(1))) == (b"", b"", 0)
        assert file.seek(size + 10) == size + 10
        assert (file.read(), file.read(1), file.readinto(bytearray(1))) == (b"", b"", 0)
        file.seek(max(0, size - 1))
        assert file.read(2) == body[-1:]
        file.seek(0)
        assert file.read() == body
        # By pieces, to the end and once more.
        file.seek(0)
        pieces = iter(lambda: file.read(100_000), b"")
        assert b"".join(pieces) == body
        assert file.read(1) == b""

    @pytest.mark.parametrize("listed", [True, False])
    @pytest.mark.parametrize("kind", KINDS, ids=str)
    def test_every_reader_reads_every_size(
        self, any_server: S3Server, any_bucket: Bucket, kind: Any, listed: bool
    ) -> None:
        bodies = self.fill(any_bucket)
        dataset = dataset_of(
            any_server,
            any_bucket.uri("p/") if listed else [any_bucket.uri(key) for key in bodies],
            reader_constructor=kind,
            settings={"part_size": self.PART},
        )
        assert len(dataset) == len(bodies)
        for index, body in enumerate(bodies.values()):
            self.read_in_every_way(functools.partial(dataset.__getitem__, index), body)
        batch = dataset.__getitems__(range(len(bodies)))
        assert [reader.read() for reader in batch] == list(bodies.values())

    def test_the_client_reads_every_size(self, any_server: S3Server, any_bucket: Bucket) -> None:
        bodies = self.fill(any_bucket)
        client = client_of(any_server, part_size=self.PART)
        for key, body in bodies.items():
            uri, size = any_bucket.uri(key), len(body)
            self.read_in_every_way(functools.partial(client.open, uri), body)
            assert bytes(client.get(uri)) == body
            for start, stop in ((0, 0), (0, 1), (0, None), (size, None), (size, size + 1)):
                assert bytes(client.get(uri, range=(start, stop))) == body[start:stop]
            for start, stop in ((size + 5, None), (size + 5, size + 9), (1, 1)):
                assert bytes(client.get(uri, range=(start, stop))) == body[start:stop]
        found = client.get_many([any_bucket.uri(key) for key in bodies])
        assert [bytes(data) for data in found] == list(bodies.values())
        assert held(client) == {}

    @pytest.mark.parametrize("kind", KINDS, ids=str)
    @pytest.mark.parametrize("listed", [True, False])
    def test_an_empty_object_costs_one_get_at_most(
        self, any_server: S3Server, any_bucket: Bucket, kind: Any, listed: bool
    ) -> None:
        any_bucket.put("empty", b"")
        with Proxy(any_server.endpoint) as proxy:
            uris = any_bucket.uri() if listed else [any_bucket.uri("empty")]
            dataset = dataset_of(any_server, uris, proxy.endpoint, reader_constructor=kind)
            reader = dataset[0]
            assert (reader.read(), reader.read(10), reader.seek(0, 2)) == (b"", b"", 0)
            assert reader.readinto(bytearray(4)) == 0
            assert sum(map(is_get, proxy.requests)) <= 1
            client = client_of(any_server, proxy.endpoint)
            before = len(proxy.requests)
            assert bytes(client.get(any_bucket.uri("empty"))) == b""
            assert sum(map(is_get, proxy.requests[before:])) == 1


COUNT = 200


def object_body(number: int) -> bytes:
    return hashlib.sha256(str(number).encode()).digest() * (number + 1)


def sockets_to(port: int) -> set[str]:
    """This process's connections to a port, as the kernel numbers them."""
    mine = set()
    for fd in Path("/proc/self/fd").iterdir():
        try:
            found = re.fullmatch(r"socket:\[(\d+)\]", str(fd.readlink()))
        except OSError:
            continue  # closed meanwhile
        if found:
            mine.add(found[1])
    lines = Path("/proc/self/net/tcp").read_text().splitlines()[1:]
    rows = [line.split() for line in lines]
    return {row[9] for row in rows if int(row[2].split(":")[1], 16) == port} & mine


class ToHash:
    """The transform: key, hash, and which connections of the parent this process has open."""

    def __init__(self, port: int, parents: set[str]) -> None:
        self.port = port
        self.parents = parents
        self.parent = os.getpid()

    def __call__(self, reader: S3Reader) -> tuple[str, str, int, int]:
        digest = hashlib.sha256(reader.read()).hexdigest()
        own = sockets_to(self.port)
        shared = len(own & self.parents) if os.getpid() != self.parent else 0
        return reader.key, digest, shared, len(own)


def plain(batch: list[Any]) -> list[Any]:
    return batch


class TestMapDataset4WorkersAfterTheParent:
    """s3fs#369: workers forked after the parent has used the client hang for ever."""

    @pytest.fixture
    def filled(self, bucket: Bucket) -> dict[str, str]:
        bodies = {f"set/{n:04}": object_body(n) for n in range(COUNT)}
        bucket.put_all(bodies)
        return {key: hashlib.sha256(body).hexdigest() for key, body in bodies.items()}

    @staticmethod
    def used_by_parent(server: S3Server, bucket: Bucket) -> tuple[S3MapDataset, set[str]]:
        """A data set whose client has connections open."""
        port = int(server.endpoint.rpartition(":")[2])
        before = sockets_to(port)
        probe = ToHash(port, set())
        dataset = dataset_of(server, bucket.uri("set/"), transform=probe)
        assert dataset[0][1] == hashlib.sha256(object_body(0)).hexdigest()
        probe.parents = sockets_to(port) - before
        assert probe.parents
        return dataset, before

    @pytest.mark.filterwarnings("ignore:This DataLoader will create 4 worker processes")
    @pytest.mark.parametrize(
        ("method", "loader"),
        [
            ("fork", torch.utils.data.DataLoader),
            ("fork", DataLoader),
            ("spawn", DataLoader),
            ("forkserver", torch.utils.data.DataLoader),
        ],
    )
    def test_all_finish_and_the_parent_reads_on(
        self,
        server: S3Server,
        bucket: Bucket,
        filled: dict[str, str],
        method: str,
        loader: Any,
    ) -> None:
        dataset, _ = self.used_by_parent(server, bucket)
        batches = loader(
            dataset, 10, num_workers=4, multiprocessing_context=method, collate_fn=plain
        )
        samples = [sample for batch in batches for sample in batch]
        assert {key: digest for key, digest, _, _ in samples} == filled
        assert len(samples) == COUNT
        # Each worker has connections, and none of them is the parent's.
        assert all(shared == 0 for _, _, shared, _ in samples)
        assert all(own > 0 for *_, own in samples)
        again = [dataset[index][:2] for index in range(0, COUNT, 20)]
        assert again == list(filled.items())[::20]
        assert dict(sample[:2] for sample in dataset.__getitems__(range(COUNT))) == filled

    def test_a_fork_in_mid_prefetch(
        self, server: S3Server, bucket: Bucket, filled: dict[str, str]
    ) -> None:
        dataset, _ = self.used_by_parent(server, bucket)
        with Proxy(server.endpoint) as slow:
            through = dataset_of(server, bucket.uri("set/"), slow.endpoint)
            announced = through.prefetch(range(100))

            def child() -> None:
                # The parent's prefetch is not this process's: it fetches for itself.
                for own in (dataset, through):
                    found = own.__getitems__(range(COUNT))
                    keys = [item[0] if own is dataset else item.key for item in found]
                    assert keys == list(filled)
                    if own is through:
                        hashes = [hashlib.sha256(item.read()).hexdigest() for item in found]
                        assert hashes == list(filled.values())
                # Only the thread that forked came along; the rest are this client's own.
                assert threading.main_thread().is_alive()

            process = multiprocessing.get_context("fork").Process(target=child)
            process.start()
            process.join(30)
            hung = process.exitcode is None
            if hung:
                process.kill()
                process.join()
            assert not hung and process.exitcode == 0
            read = [hashlib.sha256(r.read()).hexdigest() for r in through.__getitems__(range(100))]
            assert read == list(filled.values())[:100]
            announced.drop()

    def test_a_reader_that_the_parent_holds(
        self, server: S3Server, bucket: Bucket, filled: dict[str, str]
    ) -> None:
        body = random_bytes(3 * MIB)
        bucket.put("large", body)
        client = client_of(server)
        file = client.open(bucket.uri("large"))
        assert file.read(1000) == body[:1000]

        def child() -> None:
            assert file.read() == body[1000:]

        process = multiprocessing.get_context("fork").Process(target=child)
        process.start()
        process.join(30)
        hung = process.exitcode is None
        if hung:
            process.kill()
            process.join()
        assert not hung and process.exitcode == 0
        assert file.read() == body[1000:]


class TestMapDataset5KeysThatLookLikeSomethingElse:
    """s3-connector-for-pytorch#367: a version in a URI, keys encoded twice.

    Versions follow; they will have an argument of their own, and never a place in the URI.
    """

    KEYS = (
        "m.pt",
        "m.pt?versionId=1",
        "100%25.txt",
        "[foo]",
        "m\u00e4ggi.png",
        "100%.txt",
        "a+b c",
    )

    @pytest.fixture(params=["embedded", "moto"])
    def filled(
        self, request: pytest.FixtureRequest, running: Callable[[str], S3Server]
    ) -> tuple[S3Server, Bucket, dict[str, bytes]]:
        server = running(request.param)
        bucket = make_bucket(server)
        bodies = {key: f"the bytes of {key}".encode() for key in self.KEYS}
        if request.param == "moto":
            bucket.s3.put_bucket_versioning(
                Bucket=bucket.name, VersioningConfiguration={"Status": "Enabled"}
            )
            bucket.put("m.pt", b"the first version")
        bucket.put_all(bodies)
        return server, bucket, bodies

    @pytest.mark.parametrize("named", [False, True], ids=["from_prefix", "from_objects"])
    def test_every_key_gives_its_own_bytes(
        self, filled: tuple[S3Server, Bucket, dict[str, bytes]], named: bool
    ) -> None:
        server, bucket, bodies = filled
        uris = [bucket.uri(key) for key in bodies] if named else bucket.uri()
        for kind in (S3ReaderConstructor.sequential(), S3ReaderConstructor.range_based()):
            dataset = dataset_of(server, uris, reader_constructor=kind)
            read = {dataset[i].key: dataset[i].read() for i in range(len(dataset))}
            assert read == bodies
            batch = dataset.__getitems__(range(len(dataset)))
            assert {reader.key: reader.read() for reader in batch} == bodies

    def test_a_prefix_is_literal_too(
        self, filled: tuple[S3Server, Bucket, dict[str, bytes]]
    ) -> None:
        server, bucket, _ = filled
        for prefix, keys in {
            "m.pt?": ["m.pt?versionId=1"],
            "100%25": ["100%25.txt"],
            "[f": ["[foo]"],
            "m\u00e4": ["m\u00e4ggi.png"],
        }.items():
            dataset = dataset_of(server, bucket.uri(prefix))
            assert [dataset[i].key for i in range(len(dataset))] == keys

    def test_a_version_in_a_uri_is_part_of_the_key(
        self, filled: tuple[S3Server, Bucket, dict[str, bytes]]
    ) -> None:
        server, bucket, _ = filled
        dataset = dataset_of(server, [bucket.uri("m.pt?versionId=2")])
        with pytest.raises(headrace.NotFound) as caught:
            dataset[0]
        assert caught.value.key == "m.pt?versionId=2"
