"""Objects as files: readers and writers that are proper :mod:`io` objects."""

from __future__ import annotations

import io
import operator
import os
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from . import _native
from ._errors import InvalidArgument

if TYPE_CHECKING:
    from typing import Self

    from typing_extensions import Buffer


# Reads above this many bytes ask for the size first, where it is not known yet: memory is taken for
# what is there, not for what was asked.
LARGE_READ = 64 << 20
# What `peek` looks at: small, because each line costs a copy of what is left of it.
PIECE = 8 << 10
# Beyond what files and services count in.
MOST_BYTES = (1 << 63) - 1


_T = TypeVar("_T")


def read_line(peek: Callable[[], bytes], read: Callable[[int], bytes], limit: int | None) -> bytes:
    """One line, as `readline` gives it: where there is a `peek`, io's own goes past the limit."""
    left = MOST_BYTES if limit is None or limit < 0 else limit
    parts: list[bytes] = []
    while left > 0 and (piece := peek()):
        part = read(min(left, piece.find(b"\n") + 1 or len(piece)))
        parts.append(part)
        left -= len(part)
        if part.endswith(b"\n"):
            break
    return b"".join(parts)


class _Turn:
    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.taken = False


class ObjectReader(io.BufferedIOBase):
    """Reads one version of one object, at any place; reads ahead of a sequential reader.

    Threads that share it take turns, and share its place. After a fork the child's copy opens the
    same version anew, at the place where it stood. Readers cannot be pickled: send the address.

    Parameters
    ----------
    client : Client
        What it reads through.
    uri : str
        The object.
    size : int, optional
        Bytes, when known: saves a request.
    etag : str
        The version wanted; :class:`ObjectChanged` when it is another.
    sequential : bool
        False reads just what is asked for.
    """

    def __init__(
        self,
        client: _native.Client,
        uri: str,
        *,
        size: int | None = None,
        etag: str = "",
        sequential: bool = True,
    ) -> None:
        self._client = client
        self._uri = uri
        self._size = size
        self._etag = etag
        self._sequential = sequential
        self._position = 0
        self._native: _native.Reader | None = None
        # What `peek` looked at last, and where it begins: of the version that the reader reads.
        self._piece = (0, b"")
        # By process: a fork's child has none of the threads that may hold the parent's.
        self._turns: dict[int, _Turn] = {}

    @property
    def name(self) -> str:
        """The object's address."""
        return self._uri

    def _reader(self) -> _native.Reader:
        if self.closed:
            raise ValueError("I/O operation on closed file")
        native = self._native  # another thread may close meanwhile
        if native is None or not native.alive():
            self._piece = (0, b"")
            native = self._client.open_reader(self._uri, self._size, self._etag, self._sequential)
            self._native = native
        return native

    def _in_turn(self, work: Callable[[], _T]) -> _T:
        """One thread at a time moves the place; a signal handler amid it in the same is refused."""
        process = os.getpid()
        turn = self._turns.get(process) or self._turns.setdefault(process, _Turn())
        with turn.lock:
            if turn.taken:
                raise RuntimeError(f"reentrant call of {self!r}")
            turn.taken = True
            try:
                return work()
            finally:
                turn.taken = False

    @property
    def size(self) -> int:
        """Bytes in the object; asks the service once when not known yet."""
        if self._size is None:
            reader = self._reader()
            self._size = reader.size()
            self._note_version(reader)
        return self._size

    def state(self) -> tuple[int | None, str, int]:
        """The size and the version, as far as known, and the place: also when closed."""
        return self._size, self._etag, self._position

    def _note_version(self, reader: _native.Reader) -> None:
        """Keeps which version is read, for the child of a fork that goes on with it."""
        if not self._etag:
            self._etag = reader.etag()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        """Up to `size` bytes, fewer only at the end; all that is left when negative or None."""
        return self._in_turn(lambda: self._read(size))

    def _read(self, size: int | None) -> bytes:
        reader = self._reader()
        if size is None or size < 0:
            size = self._left()
        elif self._size is not None or size > LARGE_READ:
            size = min(size, self._left())
        if size == 0:
            return b""
        start, piece = self._piece
        skip = self._position - start
        if skip >= 0 and skip + size <= len(piece):
            data = piece[skip : skip + size]
        else:  # all of it from the engine, whose read-ahead follows large reads
            data = self._fetch(reader, size)
        self._position += len(data)
        return data

    def _fetch(self, reader: _native.Reader, size: int) -> bytes:
        data = reader.read(self._position, size)
        self._note_version(reader)
        return data

    def _left(self) -> int:
        return max(0, self.size - self._position)

    def read1(self, size: int = -1, /) -> bytes:
        """Up to `size` bytes; 1 MiB when no size is given."""
        return self.read((1 << 20) if size < 0 else size)

    def peek(self, size: int = 0, /) -> bytes:
        """The next bytes, without moving: at least one unless at the end, whatever `size` says."""
        return self._in_turn(self._peek)

    def _peek(self) -> bytes:
        reader = self._reader()
        start, piece = self._piece
        skip = self._position - start
        if not 0 <= skip < len(piece):
            piece, skip = self._fetch(reader, PIECE), 0
            self._piece = (self._position, piece)
        return piece[skip:]

    def readline(self, size: int | None = -1, /) -> bytes:
        """Up to the next newline, with it; `size` bytes at most, when it is not negative."""
        return self._in_turn(lambda: read_line(self._peek, self._read, size))

    def readinto(self, buffer: Buffer, /) -> int:
        """Fills a writable buffer; returns how many bytes, fewer than it holds only at the end."""
        return self._in_turn(lambda: self._readinto(buffer))

    def _readinto(self, buffer: Buffer) -> int:
        reader = self._reader()
        count = reader.readinto(self._position, buffer)
        self._note_version(reader)
        self._position += count
        return count

    def readinto1(self, buffer: Buffer, /) -> int:
        return self.readinto(buffer)

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Moves to a place, which may be past the end; reading there gives nothing."""
        if self.closed:
            raise ValueError("I/O operation on closed file")
        return self._in_turn(lambda: self._seek(operator.index(offset), whence))

    def _seek(self, offset: int, whence: int) -> int:
        if whence == os.SEEK_CUR:
            offset += self._position
        elif whence == os.SEEK_END:
            offset += self.size
        elif whence != os.SEEK_SET:
            raise ValueError(f"invalid whence ({whence}, should be 0, 1 or 2)")
        if offset < 0:
            raise ValueError(f"negative seek position {offset}")
        if offset > MOST_BYTES:
            raise InvalidArgument(f"seek position {offset}: it can be at most {MOST_BYTES}")
        self._position = offset
        return offset

    def tell(self) -> int:
        if self.closed:
            raise ValueError("I/O operation on closed file")
        return self._position

    def close(self) -> None:
        # Not in its turn: a read under way goes on, those that wait find it closed.
        native, self._native = self._native, None
        self._piece = (0, b"")
        if native is not None:
            native.close()
        super().close()


class ObjectWriter(io.BufferedIOBase):
    """Writes one object: published by `close`, and not at all otherwise.

    Leaving a ``with`` block by an exception, and dropping the writer unclosed, abort. So does a
    failed write: the object that was there before stays. But :class:`io.TextIOWrapper` and
    :class:`io.BufferedWriter` around it close it even then: for text open in mode ``w``.
    """

    def __init__(self, native: _native.Writer, uri: str) -> None:
        self._native = native
        self._uri = uri
        self._position = 0
        self._counting = threading.Lock()  # of the place; never held while waiting
        self._done = False
        self._failed: BaseException | None = None
        #: Of the published object; empty until then.
        self.etag = ""

    @property
    def name(self) -> str:
        """The object's address."""
        return self._uri

    def writable(self) -> bool:
        return not self.closed

    def write(self, data: Buffer, /) -> int:
        """Takes all of `data`; waits when more is under way than the memory budget allows."""
        if self.closed:
            raise ValueError("I/O operation on closed file")
        try:
            count = self._native.write(data)
        except (TypeError, BufferError):  # of the argument: nothing was taken
            raise
        except BaseException as error:
            self._fail(error)
            raise
        with self._counting:
            self._position += count
        return count

    def tell(self) -> int:
        if self.closed:
            raise ValueError("I/O operation on closed file")
        return self._position

    def flush(self) -> None:
        """Nothing becomes visible before `close`."""
        if self.closed:
            raise ValueError("I/O operation on closed file")

    def _fail(self, error: BaseException) -> None:
        """Aborts, and has `close` say why."""
        self._failed = self._failed or error  # of several threads the first knows why
        self.abort()

    def abort(self) -> None:
        """Ends without publishing; does nothing after `close`."""
        if not self._done:
            self._done = True
            self._native.abort()
            super().close()

    def close(self) -> None:
        """Publishes. After an error nothing was, and no upload is left open."""
        if self._done:
            if self._failed is not None:
                error, self._failed = self._failed, None
                raise InvalidArgument(
                    f"{self._uri}: nothing was published, because a write failed before"
                ) from error
            return
        self._done = True
        try:
            self.etag = self._native.close()
        except BaseException:
            self._native.abort()
            raise
        finally:
            super().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def __del__(self) -> None:
        # io's own would close, which publishes: half an object.
        if not getattr(self, "_done", True):
            # Its end aborts, after this: what a signal handler raises meanwhile would be lost here.
            self._done = True
            super().close()


def open_mode(mode: str) -> tuple[str, bool]:
    """What a mode of `open` asks for: to read (r), write (w) or create (x); and whether as text."""
    if mode not in ("rb", "wb", "xb", "r", "w", "x", "rt", "wt", "xt"):
        raise InvalidArgument(
            f"mode {mode!r}: objects are opened with 'rb', 'wb', or 'xb' (create only), and as "
            f"text with 'r', 'w', or 'x'"
        )
    return mode[0], not mode.endswith("b")


def put_options(**given: Any) -> dict[str, Any]:
    """The engine's options of a put, from keyword arguments; what is None is left out."""
    return {
        name: dict(value) if isinstance(value, Mapping) else value
        for name, value in given.items()
        if value is not None
    }
