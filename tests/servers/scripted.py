"""An HTTP server in this process whose answers are Python code."""

from __future__ import annotations

import socket
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Request:
    """One request as it came over the wire; header names are lower case."""

    method: str
    target: str  # path and query, as sent
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def host(self) -> str:
        return self.headers.get("host", "")


@dataclass
class Response:
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


class QuietHandler(BaseHTTPRequestHandler):
    """HTTP/1.1, no log, no Nagle; reads a body of either framing."""

    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def log_message(self, format: str, *args: object) -> None:
        pass

    def read_request(self) -> Request:
        headers = {name.lower(): value for name, value in self.headers.items()}
        return Request(self.command, self.path, headers, self._read_body(headers))

    def _read_body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(headers.get("content-length", "0")))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return body

    def write_response(self, response: Response) -> None:
        self.send_response_only(response.status)
        for name, value in response.headers.items():
            self.send_header(name, value)
        bodiless = response.status in (204, 304)
        if not bodiless and "content-length" not in {name.lower() for name in response.headers}:
            self.send_header("Content-Length", str(len(response.body)))
        self.end_headers()
        if self.command != "HEAD" and not bodiless:
            self.wfile.write(response.body)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # A burst of hundreds of connections must not meet the default queue of five.
    request_queue_size = 1024

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # a client that hangs up is what many tests are about


class ScriptedServer:
    """Runs `handler` on a free port while it is entered."""

    handler: type[QuietHandler]

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        assert self._server is not None, "the server is not running"
        return int(self._server.server_address[1])

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        owner = self

        class Handler(self.handler):  # type: ignore[name-defined, misc]
            scripted = owner

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._server is not None and self._thread is not None
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._server = self._thread = None


class AnsweringHandler(QuietHandler):
    """Lets its server's `answer(request)` answer every method."""

    scripted: AnsweringServer

    def _answer(self) -> None:
        request = self.read_request()
        self.write_response(self.scripted.record(request))

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _answer


class AnsweringServer(ScriptedServer):
    """A server whose subclass implements `answer`; keeps every request."""

    handler = AnsweringHandler

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[Request] = []

    def record(self, request: Request) -> Response:
        with self._lock:
            self.requests.append(request)
            return self.answer(request)

    def answer(self, request: Request) -> Response:
        raise NotImplementedError
