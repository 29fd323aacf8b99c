"""Objects fetched into memory, so many in flight, by one client library: units are objects.

clients: headrace, s3torchconnector, obstore (async), obstore_threads, boto3 (s3transfer for large
objects), s3fs.
"""

from __future__ import annotations

import asyncio
import random
import threading
import zlib
from collections.abc import Callable
from typing import Any

from common import Meter, cell


def keys_of(c: dict[str, Any]) -> list[str]:
    return [f"{c['prefix']}{i:0{c['digits']}d}" for i in range(c["count"])]


def credentials(c: dict[str, Any]) -> dict[str, str]:
    return {"access_key_id": c["access_key"], "secret_access_key": c["secret_key"]}


def use(data: Any, c: dict[str, Any]) -> int:
    if c.get("checksum"):
        zlib.crc32(data)
    return len(data)


def headrace_batches(c: dict[str, Any]) -> None:
    import headrace

    client = headrace.Client(
        region="us-east-1",
        endpoint_url=c["endpoint"],
        config=headrace.ClientConfig(max_in_flight=c["in_flight"], **c.get("config", {})),
    )
    listed, choose = list(client.list(f"s3://{c['bucket']}/{c['prefix']}")), random.Random(0)
    meter = Meter(c["warmup"], c["seconds"])
    n = c.get("batch", 4096)  # long calls: no pause between them
    while True:
        for data in client.get_many(choose.choices(listed, k=n), ordered=False):
            if not meter.tick(1, use(data, c)):
                meter.end()
                return


async def obstore_async(c: dict[str, Any]) -> None:
    store = obstore_store(c)
    keys, choose = keys_of(c), random.Random(0)
    meter = Meter(c["warmup"], c["seconds"])
    going = True

    async def worker() -> None:
        nonlocal going
        while going:
            answer = await store.get_async(choose.choice(keys))
            data = memoryview(await answer.bytes_async())
            going = going and meter.tick(1, use(data, c))

    await asyncio.gather(*(worker() for _ in range(c["in_flight"])))
    meter.end()


async def obstore_batches(c: dict[str, Any]) -> None:
    """What one would write by hand for training: batches in order, so many requests in flight."""
    store = obstore_store(c)
    keys, choose = keys_of(c), random.Random(0)
    meter = Meter(c["warmup"], c["seconds"])
    places = asyncio.Semaphore(c["in_flight"])

    async def one(key: str) -> Any:
        async with places:
            answer = await store.get_async(key)
            return memoryview(await answer.bytes_async())

    async def batch() -> list[Any]:
        return await asyncio.gather(*(one(k) for k in choose.choices(keys, k=c["batch"])))

    ahead = [asyncio.ensure_future(batch()) for _ in range(c.get("prefetch_batches", 2) + 1)]
    import time

    while True:
        asked = time.perf_counter()
        samples = await ahead.pop(0)
        wait = time.perf_counter() - asked
        ahead.append(asyncio.ensure_future(batch()))
        size = sum(use(data, c) for data in samples)
        if not meter.tick(len(samples), size, wait):
            meter.end()
            for task in ahead:
                task.cancel()
            return


def obstore_store(c: dict[str, Any]) -> Any:
    from obstore.store import S3Store

    return S3Store(
        c["bucket"],
        endpoint=c["endpoint"],
        region="us-east-1",
        virtual_hosted_style_request=False,
        client_options={"allow_http": True},
        **credentials(c),
    )


def in_threads(c: dict[str, Any], make: Callable[[], Callable[[str], Any]]) -> None:
    keys = keys_of(c)
    meter, lock = Meter(c["warmup"], c["seconds"]), threading.Lock()
    going = True

    def work(seed: int) -> None:
        nonlocal going
        get, choose = make(), random.Random(seed)
        while going:
            size = use(get(choose.choice(keys)), c)
            with lock:
                going = going and meter.tick(1, size)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(c["in_flight"])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    meter.end()


def obstore_getter(c: dict[str, Any]) -> Callable[[], Callable[[str], Any]]:
    store = obstore_store(c)
    return lambda: lambda key: memoryview(store.get(key).bytes())


def connector_getter(c: dict[str, Any]) -> Callable[[], Callable[[str], Any]]:
    from s3torchconnector import S3ClientConfig
    from s3torchconnector._s3client import S3Client

    client = S3Client(
        "us-east-1",
        endpoint=c["endpoint"],
        s3client_config=S3ClientConfig(force_path_style=True),
    )
    return lambda: lambda key: client.get_object(c["bucket"], key).read()


def boto3_getter(c: dict[str, Any]) -> Callable[[], Callable[[str], Any]]:
    import boto3
    from botocore.config import Config

    client = boto3.client(
        "s3",
        region_name="us-east-1",
        endpoint_url=c["endpoint"],
        aws_access_key_id=c["access_key"],
        aws_secret_access_key=c["secret_key"],
        config=Config(max_pool_connections=c["in_flight"] * 10),
    )
    if c["size"] <= 8 << 20:
        return lambda: lambda key: client.get_object(Bucket=c["bucket"], Key=key)["Body"].read()

    import io

    def large(key: str) -> Any:
        into = io.BytesIO()
        client.download_fileobj(c["bucket"], key, into)
        return into.getbuffer()

    return lambda: large


async def s3fs_async(c: dict[str, Any]) -> None:
    import s3fs

    fs = s3fs.S3FileSystem(
        key=c["access_key"],
        secret=c["secret_key"],
        endpoint_url=c["endpoint"],
        client_kwargs={"region_name": "us-east-1"},
        config_kwargs={"max_pool_connections": c["in_flight"]},
        asynchronous=True,
    )
    session = await fs.set_session()
    keys, choose = keys_of(c), random.Random(0)
    meter = Meter(c["warmup"], c["seconds"])
    going = True

    async def worker() -> None:
        nonlocal going
        while going:
            data = await fs._cat_file(f"{c['bucket']}/{choose.choice(keys)}")
            going = going and meter.tick(1, use(data, c))

    await asyncio.gather(*(worker() for _ in range(c["in_flight"])))
    meter.end()
    await session.close()


def main() -> None:
    c = cell()
    client = c["client"]
    if client == "headrace":
        headrace_batches(c)
    elif client == "obstore":
        asyncio.run(obstore_async(c))
    elif client == "obstore_batches":
        asyncio.run(obstore_batches(c))
    elif client == "s3fs":
        asyncio.run(s3fs_async(c))
    else:
        getters = {
            "obstore_threads": obstore_getter,
            "s3torchconnector": connector_getter,
            "boto3": boto3_getter,
        }
        in_threads(c, getters[client](c))


if __name__ == "__main__":
    main()
