"""All keys under a prefix, once: units are keys, and the time is the whole listing's."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from common import cell, say


def headrace(c: dict[str, Any]) -> int:
    import headrace

    client = headrace.Client(region="us-east-1", endpoint_url=c["endpoint"])
    say("begin")
    return sum(1 for _ in client.list(c["uri"]))


def boto3(c: dict[str, Any]) -> int:
    import boto3

    client = boto3.client("s3", region_name="us-east-1", endpoint_url=c["endpoint"])
    pages = client.get_paginator("list_objects_v2")
    say("begin")
    return sum(
        len(page.get("Contents", []))
        for page in pages.paginate(Bucket=c["bucket"], Prefix=c["prefix"])
    )


def obstore(c: dict[str, Any]) -> int:
    from obstore.store import S3Store

    store = S3Store(
        c["bucket"],
        endpoint=c["endpoint"],
        region="us-east-1",
        access_key_id=c["access_key"],
        secret_access_key=c["secret_key"],
        client_options={"allow_http": True},
    )
    say("begin")
    return sum(len(batch) for batch in store.list(c["prefix"], chunk_size=1000))


def s5cmd(c: dict[str, Any]) -> int:
    program = Path(sys.executable).parent / "s5cmd"
    say("begin")
    out = subprocess.run(
        [program, "--endpoint-url", c["endpoint"], "ls", f"{c['uri']}*"],
        check=True,
        capture_output=True,
    )
    return out.stdout.count(b"\n")


def main() -> None:
    c = cell()
    began = time.perf_counter()
    units = {"headrace": headrace, "boto3": boto3, "obstore": obstore, "s5cmd": s5cmd}[c["client"]](
        c
    )
    say("end", units=units, bytes=0, seconds=time.perf_counter() - began)


if __name__ == "__main__":
    main()
