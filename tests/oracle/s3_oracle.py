"""Compares our signatures and addresses with botocore's over hundreds of generated requests.

    s3_oracle.py PROGRAM [--seed N] [--count N]

PROGRAM is built from s3_oracle.cc. Where this Python has no botocore, that of the clients'
environment is used (.venv-clients beside the sources, or HEADRACE_CLIENTS_PYTHON); without any the
exit status is 77, which ctest shows as skipped.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import pathlib
import random
import subprocess
import sys
import urllib.parse
from typing import Any
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]

try:
    import botocore.auth
    import botocore.config
    import botocore.credentials
    import botocore.session
    from botocore.awsrequest import AWSRequest
except ImportError:
    python = pathlib.Path(
        os.environ.get("HEADRACE_CLIENTS_PYTHON", ROOT / ".venv-clients/bin/python")
    )
    if not python.exists() or os.environ.get("HEADRACE_ORACLE_NESTED"):
        print("no botocore here and none in", python)
        sys.exit(77)
    os.environ["HEADRACE_ORACLE_NESTED"] = "1"
    os.execv(python, [str(python), *sys.argv])

Case = dict[str, Any]

# What keys and values are made of: separated by spaces here, and some that cannot stand so.
PIECES = [
    "a",
    "B",
    "0",
    "-",
    "_",
    ".",
    "~",
    "/",
    "//",
    "/../",
    "/./",
    "+",
    "%",
    "%41",
    "%2F",
    "&",
    "=",
    "?",
    "#",
    "'",
    '"',
    "<",
    ">",
    "*",
    "(",
    ")",
    "!",
    ",",
    ";",
    ":",
    "@",
    "$",
    "[",
    "]",
    "{",
    "}",
    "|",
    "\\",
    "^",
    "`",
    " ",
    "  ",
    "\x01",
    "\n",
    "\r",
    "\t",
    "\x7f",
    "ü",
    "ü",
    "日",
    "🐈",
]


def text(rng: random.Random, longest: int) -> str:
    return "".join(rng.choice(PIECES) for _ in range(rng.randrange(longest + 1)))


def word(rng: random.Random, alphabet: str, shortest: int, longest: int) -> str:
    return "".join(rng.choice(alphabet) for _ in range(rng.randint(shortest, longest)))


def latin1(value: str) -> str:
    """The UTF-8 bytes of `value`, each as the code point of its number."""
    return value.encode().decode("latin-1")


def header_value(rng: random.Random) -> str:
    parts = [word(rng, "abcXYZ019-_/=;:\"'().,", 0, 8) for _ in range(rng.randint(1, 4))]
    blanks = [" ", "  ", "\t", " \t "]
    return rng.choice(["", *blanks]) + rng.choice(blanks).join(parts) + rng.choice(["", *blanks])


def sign_case(rng: random.Random, kind: str) -> Case:
    names = [
        "range",
        "If-Match",
        "x-amz-meta-a",
        "X-Amz-Meta-B",
        "x-amz-checksum-mode",
        "content-type",
        "x-amz-copy-source",
        "x-amz-storage-class",
        "x-amz-acl",
        "Content-MD5",
    ]
    headers = [(name, header_value(rng)) for name in rng.sample(names, rng.randrange(6))]
    query_names = [
        "prefix",
        "delimiter",
        "list-type",
        "uploads",
        "partNumber",
        "uploadId",
        "versionId",
    ]
    query = [(name, text(rng, 8)) for name in rng.sample(query_names, rng.randrange(5))]
    if rng.random() < 0.2:
        query.append((text(rng, 4) + "q", text(rng, 4)))
    moment = datetime.datetime(2020, 1, 1) + datetime.timedelta(
        seconds=rng.randrange(10 * 365 * 86400)
    )
    long_ago = datetime.datetime(2024, 2, 29, 23, 59, 59)
    return {
        "kind": kind,
        "method": "GET"
        if kind == "presign"
        else rng.choice(["GET", "PUT", "HEAD", "POST", "DELETE"]),
        "host": rng.choice(["b.s3.eu-west-1.amazonaws.com", "127.0.0.1:9000", "[::1]:8080", "h"]),
        "path": "/" + rng.choice(["", "bucket/"]) + text(rng, 12),
        "query": query,
        "headers": headers,
        "payload_hash": "UNSIGNED-PAYLOAD"
        if rng.random() < 0.5
        else word(rng, "0123456789abcdef", 64, 64),
        "access_key": word(rng, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16, 20),
        "secret_key": word(rng, "ABCabc019/+=", 20, 100),
        "session_token": word(rng, "ABCabc019/+=", 100, 900) if rng.random() < 0.5 else "",
        "region": rng.choice(["us-east-1", "eu-west-1", "cn-north-1", "garage"]),
        "time": (long_ago if rng.random() < 0.05 else moment).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "lifetime": rng.randint(1, 604800),
    }


class FixedTime(datetime.datetime):
    """The clock that botocore sees."""

    moment: FixedTime

    @classmethod
    def utcnow(cls) -> FixedTime:
        return cls.moment

    @classmethod
    def now(cls, tz: Any = None) -> FixedTime:
        return cls.moment.replace(tzinfo=tz)


class HeaderSigner(botocore.auth.S3SigV4Auth):
    """botocore's signer, told the payload hash, keeping what it computed."""

    hash_to_use = ""

    def payload(self, request: Any) -> str:
        return self.hash_to_use

    def string_to_sign(self, request: Any, canonical_request: str) -> str:
        self.seen_canonical = canonical_request
        self.seen_string = super().string_to_sign(request, canonical_request)
        return self.seen_string


class QuerySigner(botocore.auth.S3SigV4QueryAuth):
    """The same for presigned requests."""

    def string_to_sign(self, request: Any, canonical_request: str) -> str:
        self.seen_canonical = canonical_request
        self.seen_string = super().string_to_sign(request, canonical_request)
        return self.seen_string


def botocore_sign(case: Case, ours: Case) -> Case:
    # botocore gets the URL that we would send, so that the encoding of our path is checked against
    # urllib's and the signature against botocore's own reading of that URL.
    path = urllib.parse.quote(case["path"], safe="/~")
    credentials = botocore.credentials.Credentials(
        case["access_key"], case["secret_key"], case["session_token"] or None
    )
    FixedTime.moment = FixedTime.strptime(case["time"], "%Y-%m-%dT%H:%M:%SZ")
    url = f"http://{case['host']}{path}"
    request = AWSRequest(method=case["method"], url=url, params=dict(case["query"]))
    if case["kind"] == "presign":
        pairs = sorted((urllib.parse.quote(k, safe="-_.~"), urllib.parse.quote(v, safe="-_.~"))
                       for k, v in case["query"])  # fmt: skip
        request = AWSRequest(method="GET", url=url + "?" + "&".join(f"{k}={v}" for k, v in pairs))
    for name, value in case["headers"]:
        request.headers.add_header(name, value)
    request.headers["Host"] = case["host"]
    answer: Case = {"path": path}
    now = mock.patch.object(
        botocore.auth, "get_current_datetime", lambda **_: FixedTime.moment, create=True
    )
    with now, mock.patch("datetime.datetime", FixedTime):
        if case["kind"] == "presign":
            query_signer = QuerySigner(credentials, "s3", case["region"], expires=case["lifetime"])
            query_signer.add_auth(request)
            answer["query"] = sorted(urllib.parse.urlsplit(str(request.url)).query.split("&"))
            answer["canonical_request"] = query_signer.seen_canonical
            answer["string_to_sign"] = query_signer.seen_string
        else:
            signer = HeaderSigner(credentials, "s3", case["region"])
            signer.hash_to_use = case["payload_hash"]
            signer.add_auth(request)
            answer["authorization"] = request.headers["Authorization"]
            answer["canonical_request"] = signer.seen_canonical
            answer["string_to_sign"] = signer.seen_string
    return answer


def endpoint_case(rng: random.Random) -> Case:
    custom = rng.choice(
        [
            "",
            "",
            "http://127.0.0.1:9000",
            "http://127.0.0.1:9000/",
            "http://localhost:8080",
            "https://minio.example.com",
            "https://minio.example.com:443/gw/",
            "http://[::1]:9000",
            "https://MINIO.example.com/a/b",
        ]
    )
    variable = rng.choice(["", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"]) if custom else ""
    region = rng.choice(
        [
            "us-east-1",
            "us-west-2",
            "eu-central-1",
            "cn-north-1",
            "us-gov-west-1",
            "ap-south-1",
            "us-iso-east-1",
            "us-isob-east-1",
        ]
    )
    region_from = rng.choice(["option", "AWS_DEFAULT_REGION"])
    environment = {variable: custom} if variable else {}
    if region_from != "option":
        environment[region_from] = region
    return {
        "kind": "endpoint",
        "bucket": rng.choice(
            ["data", "my-data-1", "my.dotted.data", "a-b", "abc", "x" * 63, "123"]
        ),
        "key": (word(rng, "abc", 1, 1) + text(rng, 10)) if rng.random() < 0.9 else "",
        "style": rng.choice(["auto", "auto", "path", "virtual"]),
        "region": region if region_from == "option" else "",
        "endpoint_url": "" if variable else custom,
        "environment": environment,
    }


def botocore_endpoint(case: Case) -> Case | None:
    """Where botocore would send the request; None where it differs on purpose (see below)."""
    bucket, key = case["bucket"], case["key"]
    if case["style"] == "virtual" and "." in bucket:
        return None  # botocore obeys, and asks a name that no certificate covers
    sent: list[str] = []

    def before_send(request: Any, **_: Any) -> Any:
        sent.append(request.url)
        raise InterruptedError

    keep = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
    environment = {
        **keep,
        **case["environment"],
        "AWS_CONFIG_FILE": "/nonexistent",
        "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    with mock.patch.dict(os.environ, environment, clear=True):
        config = botocore.config.Config(
            s3={"addressing_style": case["style"], "us_east_1_regional_endpoint": "regional"}
        )
        client: Any = botocore.session.Session().create_client(
            "s3", region_name=case["region"] or None, endpoint_url=case["endpoint_url"] or None,
            aws_access_key_id="a", aws_secret_access_key="b", config=config)  # fmt: skip
        client.meta.events.register_first("before-send.s3", before_send)
        try:
            if key:
                client.get_object(Bucket=bucket, Key=key)
            else:
                client.head_bucket(Bucket=bucket)
        except InterruptedError:
            pass
    return {"url": sent[0], "region": client.meta.region_name}


def same_url(a: str, b: str) -> bool:
    """Whether both send the same request: usual ports and the host's case do not count."""
    x, y = urllib.parse.urlsplit(a), urllib.parse.urlsplit(b)
    usual = {"http": 80, "https": 443}
    return (x.scheme, x.hostname, x.port or usual[x.scheme], x.path or "/") == (
        y.scheme, y.hostname, y.port or usual[y.scheme], y.path or "/")  # fmt: skip


def differences(case: Case, ours: Case) -> list[str]:
    if case["kind"] == "endpoint":
        theirs = botocore_endpoint(case)
        if theirs is None or (
            same_url(ours.get("url", "x://"), theirs["url"]) and ours["region"] == theirs["region"]
        ):
            return []
        return [f"ours {ours}, botocore {theirs}"]
    theirs = botocore_sign(case, ours)
    if case["kind"] == "presign":
        ours = {**ours, "query": sorted(ours["query"].split("&"))}
    return [f"{name}:\n  ours     {ours.get(name)!r}\n  botocore {value!r}"
            for name, value in theirs.items() if ours.get(name) != value]  # fmt: skip


def as_sent(case: Case) -> Case:
    """The case with its texts as bytes, for PROGRAM."""
    sent = dict(case)
    for name in ("path", "key", "bucket"):
        if name in sent:
            sent[name] = latin1(sent[name])
    for name in ("query", "headers"):
        if name in sent:
            sent[name] = [[latin1(k), latin1(v)] for k, v in sent[name]]
    return sent


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--count", type=int, default=400, help="signed requests; an eighth as many addresses"
    )
    args = parser.parse_args()
    rng = random.Random(args.seed)
    cases = [sign_case(rng, "presign" if i % 4 == 0 else "sign") for i in range(args.count)]
    cases += [endpoint_case(rng) for _ in range(args.count // 8)]
    lines = "".join(json.dumps(as_sent(case)) + "\n" for case in cases)
    answers = subprocess.run(
        [args.program], input=lines, capture_output=True, text=True, check=True
    )
    ours = [json.loads(line) for line in answers.stdout.splitlines()]
    assert len(ours) == len(cases), f"{len(cases)} questions, {len(ours)} answers"
    failed = 0
    compared = {"sign": 0, "presign": 0, "endpoint": 0}
    for case, answer in zip(cases, ours, strict=True):
        found = differences(case, answer)
        compared[case["kind"]] += 1
        if found:
            failed += 1
            if failed <= 5:
                print(json.dumps(case), *found, sep="\n")
    print(
        f"seed {args.seed}: compared {compared}, {failed} differ; botocore {botocore.__version__}"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
