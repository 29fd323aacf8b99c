"""What the tests of this folder share: a boto3 client of a server, and the server's counters."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

import boto3
from botocore.config import Config

from servers import S3Server


def client_of(server: S3Server, config: Config | None = None, **overrides: Any) -> Any:
    """A boto3 client; retries are off, so that a fault is seen and not repaired."""
    base = Config(
        retries={"total_max_attempts": 1}, s3={"addressing_style": "path"}, signature_version="s3v4"
    )
    arguments: dict[str, Any] = {
        "endpoint_url": server.endpoint,
        "aws_access_key_id": server.access_key,
        "aws_secret_access_key": server.secret_key,
        "region_name": "us-east-1",
        "config": base.merge(config) if config else base,
    }
    return boto3.client("s3", **(arguments | overrides))


def stats_of(server: S3Server) -> Any:
    """The embedded server's counters."""
    with urllib.request.urlopen(server.endpoint + "/_headrace/stats") as answer:
        return json.load(answer)
