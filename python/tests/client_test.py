from __future__ import annotations

import datetime
import gc
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType
from typing import Any

import boto3
import numpy as np
import pytest

import headrace
from headrace._io import ObjectReader
from servers import EmbeddedServer, Proxy

ODD_KEYS = [
    "a b",
    "a+b",
    "a%2Bb",
    "100%25.txt",
    "[foo]",
    "m\u00e4ggi.png",
    "ma\u0308ggi.png",
    "x&y<z>",
    "q?versionId=1#f",
    "quote'\"s",
    "d//a",
    "/leading",
    "trailing/",
    "./a/../b",
    "..",
    "x\x01y",
    "x\ry",
    "k" * 1024,
]


def test_puts_and_gets(client: headrace.Client, bucket: str) -> None:
    etag = client.put(f"{bucket}/key", b"some bytes")
    data = client.get(f"{bucket}/key")
    assert bytes(data) == b"some bytes"
    assert (data.etag, data.size, len(data)) == (etag, 10, 10)
    assert data.uri == f"{bucket}/key"
    assert "10 bytes" in repr(data)


def test_data_is_a_read_only_buffer_without_a_copy(client: headrace.Client, bucket: str) -> None:
    body = os.urandom(1 << 20)
    client.put(f"{bucket}/key", body)
    data = client.get(f"{bucket}/key")
    view = memoryview(data)
    array = np.frombuffer(data, np.uint8)
    other = np.frombuffer(view, np.uint8)
    assert view.readonly and not array.flags.writeable
    # Two views of the same memory: nothing was copied on the way.
    assert np.shares_memory(array, other)
    assert data[0] == body[0] and data[-9:] == body[-9:]
    assert np.shares_memory(np.frombuffer(data[2:8], np.uint8), array)
    with pytest.raises(IndexError):
        data[len(body)]
    with pytest.raises(TypeError):
        view[0] = 1
    # The memory outlives everything it came from.
    del data, client
    gc.collect()
    assert view.tobytes() == body
    assert array.tobytes() == body


def test_takes_any_contiguous_buffer(client: headrace.Client, bucket: str) -> None:
    array = np.arange(1000, dtype=np.int32)
    for name, data in {
        "array": array,
        "view": memoryview(array),
        "bytearray": bytearray(b"x"),
    }.items():
        client.put(f"{bucket}/{name}", data)
        assert bytes(client.get(f"{bucket}/{name}")) == bytes(memoryview(data).cast("B"))
    with pytest.raises((BufferError, TypeError, ValueError)):
        client.put(f"{bucket}/key", array[::2])
    with pytest.raises(TypeError):
        client.put(f"{bucket}/key", "text")  # type: ignore[arg-type]


def test_ranges(client: headrace.Client, bucket: str) -> None:
    body = bytes(range(256))
    most = (1 << 63) - 1
    client.put(f"{bucket}/key", body)
    for start, stop in [
        (0, 1),
        (10, 20),
        (250, 300),
        (0, None),
        (255, None),
        (5, 5),
        (256, 300),
        (0, most),
        (most, None),
    ]:
        data = client.get(f"{bucket}/key", range=(start, stop))
        assert bytes(data) == body[start:stop], (start, stop)
        assert data.size == 256 or not len(data)
    beyond: list[tuple[int, int | None]] = [
        (1 << 63, None),
        ((1 << 64) - 1, None),
        (1 << 64, None),
        (0, 1 << 63),
        (10, 1 << 70),
    ]
    for bad in [(-1, 3), (5, 4), *beyond]:
        with pytest.raises(headrace.InvalidArgument, match="start <= stop"):
            client.get(f"{bucket}/key", range=bad)


def test_an_empty_object_is_no_error(client: headrace.Client, bucket: str) -> None:
    client.put(f"{bucket}/empty", b"")
    data = client.get(f"{bucket}/empty")
    assert bytes(data) == b"" and memoryview(data).nbytes == 0 and data.size == 0


@pytest.mark.parametrize("key", ODD_KEYS)
def test_keys_are_literal(client: headrace.Client, bucket: str, key: str) -> None:
    client.put(f"{bucket}/{key}", key.encode())
    client.put(f"{bucket}/other", b"other")
    assert bytes(client.get(f"{bucket}/{key}")) == key.encode()
    assert key in [info.key for info in client.list(f"{bucket}/")]
    assert client.head(f"{bucket}/{key}").key == key
    client.copy(f"{bucket}/{key}", f"{bucket}/copy")
    assert bytes(client.get(f"{bucket}/copy")) == key.encode()
    client.delete(f"{bucket}/{key}")
    with pytest.raises(headrace.NotFound):
        client.get(f"{bucket}/{key}")


def test_head_and_list_agree(client: headrace.Client, bucket: str) -> None:
    client.put(f"{bucket}/a/key", b"12345", content_type="text/plain", metadata={"colour": "blue"})
    head = client.head(f"{bucket}/a/key")
    (listed,) = client.list(f"{bucket}/a/")
    assert (head.bucket, head.key, head.size) == (bucket[5:], "a/key", 5)
    assert (listed.bucket, listed.key, listed.size, listed.etag) == (
        head.bucket,
        head.key,
        head.size,
        head.etag,
    )
    assert head.content_type == "text/plain"
    assert head.metadata == {"colour": "blue"}
    assert listed.storage_class == "STANDARD"
    age = datetime.datetime.now(datetime.timezone.utc) - head.last_modified
    assert abs(age) < datetime.timedelta(minutes=1)


# Three ways in which an object is made: at once, in parts, and as a stream.
SMALL_PARTS = headrace.ClientConfig(part_size=5 << 20, multipart_threshold=5 << 20)


def store(client: headrace.Client, way: str, uri: str, **options: Any) -> None:
    if way == "open":
        with client.open(uri, "wb", **options) as writer:
            writer.write(b"x")
    else:
        client.put(uri, bytes(1 if way == "put" else 6 << 20), **options)


@pytest.mark.parametrize("way", ["put", "put in parts", "open"])
def test_an_object_is_described_the_same_however_it_is_written(
    server: EmbeddedServer, bucket: str, way: str
) -> None:
    client = headrace.Client(config=SMALL_PARTS)
    store(
        client,
        way,
        f"{bucket}/key",
        content_type="text/plain",
        storage_class="STANDARD_IA",
        metadata=MappingProxyType({"colour": "blue"}),
        tags=MappingProxyType({"project": "a&b"}),
        server_side_encryption="aws:kms",
        kms_key_id="key-of-mine",
    )
    head = client.head(f"{bucket}/key")
    assert (head.content_type, head.storage_class) == ("text/plain", "STANDARD_IA")
    assert head.metadata == {"colour": "blue"}
    s3 = boto3.client("s3", endpoint_url=server.endpoint)
    stored = s3.head_object(Bucket=bucket[5:], Key="key")
    assert (stored["ServerSideEncryption"], stored["SSEKMSKeyId"]) == ("aws:kms", "key-of-mine")
    tags = s3.get_object_tagging(Bucket=bucket[5:], Key="key")["TagSet"]
    assert tags == [{"Key": "project", "Value": "a&b"}]


@pytest.mark.parametrize("way", ["put", "put in parts", "open"])
@pytest.mark.parametrize(
    ("algorithm", "field"),
    [
        (None, "ChecksumCRC32C"),
        ("crc32c", "ChecksumCRC32C"),
        ("crc64nvme", "ChecksumCRC64NVME"),
        ("crc32", "ChecksumCRC32"),
    ],
)
def test_the_checksum_is_of_the_algorithm_asked_for(
    server: EmbeddedServer, bucket: str, way: str, algorithm: str | None, field: str
) -> None:
    client = headrace.Client(config=SMALL_PARTS)
    store(client, way, f"{bucket}/key", checksum_algorithm=algorithm)
    s3 = boto3.client("s3", endpoint_url=server.endpoint)
    stored = s3.head_object(Bucket=bucket[5:], Key="key", ChecksumMode="ENABLED")
    assert [name for name in stored if name.startswith("ChecksumC")] == [field]
    assert stored["ChecksumType"] == "FULL_OBJECT"
    client.get(f"{bucket}/key", verify=True)


def test_other_checksum_algorithms_are_refused(client: headrace.Client, bucket: str) -> None:
    for way in ("put", "open"):
        with pytest.raises(headrace.InvalidArgument, match="use crc32c, crc64nvme"):
            store(client, way, f"{bucket}/key", checksum_algorithm="md5")


def test_options_of_new_objects_are_refused_for_reading(
    client: headrace.Client, bucket: str
) -> None:
    client.put(f"{bucket}/key", b"x")
    options: dict[str, Any] = {"kms_key_id": "key", "tags": {}}
    with pytest.raises(headrace.InvalidArgument, match="tags, kms_key_id: only for writing"):
        client.open(f"{bucket}/key", "rb", **options)


def test_requests_carry_the_users_part_of_the_user_agent(
    server: EmbeddedServer, bucket: str
) -> None:
    config = headrace.ClientConfig(user_agent_extra="job/17")
    with Proxy(server.endpoint) as proxy:
        headrace.Client(endpoint_url=proxy.endpoint, config=config).put(f"{bucket}/key", b"x")
        headrace.Client(endpoint_url=proxy.endpoint).put(f"{bucket}/key", b"x")
        agents = [request.headers["user-agent"] for request in proxy.requests]
    plain = f"headrace/{headrace.__version__}"
    assert agents == [f"{plain} job/17", plain]
    broken = headrace.ClientConfig(user_agent_extra="a\r\nx-other: 1")
    with pytest.raises(headrace.InvalidArgument, match="line break"):
        headrace.Client(config=broken).put(f"{bucket}/key", b"x")


def test_lists_in_order_across_pages(client: headrace.Client, bucket: str) -> None:
    keys = [f"{i:04}" for i in range(1500)]
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda key: client.put(f"{bucket}/{key}", b""), keys))
    assert [info.key for info in client.list(f"{bucket}/")] == keys
    assert [info.key for info in client.list(f"{bucket}/1")] == keys[1000:]
    after = [info.key for info in client.list(f"{bucket}/", start_after="1489")]
    assert after == keys[1490:]


def test_lists_folders(client: headrace.Client, bucket: str) -> None:
    for key in ["a/1", "a/2", "b/1", "c"]:
        client.put(f"{bucket}/{key}", b"")
    found = [(info.key, info.is_prefix) for info in client.list(f"{bucket}/", delimiter="/")]
    assert found == [("a/", True), ("b/", True), ("c", False)]
    with pytest.raises(headrace.InvalidArgument, match="delimiter"):
        client.list(f"{bucket}/", delimiter="x")  # type: ignore[arg-type]


def test_get_many_in_order_and_as_they_come(client: headrace.Client, bucket: str) -> None:
    uris = [f"{bucket}/{i}" for i in range(300)]
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda uri: client.put(uri, uri.encode()), uris))
    assert [bytes(data).decode() for data in client.get_many(uris)] == uris
    loose = [bytes(data).decode() for data in client.get_many(uris, ordered=False)]
    assert sorted(loose) == sorted(uris)
    few = [data.uri for data in client.get_many(uris[:20], max_in_flight=2)]
    assert few == uris[:20]
    assert list(client.get_many([])) == []
    for bad in (-1, 1 << 31, 1 << 70):
        with pytest.raises(headrace.InvalidArgument, match=f"max_in_flight {bad}"):
            client.get_many(uris, max_in_flight=bad)


def test_get_many_reports_each_failure(client: headrace.Client, bucket: str) -> None:
    client.put(f"{bucket}/there", b"x")
    uris = [f"{bucket}/there", f"{bucket}/missing", "s3://", f"{bucket}/there"]
    results = list(client.get_many(uris, on_error="return"))
    assert [type(result).__name__ for result in results] == [
        "Data",
        "NotFound",
        "InvalidArgument",
        "Data",
    ]
    found = client.get_many(uris)
    assert bytes(next(found)) == b"x"
    with pytest.raises(headrace.NotFound) as caught:
        next(found)
    assert caught.value.key == "missing"
    with pytest.raises(headrace.InvalidArgument, match="on_error"):
        client.get_many(uris, on_error="ignore")  # type: ignore[call-overload]


def test_get_many_of_what_was_listed_asks_for_no_size_again(
    client: headrace.Client, bucket: str
) -> None:
    for name in "abc":
        client.put(f"{bucket}/listed/{name}", name.encode() * 10)
    listed = list(client.list(f"{bucket}/listed/"))
    assert [info.uri for info in listed] == [f"{bucket}/listed/{name}" for name in "abc"]
    assert client.head(listed[0].uri).uri == listed[0].uri
    assert [bytes(data).decode() for data in client.get_many(listed)] == [n * 10 for n in "abc"]
    client.put(listed[0].uri, b"longer than it was")
    with pytest.raises(headrace.ObjectChanged, match="listed"):
        list(client.get_many(listed))


def test_leaving_get_many_amid_large_objects_is_safe(client: headrace.Client, bucket: str) -> None:
    """What still arrives must not be written into memory that was given back."""
    uris = [f"{bucket}/large/{i}" for i in range(6)]
    for uri in uris:
        client.put(uri, bytes(40 << 20))
    for sizes_known in (False, True):
        for _ in range(5):
            items = list(client.list(f"{bucket}/large/")) if sizes_known else uris
            assert len(next(client.get_many(items, ordered=False))) == 40 << 20
    assert used_budget(client) == 0


def test_dropping_get_many_cancels(client: headrace.Client, bucket: str) -> None:
    for i in range(8):
        client.put(f"{bucket}/{i}", b"x" * 100_000)
    results = client.get_many([f"{bucket}/{i % 8}" for i in range(400)])
    next(results)
    del results
    gc.collect()
    assert used_budget(client) == 0


def used_budget(client: headrace.Client) -> float:
    return sum(value for name, value in client.metrics().items() if "budget_used_bytes" in name)


def test_results_that_are_kept_do_not_hold_the_budget(client: headrace.Client, bucket: str) -> None:
    client.put(f"{bucket}/key", b"x" * 1_000_000)
    kept = [client.get(f"{bucket}/key") for _ in range(20)]
    assert used_budget(client) == 0
    assert len(kept) == 20


def test_what_is_not_there(client: headrace.Client, bucket: str) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        client.get(f"{bucket}/nothing")
    error = caught.value
    assert isinstance(error, headrace.NotFound)
    assert (error.http_status, error.s3_code, error.key) == (404, "NoSuchKey", "nothing")
    assert error.request_id and error.attempts == 1
    with pytest.raises(headrace.NotFound):
        client.head("s3://no-such-bucket-here/key")
    with pytest.raises(headrace.NotFound):
        list(client.list("s3://no-such-bucket-here/"))
    client.delete(f"{bucket}/nothing")


def test_if_match_and_create_only(client: headrace.Client, bucket: str) -> None:
    old = client.put(f"{bucket}/key", b"old")
    client.put(f"{bucket}/key", b"new")
    with pytest.raises(headrace.ObjectChanged):
        client.get(f"{bucket}/key", if_match=old)
    with pytest.raises(headrace.AlreadyExists):
        client.put(f"{bucket}/key", b"again", if_none_match=True)
    assert bytes(client.get(f"{bucket}/key", verify=True)) == b"new"


@pytest.mark.parametrize("size", [10, 20 << 20])
def test_an_etag_may_stand_in_quotes(client: headrace.Client, bucket: str, size: int) -> None:
    body = os.urandom(size)
    etag = client.put(f"{bucket}/key", body)
    for given in (etag, f'"{etag}"'):
        assert bytes(client.get(f"{bucket}/key", if_match=given)) == body
        assert ObjectReader(client._native, f"{bucket}/key", etag=given).read() == body
    with pytest.raises(headrace.ObjectChanged):
        client.get(f"{bucket}/key", if_match='"other"')


def test_deletes_many(client: headrace.Client, bucket: str) -> None:
    uris = [f"{bucket}/{i}" for i in range(50)]
    for uri in uris:
        client.put(uri, b"x")
    client.delete(uris)
    assert list(client.list(f"{bucket}/")) == []
    with pytest.raises(headrace.Error):
        client.delete(["s3://", f"{bucket}/x"])


@pytest.mark.parametrize("uri", ["", "s3://", "http://x/y", "s3:///key"])
def test_malformed_addresses_are_refused(client: headrace.Client, uri: str) -> None:
    with pytest.raises(headrace.InvalidArgument):
        client.get(uri)
    with pytest.raises(TypeError):
        client.get(None)  # type: ignore[arg-type]


def test_metadata_that_differs_in_case_only_is_refused(
    client: headrace.Client, bucket: str
) -> None:
    with pytest.raises(headrace.InvalidArgument, match="metadata names 'a' twice"):
        client.put(f"{bucket}/k", b"x", metadata={"A": "1", "a": "2"})
    with pytest.raises(headrace.NotFound):
        client.head(f"{bucket}/k")


def test_contradicting_settings_are_refused() -> None:
    with pytest.raises(headrace.InvalidArgument, match="requester_pays"):
        headrace.ClientConfig(unsigned=True, requester_pays=True)
    with pytest.raises(headrace.InvalidArgument, match="part_size"):
        headrace.Client(config=headrace.ClientConfig(part_size=1))
    with pytest.raises(TypeError, match="part_size cannot be"):
        headrace.Client(config=headrace.ClientConfig(part_size="8MiB"))  # type: ignore[arg-type]
    with pytest.raises(headrace.InvalidArgument, match=r"connect_timeout.* at most a week"):
        headrace.Client(config=headrace.ClientConfig(connect_timeout=float("inf")))
    with pytest.raises(headrace.Error):
        headrace.Client(endpoint_url="not a url").get("s3://bucket/key")


def test_a_config_never_shows_its_secrets() -> None:
    config = headrace.ClientConfig(
        access_key_id="AKID", secret_access_key="hidden", session_token="hidden", part_size=1 << 23
    )
    assert "hidden" not in repr(config)
    assert "AKID" in repr(config)


def test_nobody_listens_there() -> None:
    client = headrace.Client(
        endpoint_url="http://127.0.0.1:9",
        config=headrace.ClientConfig(max_attempts=2, progress_timeout=5),
    )
    with pytest.raises(ConnectionError) as caught:
        client.get("s3://bucket/key")
    assert isinstance(caught.value, headrace.Unreachable)
    assert caught.value.attempts == 2


def test_wrong_credentials(server: EmbeddedServer, bucket: str) -> None:
    config = headrace.ClientConfig(access_key_id=server.access_key, secret_access_key="wrong")
    with pytest.raises(PermissionError, match="SignatureDoesNotMatch"):
        headrace.Client(config=config).get(f"{bucket}/key")


def test_one_address_is_no_list_of_them(client: headrace.Client, bucket: str) -> None:
    with pytest.raises(headrace.InvalidArgument, match="give a list, or use get"):
        client.get_many(f"{bucket}/key")


def test_many_threads_share_a_client(client: headrace.Client, bucket: str) -> None:
    client.put(f"{bucket}/key", b"x" * 1000)
    with ThreadPoolExecutor(32) as pool:
        sizes = list(pool.map(lambda _: len(client.get(f"{bucket}/key")), range(500)))
    assert sizes == [1000] * 500


def test_pickles(client: headrace.Client, bucket: str) -> None:
    client.put(f"{bucket}/key", b"x")
    again = pickle.loads(pickle.dumps(client))
    assert bytes(again.get(f"{bucket}/key")) == b"x"


def test_local_files_and_memory(client: headrace.Client, tmp_path: Path) -> None:
    client.create_bucket("memory://here")
    for base in (str(tmp_path), f"file://{tmp_path}", "memory://here"):
        client.put(f"{base}/a/key", b"local")
        assert bytes(client.get(f"{base}/a/key")) == b"local"
        assert len(list(client.list(f"{base}/a/"))) == 1
    assert (tmp_path / "a" / "key").read_bytes() == b"local"


def test_only_a_bucket_is_deleted_as_one(client: headrace.Client, bucket: str) -> None:
    for address in (f"{bucket}/folder/", "file:///tmp/folder"):
        for change in (client.delete_bucket, client.create_bucket):
            with pytest.raises(headrace.InvalidArgument, match="names no bucket"):
                change(address)
    assert list(client.list(f"{bucket}/")) == []


def test_a_local_folder_that_cannot_be_made_is_told(
    client: headrace.Client, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(headrace.NotFound, match=r"making .*folder: Not a directory"):
        client.put(str(tmp_path / "file" / "folder" / "key"), b"")


def test_a_plain_name_is_a_file_in_the_working_directory(
    client: headrace.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    large = b"x" * (20 << 20)  # in parts
    client.put("small", b"small")
    client.put("large", large)
    with client.open("written", "wb") as writer:
        writer.write(b"written")
    found = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert found == {"small": b"small", "large": large, "written": b"written"}


def test_metrics_count_requests(client: headrace.Client, bucket: str) -> None:
    client.put(f"{bucket}/key", b"x" * 100)
    before = client.metrics()['headrace_requests_total{operation="get"}']
    client.get(f"{bucket}/key")
    assert client.metrics()['headrace_requests_total{operation="get"}'] == before + 1
    assert "# TYPE headrace_requests_total counter" in client.prometheus_text()
