"""A forward proxy, as HTTP_PROXY and HTTPS_PROXY name one: absolute targets and CONNECT tunnels."""

from __future__ import annotations

import contextlib
import http.client
import selectors
import socket
from collections.abc import Mapping
from urllib.parse import urlsplit

from .scripted import QuietHandler, Request, Response, ScriptedServer


class _Handler(QuietHandler):
    scripted: ForwardProxy

    def _pass(self) -> None:
        request = self.read_request()
        self.scripted.requests.append(request)
        url = urlsplit(request.target)
        if url.scheme != "http":
            self.write_response(Response(400, body=b"a proxy wants an absolute target"))
            return
        host = self.scripted.address_of(url.hostname or "")
        connection = http.client.HTTPConnection(host, url.port or 80, timeout=60)
        target = url.path + (f"?{url.query}" if url.query else "")
        connection.putrequest(request.method, target, skip_host=True, skip_accept_encoding=True)
        for name, value in request.headers.items():
            if name not in ("transfer-encoding", "content-length", "expect", "proxy-connection"):
                connection.putheader(name, value)
        connection.putheader("content-length", str(len(request.body)))
        connection.endheaders(request.body or None)
        answer = connection.getresponse()
        headers = {
            name: value
            for name, value in answer.getheaders()
            if name.lower() not in ("transfer-encoding", "connection")
        }
        self.write_response(Response(answer.status, headers, answer.read()))
        connection.close()

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _pass

    def do_CONNECT(self) -> None:
        self.scripted.requests.append(self.read_request())
        if self.scripted.refuse_tunnels:
            self.write_response(Response(403))
            return
        host, _, port = self.path.rpartition(":")
        address = (self.scripted.address_of(host), int(port))
        with contextlib.suppress(OSError), socket.create_connection(address) as far:
            self.send_response_only(200, "Connection established")
            self.end_headers()
            self._tunnel(far)
        self.close_connection = True

    def _tunnel(self, far: socket.socket) -> None:
        near = self.connection
        with selectors.DefaultSelector() as selector:
            selector.register(near, selectors.EVENT_READ, far)
            selector.register(far, selectors.EVENT_READ, near)
            while True:
                for key, _ in selector.select():
                    data = key.fileobj.recv(1 << 16)  # type: ignore[union-attr]
                    if not data:
                        return
                    key.data.sendall(data)


class ForwardProxy(ScriptedServer):
    """`requests` holds what was asked of it; a tunnel counts as one CONNECT.

    Parameters
    ----------
    hosts : mapping of str to str
        Addresses of names that only this proxy knows.
    refuse_tunnels : bool
        Answer every CONNECT by 403.
    """

    handler = _Handler

    def __init__(
        self, hosts: Mapping[str, str] | None = None, *, refuse_tunnels: bool = False
    ) -> None:
        super().__init__()
        self.requests: list[Request] = []
        self.refuse_tunnels = refuse_tunnels
        self._hosts = dict(hosts or {})

    def address_of(self, host: str) -> str:
        return self._hosts.get(host, host)
