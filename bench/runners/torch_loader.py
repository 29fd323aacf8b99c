"""A torch DataLoader over single objects: headrace.torch, or the S3 Connector for PyTorch.

Both decode nothing but compute zlib.crc32 of each object; with "pillow" both decode and resize in a
transform.
"""

from __future__ import annotations

import io
import time
import zlib
from typing import Any

import torch

from common import Meter, cell


def checksum(reader: Any) -> tuple[int, int]:
    data = reader.read()
    return zlib.crc32(data), len(data)


def pillow(reader: Any) -> tuple[int, int]:
    from PIL import Image

    data = reader.read()
    with Image.open(io.BytesIO(data)) as image:
        image.draft("RGB", (248, 194))
        small = image.convert("RGB").resize((224, 224))
    return zlib.crc32(small.tobytes()), len(data)


def collate(samples: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return samples


def main() -> None:
    c = cell()
    transform = pillow if c.get("transform") == "pillow" else checksum
    workers = int(c["workers"])
    loader_options: dict[str, Any] = {
        "batch_size": c["batch"],
        "shuffle": True,
        "num_workers": workers,
        "collate_fn": collate,
        "drop_last": True,
        "generator": torch.Generator().manual_seed(0),
    }
    if workers:
        loader_options["persistent_workers"] = True
    if c["client"] == "headrace":
        from headrace.torch import DataLoader, S3ClientConfig, S3MapDataset

        config = S3ClientConfig(max_in_flight=c.get("max_in_flight"))
        loader_options["prefetch_batches"] = c.get("prefetch_batches", 2)
        loader_class: Any = DataLoader
    else:
        from s3torchconnector import S3ClientConfig, S3MapDataset
        from torch.utils.data import DataLoader

        config = S3ClientConfig(force_path_style=True)
        loader_class = DataLoader
    dataset = S3MapDataset.from_prefix(
        c["uri"],
        region="us-east-1",
        endpoint=c["endpoint"],
        transform=transform,
        s3client_config=config,
    )
    loader = loader_class(dataset, **loader_options)
    step = float(c.get("step", 0))
    left, right = torch.rand(256, 256), torch.rand(256, 256)
    meter = Meter(c["warmup"], c["seconds"])
    while True:
        batches = iter(loader)
        while True:
            asked = time.perf_counter()
            batch = next(batches, None)
            if batch is None:
                break
            wait = time.perf_counter() - asked
            if step:
                if c.get("busy"):
                    until = time.perf_counter() + step
                    while time.perf_counter() < until:
                        torch.mm(left, right)
                else:
                    time.sleep(step)
            if not meter.tick(len(batch), sum(size for _, size in batch), wait):
                extra = {}
                if c["client"] == "headrace" and not workers:
                    metrics = dataset.client.metrics() if hasattr(dataset, "client") else {}
                    extra["metrics"] = {k: v for k, v in metrics.items() if "hedge" in k}
                meter.end(**extra)
                return


if __name__ == "__main__":
    if cell().get("one_thread"):
        torch.set_num_threads(1)
    main()
