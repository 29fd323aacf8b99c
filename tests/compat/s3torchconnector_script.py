"""The S3 Connector for PyTorch against the server in the environment. Argument: the bucket."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from typing import Any

import torch
from s3torchconnector import S3Checkpoint, S3IterableDataset, S3MapDataset
from s3torchconnector._s3client import S3Client, S3ClientConfig

bucket = sys.argv[1]
where: dict[str, Any] = {"region": "us-east-1", "endpoint": os.environ["AWS_ENDPOINT_URL"]}
config = S3ClientConfig(force_path_style=True)

client = S3Client(s3client_config=config, **where)
bodies = {f"set/{i:04} ü+%.bin": os.urandom(1000 + i) for i in range(1200)}
for key, body in bodies.items():
    with client.put_object(bucket, key) as writer:
        writer.write(body)

mapped = S3MapDataset.from_prefix(f"s3://{bucket}/set/", s3client_config=config, **where)
assert len(mapped) == len(bodies)
assert [mapped[i].key for i in range(len(mapped))] == sorted(bodies, key=str.encode)
for i in (0, 7, 1199):
    assert mapped[i].read() == bodies[mapped[i].key]
reader = mapped[5]
reader.seek(-10, 2)
assert reader.read() == bodies[reader.key][-10:]

iterated = S3IterableDataset.from_prefix(f"s3://{bucket}/set/", s3client_config=config, **where)
seen = {item.key: hashlib.sha256(item.read()).hexdigest() for item in iterated}
assert seen == {key: hashlib.sha256(body).hexdigest() for key, body in bodies.items()}

by_name = S3MapDataset.from_objects(
    [f"s3://{bucket}/{key}" for key in list(bodies)[:3]], s3client_config=config, **where
)
assert [item.read() for item in by_name] == list(bodies.values())[:3]

# 40 MB goes up in parts and comes down in ranges.
tensor = torch.arange(10_000_000, dtype=torch.float32)
checkpoint = S3Checkpoint(s3client_config=config, **where)
with checkpoint.writer(f"s3://{bucket}/model.pt") as writer:
    torch.save({"t": tensor}, writer)
with checkpoint.reader(f"s3://{bucket}/model.pt") as reader:
    loaded: Any = torch.load(reader)  # type: ignore[arg-type, unused-ignore]
    assert torch.equal(loaded["t"], tensor)

client.copy_object(bucket, "model.pt", bucket, "copy of model.pt")
assert client.head_object(bucket, "copy of model.pt").size > 40_000_000
client.delete_object(bucket, "model.pt")
try:
    client.get_object(bucket, "model.pt").read()
    raise AssertionError("a deleted object was read")
except Exception as error:
    assert "NoSuchKey" in str(error) or "does not exist" in str(error), error

print(json.dumps({"objects": len(seen)}))
