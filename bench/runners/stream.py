"""One large object read, or written, as a stream: units are objects, and memory is what counts.

Mode "idle" makes the client and opens nothing: what the interpreter and its modules hold.
"""

from __future__ import annotations

import time
from typing import Any

from common import cell, say

CHUNK = 1 << 20


def headrace_client(c: dict[str, Any]) -> Any:
    import headrace

    return headrace.Client(
        region="us-east-1",
        endpoint_url=c["endpoint"],
        config=headrace.ClientConfig(memory_limit=c["budget"]),
    )


def connector(c: dict[str, Any]) -> Any:
    from s3torchconnector import S3Checkpoint, S3ClientConfig

    return S3Checkpoint(
        "us-east-1",
        endpoint=c["endpoint"],
        s3client_config=S3ClientConfig(force_path_style=True),
    )


def main() -> None:
    c = cell()
    reading = c["mode"] == "read"
    if c["client"] == "headrace":
        client = headrace_client(c)
        begin = lambda: client.open(c["uri"], "rb" if reading else "wb")  # noqa: E731
    else:
        checkpoint = connector(c)
        begin = lambda: (checkpoint.reader if reading else checkpoint.writer)(c["uri"])  # noqa: E731
    say("begin")
    began = time.perf_counter()
    if c["mode"] == "idle":
        time.sleep(1)
        say("end", units=1, bytes=0, seconds=time.perf_counter() - began)
        return
    moved = 0
    with begin() as stream:
        if reading:
            while piece := stream.read(CHUNK):
                moved += len(piece)
        else:
            piece = bytes(range(256)) * (CHUNK // 256)
            while moved < c["size"]:
                moved += stream.write(piece) or len(piece)
    assert moved == c["size"], (moved, c["size"])
    say("end", units=1, bytes=moved, seconds=time.perf_counter() - began)


if __name__ == "__main__":
    main()
