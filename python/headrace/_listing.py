"""A listing that processes of one host share, and how it travels between them.

Forked processes inherit it. A process that :mod:`multiprocessing` spawns receives the descriptor of
the memory file. Any other pickle holds a way to find it through ``/proc`` while this process lives,
and else what is needed to make it again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from multiprocessing import context, reduction
from typing import TYPE_CHECKING, Any, Protocol

from . import _native
from ._client import ObjectInfo
from ._errors import InvalidArgument

if TYPE_CHECKING:
    from typing import Self


class BucketAndKey(Protocol):
    """Names an object. Its `size` (bytes) and `etag` are used where it has them."""

    @property
    def bucket(self) -> str: ...
    @property
    def key(self) -> str: ...


def _entry(item: str | BucketAndKey) -> tuple[str, int | None, str]:
    """What a listing keeps of an object: address, size if known, ETag if known."""
    if isinstance(item, str | bytes):
        return item, None, ""
    uri = item.uri if isinstance(item, ObjectInfo) else f"s3://{item.bucket}/{item.key}"
    size = getattr(item, "size", None)
    etag = getattr(item, "etag", None)
    return (
        uri,
        size if isinstance(size, int) and size >= 0 else None,
        etag if isinstance(etag, str) else "",
    )


class SharedListing:
    """Objects by number.

    Parameters
    ----------
    native : _native.Listing
        The listing itself.
    prefix : str, optional
        What was listed, when it was a prefix: another host lists it again.
    """

    def __init__(self, native: _native.Listing, prefix: str | None) -> None:
        self.native = native
        self.prefix = prefix

    @classmethod
    def of_prefix(cls, client: _native.Client, prefix: str) -> Self:
        """Lists a prefix, in parallel where the service allows it.

        Zero-byte objects whose key ends in a slash are folder markers, and left out.
        """
        return cls(_native.Listing.build(client, prefix, True), prefix)

    @classmethod
    def of_objects(cls, objects: Iterable[str | BucketAndKey]) -> Self:
        """Takes the objects as they are named; nothing is asked of the service."""
        return cls(_native.Listing.from_entries(map(_entry, objects)), None)

    def pack(self) -> tuple[Any, ...]:
        """What `unpack` makes the listing from, in the process that unpickles it."""
        if context.get_spawning_popen() is not None:
            return ("descriptor", reduction.DupFd(self.native.fd), self.prefix)
        # A large listing by its bytes only where it cannot be listed again.
        data = self.native.to_bytes() if self.prefix is None else None
        return ("elsewhere", os.getpid(), self.native.fd, self.native.id, self.prefix, data)

    @classmethod
    def unpack(cls, packed: tuple[Any, ...], connect: Callable[[], _native.Client]) -> Self:
        """The other side of `pack`; connects only where it has to list again."""
        if packed[0] == "descriptor":
            _, descriptor, prefix = packed
            fd = descriptor.detach()
            try:
                return cls(_native.Listing.from_descriptor(fd), prefix)
            finally:
                os.close(fd)
        _, process, fd, identity, prefix, data = packed
        shared = _from_process(process, fd, identity)
        if shared is not None:
            return cls(shared, prefix)
        if data is not None:
            return cls(_native.Listing.from_bytes(data), None)
        return cls.of_prefix(connect(), prefix)


def _from_process(process: int, fd: int, identity: str) -> _native.Listing | None:
    """The listing that a living process of this host holds under this descriptor."""
    try:
        # Not waiting: by now the number may be a pipe's.
        own = os.open(f"/proc/{process}/fd/{fd}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        found = _native.Listing.from_descriptor(own)
    except (InvalidArgument, OSError):
        return None
    finally:
        os.close(own)
    return found if found.id == identity else None
