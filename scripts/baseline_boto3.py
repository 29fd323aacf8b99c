"""What scripts/quickstart compares with: one epoch of the same loop, fed by boto3.

Each sample is one `get_object` in `__getitem__`, as many data sets are written, with one worker per
core; everything else is examples/train_vit.py's.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import os
from pathlib import Path
from types import ModuleType
from typing import Any

import boto3
import torch

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "train_vit.py"


def load_example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("train_vit", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class KeyedBytes(io.BytesIO):
    """An object's bytes with its key, as the example's transform wants them."""

    def __init__(self, data: bytes, key: str) -> None:
        super().__init__(data)
        self.key = key


class Boto3Dataset(torch.utils.data.Dataset[Any]):
    def __init__(
        self, bucket: str, keys: list[str], transform: Any, client: dict[str, Any]
    ) -> None:
        self.bucket = bucket
        self.keys = keys
        self.transform = transform
        self._arguments = client
        self._client: Any = None

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, index: int) -> Any:
        if self._client is None:  # one for each worker
            self._client = boto3.client("s3", **self._arguments)
        key = self.keys[index]
        body = self._client.get_object(Bucket=self.bucket, Key=key)["Body"].read()
        return self.transform(KeyedBytes(body, key))


def main() -> None:
    parser = argparse.ArgumentParser(description="one epoch fed by boto3")
    parser.add_argument("--data", required=True, help="s3://bucket/prefix with train/")
    parser.add_argument("--region")
    parser.add_argument("--endpoint-url")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    args = parser.parse_args()

    torch.manual_seed(1)
    torch.set_num_threads(max(1, torch.get_num_threads() - args.workers))
    example = load_example()
    arguments = {"region_name": args.region, "endpoint_url": args.endpoint_url}
    bucket, _, prefix = args.data.removeprefix("s3://").partition("/")
    pages = boto3.client("s3", **arguments).get_paginator("list_objects_v2")
    keys = [
        item["Key"]
        for page in pages.paginate(Bucket=bucket, Prefix=f"{prefix.rstrip('/')}/train/")
        for item in page.get("Contents", [])
    ]
    classes = sorted({example.class_of(key) for key in keys})
    dataset = Boto3Dataset(bucket, keys, example.Decode(classes), arguments)
    loader: Any = torch.utils.data.DataLoader(
        dataset, args.batch_size, shuffle=True, num_workers=args.workers
    )
    model = example.SmallViT(len(classes))
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-3, total_steps=len(loader))
    result = example.train_epoch(model, loader, optimizer, schedule)
    print(
        f"boto3, {args.workers} workers, one epoch: "
        f"{result['rate']:.0f} samples/s, {result['waited']:.0%} of time waiting for data"
    )


if __name__ == "__main__":
    main()
