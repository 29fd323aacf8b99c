"""The client: objects by address."""

from __future__ import annotations

import builtins
import datetime
import io
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, overload

from . import _native
from ._config import ClientConfig
from ._errors import Error, InvalidArgument
from ._io import MOST_BYTES, ObjectReader, ObjectWriter, open_mode, put_options
from ._native import Data
from ._text import TextWriter

if TYPE_CHECKING:
    from typing_extensions import Buffer


# What the engine counts fetches in.
MOST_IN_FLIGHT = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """What is known of an object beside its bytes.

    `size` is in bytes, `etag` has no quotes; `content_type` and `metadata` are known to
    :meth:`Client.head` only. `is_prefix` marks the common prefixes of a delimited listing.
    """

    bucket: str
    key: str
    size: int
    etag: str
    last_modified: datetime.datetime
    storage_class: str
    content_type: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    is_prefix: bool = False
    scheme: str = "s3"

    @property
    def uri(self) -> str:
        """The object's address, as every call of :class:`Client` takes it."""
        return f"{self.scheme}://{self.bucket}{'/' if self.bucket else ''}{self.key}"


def _time(seconds: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)


class Client:
    """Reads and writes objects at ``s3://bucket/key``, ``file:///path`` or a plain path.

    Keys are literal: nothing in an address is decoded. Keys that are not UTF-8 appear with
    surrogate escapes, as file names do. All calls may be made from many threads; waiting ones
    release the GIL and end at Ctrl-C. A client can be used after fork and can be pickled: the other
    process opens connections of its own.

    Parameters
    ----------
    region : str, optional
        Default: ``AWS_REGION``, the profile, the instance; corrected by the service's answer.
    endpoint_url : str, optional
        Of an S3-compatible server. Default: ``AWS_ENDPOINT_URL_S3``, ``AWS_ENDPOINT_URL``, AWS.
    profile : str, optional
        Of the AWS configuration files.
    config : ClientConfig, optional
        Everything else.

    Raises
    ------
    InvalidArgument
        When settings contradict each other.

    Notes
    -----
    No request goes to the store here. Without a region and an endpoint in the arguments, the
    environment and the profile, the instance's metadata service is asked for the region: off EC2
    that may take a second (``AWS_METADATA_SERVICE_TIMEOUT``; ``AWS_EC2_METADATA_DISABLED=true``
    switches it off), at most five. Other threads run meanwhile, and Ctrl-C ends it.
    """

    def __init__(
        self,
        *,
        region: str | None = None,
        endpoint_url: str | None = None,
        profile: str | None = None,
        config: ClientConfig | None = None,
    ) -> None:
        self._arguments: dict[str, Any] = {
            "region": region,
            "endpoint_url": endpoint_url,
            "profile": profile,
            "config": config,
        }
        options = (config or ClientConfig()).native()
        given = {"region": region, "endpoint_url": endpoint_url, "profile": profile}
        options.update({name: value for name, value in given.items() if value is not None})
        self._native = _native.Client(options)

    def __reduce__(self) -> tuple[Any, tuple[dict[str, Any]]]:
        return _rebuild, (self._arguments,)

    def list(
        self, uri: str, *, delimiter: Literal["", "/"] = "", start_after: str = ""
    ) -> Iterator[ObjectInfo]:
        """All objects whose address begins with `uri`, each once.

        In the bytewise order of their keys where the service lists in that order, as S3 does.

        Parameters
        ----------
        uri : str
            A prefix of keys, not a folder: ``s3://b/a`` finds ``ab`` too.
        delimiter : str
            With ``"/"``, only what stands before the next slash; the rest as common prefixes.
        start_after : str
            Only keys after this one.
        """
        if delimiter not in ("", "/"):
            raise InvalidArgument(f"delimiter {delimiter!r}: only '/' can be one")
        scheme, bucket, _ = _native.split_address(uri)
        lister = self._native.list(uri, delimiter == "/", start_after)
        return self._entries(lister, scheme, bucket)

    @staticmethod
    def _entries(lister: _native.Lister, scheme: str, bucket: str) -> Iterator[ObjectInfo]:
        while page := lister.next_page():
            for key, is_prefix, size, etag, modified, storage_class in page:
                yield ObjectInfo(
                    bucket,
                    key,
                    size,
                    etag,
                    _time(modified),
                    storage_class or "STANDARD",
                    is_prefix=is_prefix,
                    scheme=scheme,
                )

    def head(self, uri: str) -> ObjectInfo:
        """Asks for an object's description."""
        scheme, _, _ = _native.split_address(uri)
        bucket, key, size, etag, modified, storage_class, content_type, metadata = (
            self._native.head(uri)
        )
        return ObjectInfo(
            bucket,
            key,
            size,
            etag,
            _time(modified),
            storage_class or "STANDARD",
            content_type,
            metadata,
            scheme=scheme,
        )

    def get(
        self,
        uri: str,
        *,
        range: tuple[int, int | None] | None = None,
        if_match: str | None = None,
        verify: bool = False,
    ) -> Data:
        """Fetches an object, or bytes [start, stop) of it.

        Parameters
        ----------
        range : (int, int or None), optional
            Start and stop in bytes; stop None is the end. Past the end there is less, or nothing.
        if_match : str, optional
            Only this version; :class:`ObjectChanged` otherwise.
        verify : bool
            Check the whole object against its stored checksum, with one more HEAD above
            `part_size`; :class:`Error` where none is stored, :class:`ChecksumMismatch` when the
            bytes differ again after being fetched anew. Objects up to `part_size` are checked in
            any case, where there is a checksum; larger ones are not without this.

        Returns
        -------
        Data
            A read-only buffer: ``memoryview(data)``, ``numpy.frombuffer(data, "u1")`` and
            ``bytes(data)`` (a copy) all work; ``data[2:8]`` is a memoryview. It also has `uri`,
            `etag` and `size`, the object's.
        """
        offset = length = None
        if range is not None:
            offset, stop = range
            if not 0 <= offset <= (MOST_BYTES if stop is None else stop) <= MOST_BYTES:
                raise InvalidArgument(
                    f"range {range}: it needs 0 <= start <= stop <= {MOST_BYTES}, in bytes"
                )
            length = None if stop is None else stop - offset
        return self._native.get(uri, offset, length, if_match or "", verify)

    @overload
    def get_many(
        self,
        uris: Iterable[str | ObjectInfo],
        *,
        ordered: bool = True,
        max_in_flight: int | None = None,
        on_error: Literal["raise"] = "raise",
    ) -> Iterator[Data]: ...

    @overload
    def get_many(
        self,
        uris: Iterable[str | ObjectInfo],
        *,
        ordered: bool = True,
        max_in_flight: int | None = None,
        on_error: Literal["return"],
    ) -> Iterator[Data | Error]: ...

    def get_many(
        self,
        uris: Iterable[str | ObjectInfo],
        *,
        ordered: bool = True,
        max_in_flight: int | None = None,
        on_error: Literal["raise", "return"] = "raise",
    ) -> Iterator[Data | Error]:
        """Fetches many objects at once, as many as the memory budget allows.

        The fetches start now, not at the first ``next``, and run on while results are consumed;
        dropping the iterator cancels what is left.

        Parameters
        ----------
        uris : iterable of str or ObjectInfo
            What to fetch; of an object that was listed, the size is not asked for again.
        ordered : bool
            Results in the order of `uris`, else as they arrive.
        max_in_flight : int, optional
            Fetches at once. Default: as many as the client allows.
        on_error : {"raise", "return"}
            Whether a failed fetch ends the iteration or stands in its place.
        """
        if on_error not in ("raise", "return"):
            raise InvalidArgument(f"on_error {on_error!r}: it is 'raise' or 'return'")
        if isinstance(uris, str):
            raise InvalidArgument(f"uris is one address, {uris!r}: give a list, or use get")
        if max_in_flight is not None and not 0 <= max_in_flight <= MOST_IN_FLIGHT:
            raise InvalidArgument(
                f"max_in_flight {max_in_flight}: it lies in 0 ... {MOST_IN_FLIGHT}, and 0 is as "
                f"many as the client allows"
            )
        items = ((uri.uri, uri.size) if isinstance(uri, ObjectInfo) else uri for uri in uris)
        batch = self._native.get_many(items, ordered, max_in_flight or 0)
        return self._results(batch, on_error == "raise")

    @staticmethod
    def _results(batch: _native.Batch, raising: bool) -> Iterator[Data | Error]:
        process = os.getpid()
        while results := batch.next():
            for _, result in results:
                if os.getpid() != process:
                    batch.next()  # raises: the batch is the parent's
                if raising and isinstance(result, BaseException):
                    raise result
                yield result

    def put(
        self,
        uri: str,
        data: Buffer,
        *,
        content_type: str | None = None,
        storage_class: str | None = None,
        metadata: Mapping[str, str] | None = None,
        tags: Mapping[str, str] | None = None,
        server_side_encryption: str | None = None,
        kms_key_id: str | None = None,
        checksum_algorithm: str | None = None,
        if_none_match: bool = False,
    ) -> str:
        """Stores a buffer's bytes, in parallel parts when there are many.

        Parameters
        ----------
        content_type : str, optional
            Default: ``application/octet-stream``, or the service's own.
        storage_class : str, optional
            Such as ``STANDARD_IA``. Default: the service's.
        metadata : mapping of str to str, optional
            The user's, ``x-amz-meta-*``; :meth:`head` gives it back.
        tags : mapping of str to str, optional
            For the bucket's rules.
        server_side_encryption : str, optional
            ``AES256`` or ``aws:kms``. Default: the bucket's.
        kms_key_id : str, optional
            The key for ``aws:kms``. Default: the account's.
        checksum_algorithm : str, optional
            ``crc32c``, ``crc64nvme`` or ``crc32``: sent with the data, checked by the service and
            stored with the object. ``none`` is for services that know none of them. Default:
            ``crc32c``.
        if_none_match : bool
            Create only: :class:`AlreadyExists` when the object is there.

        Returns
        -------
        str
            The new object's ETag.
        """
        options = put_options(
            content_type=content_type,
            storage_class=storage_class,
            metadata=metadata,
            tags=tags,
            server_side_encryption=server_side_encryption,
            kms_key_id=kms_key_id,
            checksum_algorithm=checksum_algorithm,
            if_none_match=if_none_match,
        )
        return self._native.put(uri, data, options)

    def delete(self, uris: str | Iterable[str]) -> None:
        """Deletes one object or many. Deleting what is not there succeeds, as S3 has it.

        Raises
        ------
        Error
            The first failure, after all were tried; further ones are its notes.
        """
        addresses = [uris] if isinstance(uris, str) else list(uris)
        failures = [error for error in self._native.delete(addresses) if error is not None]
        if failures:
            for other in failures[1:]:
                failures[0].add_note(f"also: {other}")
            raise failures[0]

    def copy(self, source: str, target: str) -> str:
        """Copies an object, within the service where both ends are one; returns the new ETag.

        Content type, metadata and tags go along; tags not between two kinds of storage. Above 5 GiB
        the service copies in parts: then reading the tags takes the right to
        (``s3:GetObjectTagging``), and headers like Cache-Control stay behind.
        """
        return self._native.copy(source, target)

    @overload
    def open(self, uri: str, mode: Literal["rb"] = "rb") -> ObjectReader: ...

    @overload
    def open(
        self,
        uri: str,
        mode: Literal["r", "rt"],
        *,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> io.TextIOWrapper: ...

    @overload
    def open(
        self,
        uri: str,
        mode: Literal["wb", "xb"],
        *,
        content_type: str | None = None,
        storage_class: str | None = None,
        metadata: Mapping[str, str] | None = None,
        tags: Mapping[str, str] | None = None,
        server_side_encryption: str | None = None,
        kms_key_id: str | None = None,
        checksum_algorithm: str | None = None,
        expected_size: int | None = None,
    ) -> ObjectWriter: ...

    @overload
    def open(
        self,
        uri: str,
        mode: Literal["w", "wt", "x", "xt"],
        *,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        content_type: str | None = None,
        storage_class: str | None = None,
        metadata: Mapping[str, str] | None = None,
        tags: Mapping[str, str] | None = None,
        server_side_encryption: str | None = None,
        kms_key_id: str | None = None,
        checksum_algorithm: str | None = None,
        expected_size: int | None = None,
    ) -> TextWriter: ...

    def open(
        self,
        uri: str,
        mode: str = "rb",
        *,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        content_type: str | None = None,
        storage_class: str | None = None,
        metadata: Mapping[str, str] | None = None,
        tags: Mapping[str, str] | None = None,
        server_side_encryption: str | None = None,
        kms_key_id: str | None = None,
        checksum_algorithm: str | None = None,
        expected_size: int | None = None,
    ) -> ObjectReader | ObjectWriter | io.TextIOWrapper:
        """Opens an object as a file. What is not explained here describes a new object as in `put`.

        Parameters
        ----------
        mode : {"rb", "wb", "xb", "r", "w", "x"}
            ``x`` creates only: closing raises :class:`AlreadyExists` when the object is there.
            Without ``b`` the file is one of text.
        encoding, errors, newline : str, optional
            For text only, as the built-in `open` takes them; but the encoding is UTF-8 when it is
            not given.
        expected_size : int, optional
            Bytes that will be written, for streams so long that parts of one size do not reach.

        Raises
        ------
        NotFound
            When the object to read is not there: at once, not at the first read.
        """
        kind, text = open_mode(mode)
        if not text and (encoding, errors, newline) != (None, None, None):
            raise InvalidArgument(f"mode {mode!r}: encoding, errors and newline are only for text")
        if encoding is None:
            encoding = "utf-8"
        options = put_options(
            content_type=content_type,
            storage_class=storage_class,
            metadata=metadata,
            tags=tags,
            server_side_encryption=server_side_encryption,
            kms_key_id=kms_key_id,
            checksum_algorithm=checksum_algorithm,
            expected_size=expected_size,
        )
        if kind == "r":
            if options:
                raise InvalidArgument(f"{', '.join(options)}: only for writing")
            reader = ObjectReader(self._native, uri)
            _ = reader.size
            return io.TextIOWrapper(reader, encoding, errors, newline) if text else reader
        options["if_none_match"] = kind == "x"
        writer = ObjectWriter(self._native.open_writer(uri, options), uri)
        return TextWriter(writer, encoding, errors, newline) if text else writer

    def create_bucket(self, bucket: str) -> None:
        """Creates a bucket, given by its name or as ``s3://bucket``."""
        self._native.create_bucket(_bucket_address(bucket))

    def delete_bucket(self, bucket: str) -> None:
        """Deletes an empty bucket."""
        self._native.delete_bucket(_bucket_address(bucket))

    def list_buckets(self) -> builtins.list[str]:
        """The buckets that these credentials can see."""
        return self._native.list_buckets()

    def metrics(self) -> dict[str, float]:
        """Requests, bytes, retries, hedges, latencies, connections, budget; and resolved limits."""
        return self._native.metrics()

    def prometheus_text(self) -> str:
        """The metrics in Prometheus's text format."""
        return self._native.prometheus_text()


def _bucket_address(bucket: str) -> str:
    return bucket if "://" in bucket else f"s3://{bucket}"


def _rebuild(arguments: dict[str, Any]) -> Client:
    return Client(**arguments)
