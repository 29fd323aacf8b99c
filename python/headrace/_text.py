"""Objects as files of text: what :class:`io.TextIOWrapper` would do wrong in writing one."""

from __future__ import annotations

import codecs
import io
from types import TracebackType

from ._io import ObjectWriter


class TextWriter(io.TextIOWrapper):
    """Writes one object as text: published by `close`, and not at all otherwise.

    Leaving a ``with`` block by an exception, dropping the writer unclosed and a failed write abort,
    as with :class:`ObjectWriter`; text that cannot be encoded is a failed write. `detach` writes
    what is pending and gives out the :class:`ObjectWriter`, which then is the one to close.
    """

    def __init__(
        self,
        writer: ObjectWriter,
        encoding: str = "utf-8",
        errors: str | None = None,
        newline: str | None = None,
    ) -> None:
        super().__init__(writer, encoding, errors, newline)
        self._writer = writer
        if codecs.lookup(self.encoding).name in ("utf-16", "utf-32"):
            super().write("\ufeff")  # io's own puts the byte order only before what can seek

    def write(self, text: str, /) -> int:
        if self.closed:
            raise ValueError("I/O operation on closed file")
        try:
            return super().write(text)
        except TypeError:  # of the argument: nothing was taken
            raise
        except BaseException as error:
            self._writer._fail(error)
            raise

    def flush(self) -> None:
        """Nothing becomes visible before `close`."""
        if self.closed:
            raise ValueError("I/O operation on closed file")
        try:
            super().flush()
        except BaseException as error:  # the pending text is lost
            self._writer._fail(error)
            raise

    def abort(self) -> None:
        """Ends without publishing; does nothing after `close`."""
        self._writer.abort()

    def close(self) -> None:
        """Publishes. After an error nothing was, and no upload is left open."""
        if not self.closed:
            self.flush()
        self._writer.close()  # io's own would close it after a failed flush, too

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
        """Nothing, where io's own would close: the end of the :class:`ObjectWriter` aborts."""
