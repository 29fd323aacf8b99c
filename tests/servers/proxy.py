"""A small reverse proxy in front of an S3 server that changes only what its script says.

The Host header and the path go on as they came, so signatures stay valid. The script is a function
from a request to an action; None passes the request on unchanged::

    def script(request):
        if request.method == "GET":
            return Close(after=3 << 20)

    with Proxy(server.endpoint, once(script)) as proxy: ...
"""

from __future__ import annotations

import http.client
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from .scripted import QuietHandler, Request, Response, ScriptedServer

__all__ = ["Answer", "Close", "Edit", "Proxy", "Request", "Response", "once"]


@dataclass(frozen=True)
class Answer:
    """Answers by itself; the server never sees the request."""

    response: Response


@dataclass(frozen=True)
class Close:
    """Passes the request on and closes the connection after this many bytes of the answer's body.

    With `reset` the client reads ECONNRESET, else the end of the stream.
    """

    after: int
    reset: bool = False


@dataclass(frozen=True)
class Edit:
    """Passes the request on, under `target` if given, and lets `response` change the answer."""

    target: str | None = None
    response: Callable[[Response], Response] | None = None


Action = Answer | Close | Edit
Script = Callable[[Request], Action | None]


def once(script: Script) -> Script:
    """Acts on the first request that `script` has an action for, and on none after it."""
    lock = threading.Lock()
    done = False

    def scripted(request: Request) -> Action | None:
        nonlocal done
        with lock:
            if done:
                return None
            action = script(request)
            done = action is not None
            return action

    return scripted


class _Handler(QuietHandler):
    scripted: Proxy
    _upstream: http.client.HTTPConnection | None = None

    def _pass(self) -> None:
        request = self.read_request()
        action = self.scripted.decide(request)
        if isinstance(action, Answer):
            self.write_response(action.response)
            return
        target = action.target if isinstance(action, Edit) and action.target else request.target
        answer = self._send(request, target)
        if isinstance(action, Edit) and action.response is not None:
            headers = {
                name: value
                for name, value in answer.getheaders()
                if name.lower() not in ("content-length", "transfer-encoding", "connection")
            }
            whole = Response(answer.status, headers, answer.read())
            if request.method == "HEAD" and (length := answer.getheader("Content-Length")):
                whole.headers["Content-Length"] = length
            self.write_response(action.response(whole))
        else:
            self._stream(answer, action if isinstance(action, Close) else None)

    def _send(self, request: Request, target: str) -> http.client.HTTPResponse:
        """Sends one request; on a kept connection that the server closed, again on a new one."""
        for last in (False, True):
            if self._upstream is None:
                upstream = urlsplit(self.scripted.upstream)
                self._upstream = http.client.HTTPConnection(upstream.netloc, timeout=60)
            try:
                self._upstream.putrequest(
                    request.method, target, skip_host=True, skip_accept_encoding=True
                )
                for name, value in request.headers.items():
                    if name not in ("transfer-encoding", "content-length", "expect", "connection"):
                        self._upstream.putheader(name, value)
                if request.body or request.method in ("PUT", "POST"):
                    self._upstream.putheader("content-length", str(len(request.body)))
                self._upstream.endheaders(request.body or None)
                return self._upstream.getresponse()
            except (ConnectionError, http.client.RemoteDisconnected):
                self._upstream.close()
                self._upstream = None
                if last:
                    raise
        raise AssertionError("unreachable")

    def _stream(self, answer: http.client.HTTPResponse, close: Close | None) -> None:
        self.send_response_only(answer.status)
        chunked = False
        for name, value in answer.getheaders():
            chunked = chunked or (name.lower() == "transfer-encoding")
            if name.lower() != "connection":
                self.send_header(name, value)
        self.end_headers()
        left = close.after if close else None
        while left is None or left > 0:
            data = answer.read1(min(1 << 16, left) if left is not None else 1 << 16)
            if not data:
                break
            if chunked:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            else:
                self.wfile.write(data)
            if left is not None:
                left -= len(data)
        if left == 0:
            self._hang_up(reset=bool(close and close.reset))
            return
        if chunked:
            self.wfile.write(b"0\r\n\r\n")
        answer.close()  # read1 leaves it open at its end, and the connection unfit for the next

    def _hang_up(self, reset: bool) -> None:
        if self._upstream is not None:
            self._upstream.close()
            self._upstream = None
        if reset:
            # Lingering for zero seconds makes the kernel send RST instead of FIN.
            option = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, option)
        self.close_connection = True

    def finish(self) -> None:
        if self._upstream is not None:
            self._upstream.close()
        super().finish()

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _pass


class Proxy(ScriptedServer):
    """Passes requests to `upstream` (an endpoint such as `http://127.0.0.1:9000`).

    `requests` holds every request in the order it came, bodies included.
    """

    handler = _Handler

    def __init__(self, upstream: str, script: Script | None = None) -> None:
        super().__init__()
        self.upstream = upstream
        self.script = script
        self.requests: list[Request] = []

    def decide(self, request: Request) -> Action | None:
        with self._lock:
            self.requests.append(request)
        return self.script(request) if self.script else None
