"""What the tests of reported faults share."""

from __future__ import annotations

import random
from typing import Any

import botocore.auth
import botocore.awsrequest
import botocore.credentials

import headrace
from servers import Request, S3Server

MIB = 1 << 20
LIMIT = 60  # seconds for a test: what takes longer hangs
# Well below the limit, so that what gives up does so in time to be seen.
DEADLINES: dict[str, Any] = {"connect_timeout": 2.0, "idle_timeout": 5.0, "progress_timeout": 20.0}


def config_of(server: S3Server, **settings: Any) -> headrace.ClientConfig:
    """A server's keys, short deadlines, and no hedges, so that requests can be counted."""
    keys = {"access_key_id": server.access_key, "secret_access_key": server.secret_key}
    return headrace.ClientConfig(**{**keys, **DEADLINES, "hedge": False, **settings})


def client_of(server: S3Server, endpoint: str | None = None, **settings: Any) -> headrace.Client:
    """A client of a server, through a proxy's endpoint if given."""
    return headrace.Client(
        endpoint_url=endpoint or server.endpoint,
        region=server.region,
        config=config_of(server, **settings),
    )


def random_bytes(size: int, seed: int = 1) -> bytes:
    """Bytes without a pattern, the same in every run: no two places of it look alike."""
    return random.Random(seed).randbytes(size)


def is_listing(request: Request) -> bool:
    return request.method == "GET" and "list-type=" in request.target


def is_get(request: Request) -> bool:
    """Whether it is a GET of an object."""
    path = request.path.strip("/")
    return request.method == "GET" and "/" in path and not is_listing(request)


def signature_holds(request: Request, server: S3Server) -> bool:
    """Whether botocore signs this request as it was sent with the same signature."""
    fields = dict(
        field.strip().split("=", 1)
        for field in request.headers["authorization"].partition(" ")[2].split(",")
    )
    signed = {name: request.headers[name] for name in fields["SignedHeaders"].split(";")}
    again = botocore.awsrequest.AWSRequest(
        request.method, f"http://{request.host}{request.target}", headers=signed
    )
    again.context["timestamp"] = request.headers["x-amz-date"]
    credentials = botocore.credentials.Credentials(server.access_key, server.secret_key)
    auth = botocore.auth.S3SigV4Auth(credentials, "s3", server.region)
    text = auth.string_to_sign(again, auth.canonical_request(again))
    return bool(auth.signature(text, again) == fields["Signature"])


GAUGES = ("headrace_in_flight", "headrace_queued", "headrace_budget_used_bytes")


def held(client: headrace.Client) -> dict[str, float]:
    """The gauges that are not at zero; with nothing under way, none."""
    found = {n: v for n, v in client.metrics().items() if n.startswith(GAUGES)}
    assert len(found) >= len(GAUGES), "the gauges have other names"
    return {name: value for name, value in found.items() if value}
