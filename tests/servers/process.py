"""A child process that is a server: started, waited for, and ended by its id."""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import selectors
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


class ServerError(RuntimeError):
    """A server did not start, or ended while it was needed; the message holds its last output."""


def free_ports(count: int, *, twins: bool = False) -> list[int]:
    """Ports of 127.0.0.1 that nobody listens on now.

    They are below the range that the kernel gives to outgoing connections. With `twins`, the port
    10,000 above each is free too (SeaweedFS puts its gRPC there).
    """
    found: list[int] = []
    choice = random.SystemRandom()
    for _ in range(10_000):
        port = choice.randrange(12_000, 22_000)
        wanted = [port, port + 10_000] if twins else [port]
        if port not in found and all(_is_free(each) for each in wanted):
            found.append(port)
            if len(found) == count:
                return found
    raise ServerError(f"no {count} free ports on 127.0.0.1")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def executable(name: str, variable: str) -> Path:
    """The program `name`: from the environment's `variable`, or from .venv-clients."""
    path = Path(os.environ.get(variable) or ROOT / ".venv-clients" / "bin" / name)
    if not path.exists():
        raise ServerError(f"{path} is missing: run scripts/test once, or set {variable}")
    return path


class ServerProcess:
    """One running child. Its output goes to a file, whose end is quoted when something fails."""

    def __init__(
        self,
        command: Sequence[str | Path],
        log: Path,
        *,
        environment: Mapping[str, str] | None = None,
        pipe_stdout: bool = False,
    ) -> None:
        self.command = [str(part) for part in command]
        self._log = log
        with log.open("wb") as output:
            self._child = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if pipe_stdout else output,
                stderr=output,
                env={**os.environ, **(environment or {})},
                preexec_fn=_die_with_parent if _on_main_thread() else None,
            )

    @property
    def pid(self) -> int:
        return self._child.pid

    def first_line(self, timeout: float) -> str:
        """The first line the child prints. It has to be started with `pipe_stdout`."""
        assert self._child.stdout is not None
        deadline = time.monotonic() + timeout
        line = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self._child.stdout, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise self.error(f"printed nothing within {timeout:g} s")
                byte = os.read(self._child.stdout.fileno(), 1)
                if not byte:
                    raise self.error("ended before it was ready")
                line += byte
        return line.decode()

    def wait_until(self, ready: Callable[[], bool], timeout: float) -> None:
        """Polls `ready`, which may raise OSError for "not yet"."""
        deadline = time.monotonic() + timeout
        while True:
            with contextlib.suppress(OSError):
                if ready():
                    return
            if self._child.poll() is not None:
                raise self.error(f"ended with status {self._child.returncode}")
            if time.monotonic() > deadline:
                raise self.error(f"was not ready within {timeout:g} s")
            time.sleep(0.02)

    def running(self) -> bool:
        return self._child.poll() is None

    def kill(self) -> None:
        """Ends the child as a crash would (SIGKILL)."""
        self._end(signal.SIGKILL)

    def stop(self, grace: float = 5.0) -> None:
        """SIGTERM, and SIGKILL when `grace` seconds did not suffice."""
        self._end(signal.SIGTERM, grace)

    def _end(self, how: signal.Signals, grace: float = 5.0) -> None:
        if self.running():
            self._child.send_signal(how)
            try:
                self._child.wait(grace)
            except subprocess.TimeoutExpired:
                self._child.kill()
        self._child.wait()
        if self._child.stdout is not None:
            self._child.stdout.close()

    def error(self, what: str) -> ServerError:
        tail = self._log.read_text(errors="replace")[-2000:] if self._log.exists() else ""
        return ServerError(f"{' '.join(self.command)} {what}\n{tail}")


def _on_main_thread() -> bool:
    # The kernel sends the parent-death signal when the *thread* that forked ends.
    return threading.current_thread() is threading.main_thread()


_LIBC = ctypes.CDLL(None)


def _die_with_parent() -> None:
    pr_set_pdeathsig = 1
    _LIBC.prctl(pr_set_pdeathsig, signal.SIGTERM)
