"""What a data set hands to its transform: an object as a file, with its bucket and key."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from .. import _native
from .._io import PIECE, ObjectReader, read_line

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from ._connection import Connection


class S3Reader(io.BufferedIOBase):
    """A readable, seekable file; not for several threads at once.

    It can be pickled, so that a worker may hand it on: the other process reads on at its place.
    """

    def __init__(self, uri: str) -> None:
        self._uri = uri

    @property
    def bucket(self) -> str:
        """The object's bucket; empty for local files."""
        return _native.split_address(self._uri)[1]

    @property
    def key(self) -> str:
        """The object's key, or a local file's path."""
        return _native.split_address(self._uri)[2]

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto1(self, buffer: Buffer, /) -> int:
        return self.readinto(buffer)

    def __setstate__(self, closed: bool) -> None:
        if closed:
            self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._uri!r})"


class MemoryReader(S3Reader):
    """Over an object that was fetched whole; a pickle holds its bytes."""

    def __init__(self, uri: str, data: Buffer, position: int = 0) -> None:
        super().__init__(uri)
        self._view = memoryview(data)
        self._position = position

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._uri, bytes(self._view), self._position), self.closed

    def getbuffer(self) -> memoryview:
        """The whole object, read-only and without a copy."""
        self._check_open()
        return self._view

    def _check_open(self) -> None:
        if self.closed:
            raise ValueError("I/O operation on closed file")

    def read(self, size: int | None = -1, /) -> bytes:
        self._check_open()
        end = len(self._view)
        if size is not None and size >= 0:
            end = min(end, self._position + size)
        data = self._view[self._position : end].tobytes()
        self._position += len(data)
        return data

    def read1(self, size: int = -1, /) -> bytes:
        return self.read(size)

    def peek(self, size: int = 0, /) -> bytes:
        self._check_open()
        return self._view[self._position : self._position + PIECE].tobytes()

    def readline(self, size: int | None = -1, /) -> bytes:
        return read_line(self.peek, self.read, size)

    def readinto(self, buffer: Buffer, /) -> int:
        self._check_open()
        target = memoryview(buffer).cast("B")
        source = self._view[self._position : self._position + len(target)]
        target[: len(source)] = source
        self._position += len(source)
        return len(source)

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        self._check_open()
        if whence == os.SEEK_CUR:
            offset += self._position
        elif whence == os.SEEK_END:
            offset += len(self._view)
        elif whence != os.SEEK_SET:
            raise ValueError(f"invalid whence ({whence}, should be 0, 1 or 2)")
        if offset < 0:
            raise ValueError(f"negative seek position {offset}")
        self._position = offset
        return offset

    def tell(self) -> int:
        self._check_open()
        return self._position


class StreamReader(S3Reader):
    """Over an object that is fetched as it is read; the process that unpickles it opens it anew."""

    def __init__(
        self,
        connection: Connection,
        uri: str,
        *,
        size: int | None,
        etag: str,
        read_ahead: bool,
    ) -> None:
        super().__init__(uri)
        self._connection = connection
        self._read_ahead = read_ahead
        self._reader = ObjectReader(
            connection.client(), uri, size=size, etag=etag, sequential=read_ahead
        )

    def __reduce__(self) -> tuple[Any, ...]:
        size, etag, position = self._reader.state()
        again = (self._connection, self._uri, size, etag, self._read_ahead, position)
        return _open_again, again, self.closed

    def read(self, size: int | None = -1, /) -> bytes:
        return self._reader.read(size)

    def read1(self, size: int = -1, /) -> bytes:
        return self._reader.read1(size)

    def peek(self, size: int = 0, /) -> bytes:
        return self._reader.peek(size)

    def readline(self, size: int | None = -1, /) -> bytes:
        return self._reader.readline(size)

    def readinto(self, buffer: Buffer, /) -> int:
        return self._reader.readinto(buffer)

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        return self._reader.seek(offset, whence)

    def tell(self) -> int:
        return self._reader.tell()

    def close(self) -> None:
        if hasattr(self, "_reader"):
            self._reader.close()
        super().close()


def _open_again(
    connection: Connection, uri: str, size: int | None, etag: str, read_ahead: bool, position: int
) -> StreamReader:
    """What a pickled reader becomes."""
    reader = StreamReader(connection, uri, size=size, etag=etag, read_ahead=read_ahead)
    reader.seek(position)
    return reader


@dataclass(frozen=True)
class ReaderKind:
    """How a data set reads its objects; made by :class:`S3ReaderConstructor`."""

    name: Literal["sequential", "range_based", "dcp_optimized"]
    read_ahead: bool = True


class S3ReaderConstructor:
    """The kinds of readers, by the S3 Connector's names."""

    @staticmethod
    def sequential() -> ReaderKind:
        """The whole object at once, together with those of its batch. The default."""
        return ReaderKind("sequential")

    @staticmethod
    def range_based(buffer_size: int | None = None) -> ReaderKind:
        """Only what is read, for transforms that look at a part of a large object.

        Parameters
        ----------
        buffer_size : int, optional
            0 reads exactly what is asked for. Any other value leaves the read-ahead to adapt itself
            to the reads.
        """
        return ReaderKind("range_based", buffer_size != 0)

    @staticmethod
    def dcp_optimized(max_gap_size: int = 32 << 20) -> ReaderKind:
        """As `range_based`: its read-ahead already bridges gaps."""
        return ReaderKind("dcp_optimized")

    @staticmethod
    def default() -> ReaderKind:
        """`sequential`."""
        return S3ReaderConstructor.sequential()
