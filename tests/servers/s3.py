"""S3 servers: the embedded one, SeaweedFS and moto."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from .process import ROOT, ServerError, ServerProcess, executable, free_ports


class S3Server:
    """What all have in common: entering starts it in a temporary folder, leaving ends it."""

    name = ""
    region = "us-east-1"

    def __init__(self) -> None:
        self.endpoint = ""
        self.access_key = "AKIDHEADRACETEST"
        self.secret_key = "a/secret+key-for-the-tests"
        self.process: ServerProcess | None = None
        self._folder: Path | None = None

    @property
    def folder(self) -> Path:
        """The server's temporary folder: its log and its data."""
        assert self._folder is not None, "the server is not running"
        return self._folder

    def environment(self) -> dict[str, str]:
        """AWS_* variables that point any client at this server and at nothing else."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        }

    def start(self) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        if self.process is not None:
            self.process.stop()
            self.process = None

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix=f"headrace-{self.name}-"))
        last: ServerError | None = None
        # A chosen port may be taken by another run before the server binds it: choose again.
        for _ in range(3):
            try:
                self.start()
                return self
            except ServerError as error:
                last = error
                self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)
        assert last is not None
        raise last

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class EmbeddedServer(S3Server):
    """`headrace serve`. The binary is HEADRACE_BIN's, or the release build's."""

    name = "embedded"

    def __init__(
        self, arguments: Sequence[str] = (), *, environment: Mapping[str, str] | None = None
    ) -> None:
        super().__init__()
        self._arguments = list(arguments)
        self._environment = environment

    @staticmethod
    def binary() -> Path:
        built = ROOT / "build" / "release" / "apps" / "headrace" / "headrace"
        path = Path(os.environ.get("HEADRACE_BIN") or built)
        if not path.exists():
            raise ServerError(f"{path} is missing: run scripts/build, or set HEADRACE_BIN")
        return path

    def start(self) -> None:
        """Starts it, on the data of a stop or kill before if there is any."""
        self.process = ServerProcess(
            [
                self.binary(),
                "serve",
                self.folder / "data",
                "--port=0",
                "--json",
                *self._arguments,
            ],
            self.folder / "log",
            environment=self._environment,
            pipe_stdout=True,
        )
        line = self.process.first_line(timeout=20)
        try:
            ready = json.loads(line)
            self.endpoint = ready["endpoint"]
            self.access_key = ready["access_key"]
            self.secret_key = ready["secret_key"]
        except (ValueError, KeyError) as error:
            raise self.process.error(f"printed an unexpected line: {line!r}") from error


class SeaweedServer(S3Server):
    """SeaweedFS: a real S3 server, checks signatures. Bucket names need three letters."""

    name = "seaweedfs"

    def start(self) -> None:
        identity = {
            "name": "dev",
            "credentials": [{"accessKey": self.access_key, "secretKey": self.secret_key}],
            "actions": ["Admin", "Read", "Write", "List", "Tagging"],
        }
        config = self.folder / "s3.json"
        config.write_text(json.dumps({"identities": [identity]}))
        data = self.folder / "data"
        data.mkdir(exist_ok=True)
        master, volume, filer, s3 = free_ports(4, twins=True)
        self.process = ServerProcess(
            [
                executable("weed", "HEADRACE_WEED"),
                "server",
                "-ip=127.0.0.1",
                "-ip.bind=127.0.0.1",
                f"-dir={data}",
                f"-master.port={master}",
                f"-volume.port={volume}",
                f"-filer.port={filer}",
                f"-s3.port={s3}",
                "-filer",
                "-s3",
                f"-s3.config={config}",
                "-s3.port.iceberg=0",
                "-s3.port.lance=0",
                "-volume.max=50",
                "-master.telemetry=false",
            ],
            self.folder / "log",
        )
        self.endpoint = f"http://127.0.0.1:{s3}"

        def ready() -> bool:
            # The master has a volume server, the filer answers, and so does the gateway.
            assigned = b'"fid"' in http_get(f"http://127.0.0.1:{master}/dir/assign")
            return (
                assigned
                and bool(http_status(f"http://127.0.0.1:{filer}/") < 500)
                and (http_status(self.endpoint) in (200, 403))
            )

        self.process.wait_until(ready, timeout=60)


class MotoServer(S3Server):
    """moto: takes every key without a line feed and any credentials; checks no signature."""

    name = "moto"

    def start(self) -> None:
        (port,) = free_ports(1)
        self.process = ServerProcess(
            [executable("moto_server", "HEADRACE_MOTO"), "-H", "127.0.0.1", "-p", str(port)],
            self.folder / "log",
        )
        self.endpoint = f"http://127.0.0.1:{port}"
        self.process.wait_until(
            lambda: http_status(f"{self.endpoint}/moto-api/data.json") == 200, timeout=60
        )


# Test servers are never behind the machine's proxy.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def http_get(url: str) -> bytes:
    with _OPENER.open(url, timeout=5) as response:
        body: bytes = response.read()
        return body


def http_status(url: str) -> int:
    """The status of a GET; OSError when nobody answers."""
    try:
        with _OPENER.open(url, timeout=5) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code
