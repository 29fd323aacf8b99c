"""All keys under a prefix, once: units are keys, and the time is the whole listing's.

Of Headrace also the memory that the map-style data set holds per key.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common import cell, say

# Each returns what lists, ready to run.


def headrace(c: dict[str, Any]) -> Callable[[], int]:
    import headrace

    client = headrace.Client(region="us-east-1", endpoint_url=c["endpoint"])
    return lambda: sum(1 for _ in client.list(c["uri"]))


def bytes_per_key(c: dict[str, Any]) -> float:
    from headrace.torch import S3MapDataset

    dataset = S3MapDataset.from_prefix(c["uri"], region="us-east-1", endpoint=c["endpoint"])
    return dataset.listing_bytes / len(dataset)


def boto3(c: dict[str, Any]) -> Callable[[], int]:
    import boto3

    client = boto3.client("s3", region_name="us-east-1", endpoint_url=c["endpoint"])
    pages = client.get_paginator("list_objects_v2")
    return lambda: sum(
        len(page.get("Contents", []))
        for page in pages.paginate(Bucket=c["bucket"], Prefix=c["prefix"])
    )


def obstore(c: dict[str, Any]) -> Callable[[], int]:
    from obstore.store import S3Store

    store = S3Store(
        c["bucket"],
        endpoint=c["endpoint"],
        region="us-east-1",
        access_key_id=c["access_key"],
        secret_access_key=c["secret_key"],
        client_options={"allow_http": True},
    )
    return lambda: sum(len(batch) for batch in store.list(c["prefix"], chunk_size=1000))


def s5cmd(c: dict[str, Any]) -> Callable[[], int]:
    program = Path(sys.executable).parent / "s5cmd"

    def run() -> int:
        out = subprocess.run(
            [program, "--endpoint-url", c["endpoint"], "ls", f"{c['uri']}*"],
            check=True,
            capture_output=True,
        )
        return out.stdout.count(b"\n")

    return run


def main() -> None:
    c = cell()
    run = {"headrace": headrace, "boto3": boto3, "obstore": obstore, "s5cmd": s5cmd}[c["client"]](c)
    say("begin")
    began = time.perf_counter()
    units = run()
    seconds = time.perf_counter() - began
    extra = {"bytes_per_key": bytes_per_key(c)} if c["client"] == "headrace" else {}
    say("end", units=units, bytes=0, seconds=seconds, **extra)


if __name__ == "__main__":
    main()
