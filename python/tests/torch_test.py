"""headrace.torch: the data set, its readers and the loader, in all kinds of workers."""

from __future__ import annotations

import contextlib
import hashlib
import io
import multiprocessing
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
import weakref
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="no torch for this Python")

from torch.utils.data import ConcatDataset, Dataset, RandomSampler, Subset  # noqa: E402

import headrace  # noqa: E402
from headrace.torch import (  # noqa: E402
    DataLoader,
    S3ClientConfig,
    S3Exception,
    S3MapDataset,
    S3Reader,
    S3ReaderConstructor,
)
from headrace.torch import _loader as loader_module  # noqa: E402
from headrace.torch._ahead import Announced  # noqa: E402
from headrace.torch._reader import MemoryReader  # noqa: E402
from servers import EmbeddedServer, Proxy  # noqa: E402

COUNT = 200
# Where requests are counted: a proxy in Python is slow enough for hedges.
UNHEDGED = S3ClientConfig(hedge=False)
METHODS = ["fork", "spawn", "forkserver"]


def body(number: int) -> bytes:
    return hashlib.sha256(str(number).encode()).digest() * (number + 1)


def to_hash(reader: S3Reader) -> tuple[str, str]:
    return reader.key, hashlib.sha256(reader.read()).hexdigest()


EXPECTED = {f"set/{n:04}": hashlib.sha256(body(n)).hexdigest() for n in range(COUNT)}


@pytest.fixture(scope="module")
def filled(server: EmbeddedServer) -> str:
    """A bucket of COUNT objects under set/, with a folder marker among them."""
    client = headrace.Client()
    client.create_bucket("filled-bucket")
    with ThreadPoolExecutor(16) as pool:
        list(
            pool.map(lambda n: client.put(f"s3://filled-bucket/set/{n:04}", body(n)), range(COUNT))
        )
    client.put("s3://filled-bucket/set/", b"")
    return "s3://filled-bucket/set/"


def plain(batch: list[Any]) -> list[Any]:
    return batch


class TestDataset:
    def test_has_every_object_by_number(self, filled: str) -> None:
        dataset = S3MapDataset.from_prefix(filled, region="us-east-1", transform=to_hash)
        assert len(dataset) == COUNT
        assert dict(dataset[i] for i in range(COUNT)) == EXPECTED
        assert dataset[-1] == dataset[COUNT - 1]
        for beyond in (COUNT, -COUNT - 1):
            with pytest.raises(IndexError, match="200 objects"):
                dataset[beyond]
        assert dataset.region == "us-east-1" and dataset.endpoint is None

    def test_fetches_a_batch_at_once(self, server: EmbeddedServer, filled: str) -> None:
        with Proxy(server.endpoint) as proxy:
            dataset = S3MapDataset.from_prefix(
                filled, endpoint=proxy.endpoint, transform=to_hash, s3client_config=UNHEDGED
            )
            listed = len(proxy.requests)
            order = [5, 3, 199, 3, -1, 0]
            samples = dataset.__getitems__(order)
            assert [key for key, _ in samples] == [f"set/{n % COUNT:04}" for n in order]
            assert all(EXPECTED[key] == value for key, value in samples)
            # One GET each, no HEAD: the listing knows the sizes.
            assert [r.method for r in proxy.requests[listed:]] == ["GET"] * 6

    def test_of_named_objects(self, filled: str) -> None:
        uris = [f"{filled}{n:04}" for n in (7, 3)]
        dataset = S3MapDataset.from_objects(uris, region="us-east-1", transform=to_hash)
        assert [key for key, _ in dataset.__getitems__([0, 1])] == ["set/0007", "set/0003"]
        assert len(S3MapDataset.from_objects(uris[0])) == 1
        with pytest.raises(headrace.InvalidArgument):
            S3MapDataset.from_objects(["s3://"])

    def test_of_a_callable_as_the_connector_has_it(self, filled: str) -> None:
        item = namedtuple("item", "bucket key")
        seen: list[Any] = []

        def objects(client: Any) -> Any:
            seen.append(client)
            return [item("filled-bucket", f"set/{n:04}") for n in range(3)]

        dataset = S3MapDataset("us-east-1", objects, transform=to_hash)
        assert isinstance(seen[0], headrace.Client)
        assert dict(dataset[i] for i in range(3)).items() <= EXPECTED.items()

    @pytest.mark.parametrize("way", ["constructor", "from_objects"])
    def test_sizes_and_versions_that_are_known_are_used(
        self, bucket: str, way: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("headrace.torch._dataset.LARGEST_WHOLE", 1000)
        client = headrace.Client()
        client.put(f"{bucket}/large", b"x" * 1001)
        client.put(f"{bucket}/small", b"x" * 1000)
        listed = list(client.list(f"{bucket}/"))
        dataset = (
            S3MapDataset(None, lambda _: listed)
            if way == "constructor"
            else S3MapDataset.from_objects(listed)
        )
        kinds = [type(reader).__name__ for reader in dataset.__getitems__([0, 1])]
        assert kinds == ["StreamReader", "MemoryReader"]
        client.put(f"{bucket}/small", b"y" * 1000)
        with pytest.raises(headrace.ObjectChanged):
            dataset[1]

    def test_an_empty_prefix_and_a_missing_bucket(self, filled: str) -> None:
        with pytest.warns(UserWarning, match="s3://filled-bucket/nothing/: no object's address"):
            assert len(S3MapDataset.from_prefix("s3://filled-bucket/nothing/")) == 0
        with pytest.raises(S3Exception, match="no-such-bucket"):
            S3MapDataset.from_prefix("s3://no-such-bucket/x/")

    def test_an_object_that_went_away(self, bucket: str) -> None:
        client = headrace.Client()
        for name in "abc":
            client.put(f"{bucket}/{name}", b"x")
        dataset = S3MapDataset.from_prefix(f"{bucket}/", transform=to_hash)
        client.delete(f"{bucket}/b")
        with pytest.raises(FileNotFoundError) as caught:
            dataset.__getitems__([0, 1, 2])
        assert isinstance(caught.value, headrace.NotFound) and caught.value.key == "b"
        client.put(f"{bucket}/c", b"another")
        with pytest.raises(headrace.ObjectChanged):
            dataset[2]
        assert dataset[0][0] == "a"

    def test_odd_keys(self, bucket: str) -> None:
        client = headrace.Client()
        keys = ["m.pt", "m.pt?versionId=1", "100%25.txt", "[foo]", "m\u00e4ggi.png", "a b", "d//a"]
        for key in keys:
            client.put(f"{bucket}/{key}", key.encode())
        by_prefix = S3MapDataset.from_prefix(f"{bucket}/")
        by_name = S3MapDataset.from_objects([f"{bucket}/{key}" for key in keys])
        for dataset in (by_prefix, by_name):
            assert {r.key: r.read() for r in dataset.__getitems__(range(len(keys)))} == {
                key: key.encode() for key in keys
            }

    def test_prefetched_objects_are_fetched_once(self, server: EmbeddedServer, filled: str) -> None:
        with Proxy(server.endpoint) as proxy:
            dataset = S3MapDataset.from_prefix(
                filled, endpoint=proxy.endpoint, transform=to_hash, s3client_config=UNHEDGED
            )
            listed = len(proxy.requests)
            dataset.prefetch([1, 2, 3, 3])
            assert dataset.__getitems__([3, 2]) == [dataset_item(3), dataset_item(2)]
            assert dataset[1] == dataset_item(1)
            assert dataset[3] == dataset_item(3)
            assert len(proxy.requests) - listed == 4
            assert dataset[3] == dataset_item(3)
            assert len(proxy.requests) - listed == 5

    def test_prefetches_that_nobody_claims_hold_nothing_for_ever(self, filled: str) -> None:
        dataset = S3MapDataset.from_prefix(filled, transform=to_hash)
        for _ in range(100):
            dataset.prefetch(range(20))
        assert len(dataset._announced._batches) == 32
        assert dict(dataset.__getitems__(range(COUNT))) == EXPECTED

    def test_a_drop_takes_nothing_from_a_batch_that_claimed_before(
        self, filled: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        dataset = S3MapDataset.from_prefix(filled)
        handle = dataset.prefetch(range(8))

        def dropping(reader: S3Reader) -> tuple[str, str]:
            handle.drop()  # as an older loader that ends in another thread does
            return to_hash(reader)

        monkeypatch.setattr(dataset, "_transform", dropping)
        assert dataset.__getitems__(range(8)) == [dataset_item(n) for n in range(8)]

    def test_a_listing_costs_few_bytes_and_is_no_list_of_objects(self, filled: str) -> None:
        dataset = S3MapDataset.from_prefix(filled)
        assert dataset._listing.native.nbytes / COUNT < len("set/0000") + 40


def dataset_item(number: int) -> tuple[str, str]:
    key = f"set/{number:04}"
    return key, EXPECTED[key]


class TestReaders:
    def test_the_default_is_a_seekable_file_in_memory(self, filled: str) -> None:
        (reader,) = S3MapDataset.from_prefix(filled).__getitems__([9])
        assert isinstance(reader, S3Reader) and isinstance(reader, io.BufferedIOBase)
        assert (reader.bucket, reader.key) == ("filled-bucket", "set/0009")
        whole = body(9)
        assert reader.read(10) == whole[:10] and reader.tell() == 10
        assert reader.seek(-5, os.SEEK_END) == len(whole) - 5
        assert reader.read() == whole[-5:] and reader.read() == b""
        target = bytearray(7)
        reader.seek(3)
        assert reader.readinto(target) == 7 and target == whole[3:10]
        assert bytes(reader.getbuffer()) == whole  # type: ignore[attr-defined]
        assert reader.seek(len(whole) + 9) and reader.read(3) == b""
        with pytest.raises(ValueError, match="negative"):
            reader.seek(-1)

    @pytest.mark.parametrize(
        "kind",
        [
            S3ReaderConstructor.sequential(),
            S3ReaderConstructor.range_based(),
            S3ReaderConstructor.range_based(buffer_size=0),
            S3ReaderConstructor.dcp_optimized(),
            S3ReaderConstructor.default(),
        ],
    )
    def test_all_kinds_read_the_same(self, filled: str, kind: Any) -> None:
        dataset = S3MapDataset.from_prefix(filled, reader_constructor=kind, transform=to_hash)
        dataset.prefetch([0, 1])
        assert dict(dataset.__getitems__(range(10))).items() <= EXPECTED.items()
        with S3MapDataset.from_prefix(filled, reader_constructor=kind)[4] as reader:
            reader.seek(4)
            assert reader.read(4) == body(4)[4:8]

    @pytest.mark.parametrize(
        "kind", [S3ReaderConstructor.sequential(), S3ReaderConstructor.range_based(buffer_size=0)]
    )
    def test_lines_and_pickles_are_read_in_pieces(self, bucket: str, kind: Any) -> None:
        lines = b"".join(b"%d\n" % number for number in range(5000)) + b"x" * 20_000
        headrace.Client().put(f"{bucket}/key", pickle.dumps("first") + lines)
        dataset = S3MapDataset.from_objects([f"{bucket}/key"], reader_constructor=kind)
        with dataset[0] as reader:
            assert pickle.load(reader) == "first"
            place = reader.tell()
            seen = reader.peek()
            assert len(seen) > 1000 and lines.startswith(seen) and reader.tell() == place
            assert list(reader) == list(io.BytesIO(lines))
            assert reader.peek() == b""
            reader.seek(-3, os.SEEK_END)
            assert reader.peek(1) == b"xxx" == reader.read()

    def test_large_objects_are_streamed(self, bucket: str, monkeypatch: Any) -> None:
        monkeypatch.setattr("headrace.torch._dataset.LARGEST_WHOLE", 1000)
        client = headrace.Client()
        client.put(f"{bucket}/a", b"a" * 1000)
        client.put(f"{bucket}/b", b"b" * 1001)
        dataset = S3MapDataset.from_prefix(f"{bucket}/")
        kinds = [type(reader).__name__ for reader in dataset.__getitems__([0, 1])]
        assert kinds == ["MemoryReader", "StreamReader"]
        assert [reader.read() for reader in dataset.__getitems__([1, 0])] == [
            b"b" * 1001,
            b"a" * 1000,
        ]

    @pytest.mark.parametrize(
        "kind", [S3ReaderConstructor.sequential(), S3ReaderConstructor.range_based()]
    )
    @pytest.mark.parametrize(("batch_size", "method"), [(None, "fork"), (2, "fork"), (2, "spawn")])
    @pytest.mark.timeout(60)  # torch waits for ever for what cannot be pickled
    def test_workers_hand_them_on(
        self, filled: str, kind: Any, batch_size: int | None, method: str
    ) -> None:
        loader = DataLoader(
            S3MapDataset.from_prefix(filled, reader_constructor=kind),
            batch_size,
            num_workers=1,
            multiprocessing_context=method,
            collate_fn=plain,
        )
        received = next(iter(loader))
        readers = received if batch_size else [received]
        for number, reader in enumerate(readers):
            assert (reader.key, reader.tell()) == (f"set/{number:04}", 0)
            assert reader.read() == body(number)

    @pytest.mark.parametrize(
        "kind", [S3ReaderConstructor.sequential(), S3ReaderConstructor.range_based()]
    )
    def test_a_pickle_keeps_the_place_and_the_version(self, bucket: str, kind: Any) -> None:
        client = headrace.Client()
        client.put(f"{bucket}/key", b"0123456789")
        dataset = S3MapDataset.from_objects([f"{bucket}/key"], reader_constructor=kind)
        reader = dataset[0]
        assert reader.read(4) == b"0123"
        again = pickle.loads(pickle.dumps(reader))
        assert (type(again), again.key, again.tell()) == (type(reader), "key", 4)
        assert again.read() == b"456789" and reader.read(1) == b"4"
        pickled = pickle.dumps(reader)
        reader.close()
        assert pickle.loads(pickle.dumps(reader)).closed
        client.put(f"{bucket}/key", b"another")
        again = pickle.loads(pickled)
        if kind.name == "sequential":  # its bytes went along
            assert again.read() == b"56789"
        else:
            with pytest.raises(headrace.ObjectChanged):
                again.read()

    def test_readers_from_workers_share_the_client_of_their_data_set(self, filled: str) -> None:
        dataset = S3MapDataset.from_prefix(
            filled, reader_constructor=S3ReaderConstructor.range_based()
        )
        one, other = (pickle.loads(pickle.dumps(dataset[n])) for n in range(2))
        assert one._reader._client is other._reader._client is dataset._connect()

    @pytest.mark.parametrize(
        "kind", [S3ReaderConstructor.sequential(), S3ReaderConstructor.range_based()]
    )
    def test_a_closed_one_gives_nothing(self, filled: str, kind: Any) -> None:
        reader = S3MapDataset.from_prefix(filled, reader_constructor=kind)[9]
        reader.close()
        reader.close()
        for use in (reader.read, reader.read1, reader.peek, reader.tell, lambda: reader.seek(0)):
            with pytest.raises(ValueError, match="closed"):
                use()
        with pytest.raises(ValueError, match="closed"):
            reader.readinto(bytearray(1))
        if hasattr(reader, "getbuffer"):
            with pytest.raises(ValueError, match="closed"):
                reader.getbuffer()

    def test_dropping_one_runs_no_python(self) -> None:
        # In a finalizer, what a signal handler raises would be lost.
        assert MemoryReader.close is io.BufferedIOBase.close
        assert not hasattr(MemoryReader, "__del__") or MemoryReader.__del__ is io.IOBase.__del__

    def test_a_foreign_constructor_is_refused(self, filled: str) -> None:
        with pytest.raises(headrace.InvalidArgument, match="reader_constructor"):
            S3MapDataset.from_prefix(filled, reader_constructor=open)  # type: ignore[arg-type]

    def test_the_config_has_the_connectors_names(self, filled: str) -> None:
        config = S3ClientConfig(10.0, 16 << 20, False, True, 3, None, False)
        assert (config.part_size, config.force_path_style, config.max_attempts) == (
            16 << 20,
            True,
            3,
        )
        dataset = S3MapDataset.from_prefix(filled, s3client_config=config, transform=to_hash)
        assert dataset[0] == dataset_item(0)


class TestProcesses:
    def test_a_pickle_in_one_host_shares_the_listing(
        self, server: EmbeddedServer, filled: str
    ) -> None:
        with Proxy(server.endpoint) as proxy:
            dataset = S3MapDataset.from_prefix(
                filled, endpoint=proxy.endpoint, transform=to_hash, s3client_config=UNHEDGED
            )
            requests = len(proxy.requests)
            again = pickle.loads(pickle.dumps(dataset))
            assert again._listing.native.id == dataset._listing.native.id
            assert len(proxy.requests) == requests
            assert again[3] == dataset_item(3)

    def test_a_pickle_elsewhere_lists_again(self, filled: str) -> None:
        by_prefix = pickle.dumps(S3MapDataset.from_prefix(filled, transform=to_hash))
        by_name = pickle.dumps(S3MapDataset.from_objects([f"{filled}0003"], transform=to_hash))
        # Their data sets are gone from this process: as good as another host.
        assert len(pickle.loads(by_prefix)) == COUNT
        assert pickle.loads(by_name)[0] == dataset_item(3)

    @pytest.mark.parametrize("method", METHODS)
    def test_workers_share_the_listing(
        self, server: EmbeddedServer, filled: str, method: str
    ) -> None:
        with Proxy(server.endpoint) as proxy:
            dataset = S3MapDataset.from_prefix(
                filled, endpoint=proxy.endpoint, transform=to_hash, s3client_config=UNHEDGED
            )
            listings = sum("list-type" in r.target for r in proxy.requests)
            loader = DataLoader(
                dataset,
                20,
                num_workers=4,
                multiprocessing_context=method,
                collate_fn=plain,
                shuffle=True,
            )
            assert dict(item for batch in loader for item in batch) == EXPECTED
            assert sum("list-type" in r.target for r in proxy.requests) == listings
            gets = [r.path for r in proxy.requests if r.method == "GET" and "list" not in r.target]
            assert len(gets) == COUNT

    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("persistent", [False, True])
    def test_workers_after_the_parent_has_read(
        self, filled: str, method: str, persistent: bool
    ) -> None:
        dataset = S3MapDataset.from_prefix(filled, transform=to_hash)
        assert dataset[0] == dataset_item(0)
        dataset.prefetch(range(50))
        loader = DataLoader(
            dataset,
            16,
            num_workers=2,
            multiprocessing_context=method,
            persistent_workers=persistent,
            collate_fn=plain,
        )
        for _ in range(2):
            assert [item for batch in loader for item in batch] == list(EXPECTED.items())
        # The parent's own prefetch is still good.
        assert dataset.__getitems__(range(50)) == list(EXPECTED.items())[:50]

    def test_a_workers_error_keeps_its_type_and_fields(self, bucket: str) -> None:
        client = headrace.Client()
        client.put(f"{bucket}/a", b"x")
        dataset = S3MapDataset.from_objects([f"{bucket}/a", f"{bucket}/gone"], transform=to_hash)
        with pytest.raises(FileNotFoundError) as caught:
            list(DataLoader(dataset, 2, num_workers=1, collate_fn=plain))
        error = caught.value
        assert isinstance(error, headrace.NotFound)
        assert (error.http_status, error.s3_code, error.key) == (404, "NoSuchKey", "gone")

    @pytest.mark.parametrize("ranks", [1, 2])
    def test_workers_take_their_part_of_the_host(
        self, filled: str, monkeypatch: pytest.MonkeyPatch, ranks: int
    ) -> None:
        def memory_of(dataset: S3MapDataset) -> float:
            metrics = dataset._connect().metrics()
            return sum(v for k, v in metrics.items() if "budget_limit" in k)

        def memory(reader: S3Reader) -> float:
            info = torch.utils.data.get_worker_info()
            assert info is not None and isinstance(info.dataset, S3MapDataset)
            return memory_of(info.dataset)

        whole = memory_of(S3MapDataset.from_prefix(filled))
        monkeypatch.setenv("LOCAL_WORLD_SIZE", str(ranks))
        dataset = S3MapDataset.from_prefix(filled, transform=memory)
        loader = DataLoader(dataset, 50, num_workers=2, collate_fn=plain)
        for part in {value for batch in loader for value in batch}:
            assert part <= max(whole / 2 / ranks, 64 << 20) * 1.01


class Recording(Dataset[int]):
    """A data set that notes what it is told."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.calls: list[tuple[str, Any]] = []

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> int:
        self.calls.append(("get", index))
        return index

    def prefetch(self, indices: list[int]) -> None:
        self.calls.append(("ahead", list(indices)))


class StuckBatch:
    """A native batch whose fetch ends when told to."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.arrives = threading.Event()

    def next(self) -> list[tuple[int, Any]]:
        self.asked.set()
        assert self.arrives.wait(60)
        return [(0, "data")]


class TestAnnounced:
    def test_a_wait_for_one_batch_holds_up_no_other(self) -> None:
        announced, stuck, other = Announced(), StuckBatch(), StuckBatch()
        announced.add(stuck, [7])  # type: ignore[arg-type]
        claim = announced.claim(7)
        assert claim is not None
        with ThreadPoolExecutor(2) as pool:
            waiting = pool.submit(announced.take, claim)
            assert stuck.asked.wait(60)
            try:
                adding = pool.submit(announced.add, other, [8])  # type: ignore[arg-type]
                assert adding.result(timeout=10)
                other.arrives.set()
                next_claim = announced.claim(8)
                assert next_claim is not None
                assert announced.take(next_claim) == "data"
            finally:
                stuck.arrives.set()
            assert waiting.result() == "data"

    def test_dropping_holds_up_nobody_who_waits(self) -> None:
        stuck = StuckBatch()
        announced = Announced()
        batch = announced.add(stuck, [0, 1])  # type: ignore[arg-type]
        claim = announced.claim(0)
        assert claim is not None
        with ThreadPoolExecutor(2) as pool:
            waiting = pool.submit(announced.take, claim)
            assert stuck.asked.wait(60)
            try:
                pool.submit(batch.drop).result(timeout=10)
                assert announced.claim(1) is None
            finally:
                stuck.arrives.set()
            assert waiting.result() == "data"

    def test_a_collection_amid_a_wait_may_drop_the_same_batch(self) -> None:
        announced = Announced()

        class Collecting(StuckBatch):
            def next(self) -> list[tuple[int, Any]]:
                batch.drop()  # as the __del__ of a loader's iterator does, in the same thread
                return [(0, "data")]

        batch = announced.add(Collecting(), [0, 1])  # type: ignore[arg-type]
        claim = announced.claim(0)
        assert claim is not None
        taken: list[Any] = []
        thread = threading.Thread(target=lambda: taken.append(announced.take(claim)), daemon=True)
        thread.start()
        thread.join(10)
        assert taken == ["data"]

    def test_a_dropped_batch_ends_with_its_last_claim(self) -> None:
        announced, native = Announced(), StuckBatch()
        native.arrives.set()
        alive = weakref.ref(native)
        batch = announced.add(native, [7, 8])  # type: ignore[arg-type]
        del native
        claim = announced.claim(7)
        assert claim is not None
        batch.drop()
        assert alive() is not None
        assert announced.take(claim) == "data"
        del claim
        assert alive() is None

    def test_dropped_batches_leave_no_claims_behind(self) -> None:
        announced = Announced()
        for start in range(0, 1000, 10):
            indices = [*range(start, start + 10), start]
            announced.add(StuckBatch(), indices).drop()  # type: ignore[arg-type]
        announced.add(StuckBatch(), [5000])  # type: ignore[arg-type]
        assert list(announced._places) == [5000] and len(announced._batches) == 1

    def test_what_is_kept_is_dropped_by_no_later_announcement(self) -> None:
        announced = Announced()
        kept = announced.add(StuckBatch(), [0])  # type: ignore[arg-type]
        kept.keep()
        for index in range(1, 100):
            announced.add(StuckBatch(), [index])  # type: ignore[arg-type]
        assert announced.claim(0) is not None
        assert announced.claim(1) is None and announced.claim(99) is not None


class TestLoader:
    def test_announces_each_batch_once_and_ahead(self) -> None:
        dataset = Recording(10)
        batches = [batch.tolist() for batch in DataLoader(dataset, 2, prefetch_batches=2)]
        assert batches == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
        ahead = [indices for kind, indices in dataset.calls if kind == "ahead"]
        assert ahead == batches
        # Before its first fetch it has announced three batches, and stays two ahead.
        assert [kind for kind, _ in dataset.calls[:6]] == ["ahead"] * 3 + ["get"] * 2 + ["ahead"]

    @pytest.mark.parametrize("workers", [0, 1, 3])
    @pytest.mark.parametrize("depth", [0, 1, 2, 5])
    def test_gives_torchs_samples_in_torchs_order(self, workers: int, depth: int) -> None:
        def run(kind: Any, **options: Any) -> list[list[int]]:
            torch.manual_seed(7)
            loader = kind(range(53), 4, shuffle=True, num_workers=workers, **options)
            return [batch.tolist() for _ in range(2) for batch in loader]

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plain_order = run(torch.utils.data.DataLoader)
            assert run(DataLoader, prefetch_batches=depth) == plain_order

    @pytest.mark.parametrize("workers", [0, 2])
    def test_reaches_through_subset_and_concat(
        self, server: EmbeddedServer, filled: str, workers: int
    ) -> None:
        with Proxy(server.endpoint) as proxy:
            whole = S3MapDataset.from_prefix(
                filled, endpoint=proxy.endpoint, transform=to_hash, s3client_config=UNHEDGED
            )
            halves = ConcatDataset(
                [Subset(whole, range(100, COUNT)), Subset(Subset(whole, range(150)), range(100))]
            )
            loader = DataLoader(
                halves, 8, shuffle=True, num_workers=workers, collate_fn=plain, drop_last=False
            )
            assert len(loader) == 25
            listed = len(proxy.requests)
            assert dict(item for batch in loader for item in batch) == EXPECTED
            # Each object once: announced and fetched are the same requests.
            assert len(proxy.requests) - listed == COUNT

    @pytest.mark.parametrize("workers", [0, 1])
    def test_looks_as_far_ahead_as_it_is_told(
        self, server: EmbeddedServer, filled: str, workers: int
    ) -> None:
        with Proxy(server.endpoint) as proxy:
            dataset = S3MapDataset.from_prefix(
                filled, endpoint=proxy.endpoint, transform=to_hash, s3client_config=UNHEDGED
            )
            listed = len(proxy.requests)
            loader = DataLoader(
                dataset, 2, num_workers=workers, prefetch_batches=80, collate_fn=plain
            )
            assert [item for batch in loader for item in batch] == list(EXPECTED.items())
            assert len(proxy.requests) - listed == COUNT

    def test_keeps_the_announcements_that_are_still_to_come(self) -> None:
        class Handle:
            dropped = False

            def drop(self) -> None:
                self.dropped = True

        handles: list[Handle] = []

        class Announcing(Recording):
            def prefetch(self, indices: list[int]) -> Handle:  # type: ignore[override]
                handles.append(Handle())
                return handles[-1]

        for number, _ in enumerate(DataLoader(Announcing(300), 1, prefetch_batches=100)):
            assert not any(handle.dropped for handle in handles[number:])
            assert sum(not handle.dropped for handle in handles) <= 101

    def test_samples_with_replacement(self, filled: str) -> None:
        dataset = S3MapDataset.from_prefix(filled, transform=to_hash)
        sampler = RandomSampler(dataset, replacement=True, num_samples=500)
        loader = DataLoader(dataset, 16, sampler=sampler, collate_fn=plain)
        items = [item for batch in loader for item in batch]
        assert len(items) == 500 and set(items) <= set(EXPECTED.items())

    def test_a_loop_that_is_left_early_cancels_what_it_announced(self, filled: str) -> None:
        dataset = S3MapDataset.from_prefix(filled, transform=to_hash)
        loader = DataLoader(dataset, 16, collate_fn=plain)
        for _ in range(20):
            for _ in loader:
                break
        assert all(batch.fetches is None for batch in dataset._announced._batches)
        assert [item for batch in loader for item in batch] == list(EXPECTED.items())

    def test_persistent_workers_forget_an_epoch_that_was_left(self, filled: str) -> None:
        dataset = S3MapDataset.from_prefix(filled, transform=to_hash)
        loader = DataLoader(
            dataset, 8, num_workers=2, persistent_workers=True, collate_fn=plain, shuffle=True
        )
        for _ in range(3):
            for _ in loader:
                break
        assert dict(item for batch in loader for item in batch) == EXPECTED

    def test_warns_once_where_it_finds_nothing(self, monkeypatch: Any) -> None:
        monkeypatch.setattr(loader_module, "_warned", False)
        with pytest.warns(UserWarning, match="no data set with a prefetch method") as warned:
            DataLoader(range(3))
        assert warned[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert len(list(DataLoader(range(3)))) == 3
            monkeypatch.setattr(loader_module, "_warned", False)
            DataLoader(range(3), prefetch_batches=0)
            DataLoader(Recording(3))

    def test_single_samples_and_unordered_workers_work_as_torchs(self, filled: str) -> None:
        dataset = S3MapDataset.from_prefix(filled, transform=to_hash)
        assert [tuple(item) for item in DataLoader(dataset, None)] == list(EXPECTED.items())
        loader = DataLoader(dataset, 16, num_workers=2, in_order=False, collate_fn=plain)
        assert dict(item for batch in loader for item in batch) == EXPECTED

    def test_what_a_signal_handler_lost_is_fetched_again(self, filled: str) -> None:
        dataset = S3MapDataset.from_prefix(filled, transform=to_hash)
        announced = dataset.prefetch(range(20))
        fetches = announced.fetches
        assert fetches is not None
        fetches._native.next()  # handed over, and lost on the way
        found = dict(dataset.__getitems__(range(10)))
        found.update(dataset[index] for index in range(10, 20))
        assert found.items() <= EXPECTED.items()
        assert len(found) == 20

    def test_a_wrong_index_is_told_in_its_place(self, filled: str) -> None:
        dataset = S3MapDataset.from_prefix(filled, transform=to_hash)
        batches = [[0, 1], [2, 3], [4, COUNT]]
        served = iter(DataLoader(dataset, batch_sampler=batches, collate_fn=plain))
        assert len(next(served)) == len(next(served)) == 2
        with pytest.raises(IndexError, match=f"index {COUNT}"):
            next(served)

    def test_refuses_a_negative_depth(self) -> None:
        with pytest.raises(ValueError, match="prefetch_batches"):
            DataLoader(range(3), prefetch_batches=-1)

    def test_len_and_attributes_are_torchs(self, filled: str) -> None:
        dataset = S3MapDataset.from_prefix(filled)
        loader = DataLoader(dataset, 16, drop_last=True)
        assert len(loader) == COUNT // 16
        assert loader.dataset is dataset and loader.batch_size == 16


def test_the_interpreter_ends_amid_an_epoch(filled: str) -> None:
    for workers in (0, 2):
        script = (
            "import headrace.torch as h\n"
            f"d = h.S3MapDataset.from_prefix({filled!r}, transform=lambda r: len(r.read()))\n"
            f"it = iter(h.DataLoader(d, 8, num_workers={workers}))\n"
            "next(it)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", script], timeout=60, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), workers


def test_fork_amid_prefetch(filled: str) -> None:
    dataset = S3MapDataset.from_prefix(filled, transform=to_hash)
    dataset.prefetch(range(100))

    def child() -> None:
        assert dict(dataset.__getitems__(range(COUNT))) == EXPECTED

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(60)
    assert process.exitcode == 0
    assert dict(dataset.__getitems__(range(COUNT))) == EXPECTED


WAITING_LOADER = """
import sys
from headrace.torch import DataLoader, S3MapDataset
if __name__ == "__main__":
    endpoint, method = sys.argv[1:]
    dataset = S3MapDataset.from_objects(
        [f"s3://bucket/{number}" for number in range(100)], region="us-east-1", endpoint=endpoint
    )
    loader = DataLoader(dataset, 4, num_workers=2, multiprocessing_context=method, collate_fn=list)
    batches = iter(loader)
    try:
        next(batches)
    except KeyboardInterrupt:
        del batches  # waits for the workers, as one does who now saves a checkpoint
        sys.exit(3)
"""


def take_requests(listener: socket.socket, wanted: set[str]) -> list[socket.socket]:
    """Takes connections until the objects that are wanted were asked for; answers none."""
    connections = []
    while wanted:
        connection, _ = listener.accept()
        connection.settimeout(30)
        connections.append(connection)
        wanted.discard(connection.recv(1 << 16).decode().split()[1])
    return connections


def group_members(group: int) -> list[int]:
    """The processes of a process group that have not ended."""
    members = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state, _, of = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
            if int(of) == group and state != "Z":
                members.append(int(entry.name))
    return members


@pytest.mark.parametrize("method", METHODS)
def test_ctrl_c_ends_a_loader_whose_workers_wait(method: str, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(WAITING_LOADER)
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        listener.settimeout(60)
        endpoint = f"http://127.0.0.1:{listener.getsockname()[1]}"
        main = subprocess.Popen(
            [sys.executable, script, endpoint, method],
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            # The first batch of each worker.
            connections = take_requests(listener, {"/bucket/0", "/bucket/4"})
            os.killpg(main.pid, signal.SIGINT)
            # For a worker that does not end by itself torch would wait five seconds.
            _, errors = main.communicate(timeout=4)
            assert main.returncode == 3, errors.decode()
            deadline = time.monotonic() + 2
            while group_members(main.pid) and time.monotonic() < deadline:
                time.sleep(0.01)
            assert group_members(main.pid) == []
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(main.pid, signal.SIGKILL)
            main.communicate()
    for connection in connections:
        connection.close()
