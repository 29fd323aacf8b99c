"""The map-style data set: objects by number."""

from __future__ import annotations

import operator
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch.utils.data

from .. import _native
from .._client import Client
from .._config import MIB, ClientConfig
from .._errors import InvalidArgument
from .._listing import BucketAndKey, SharedListing
from ._ahead import Announced, AnnouncedBatch, Fetches
from ._connection import Connection
from ._reader import MemoryReader, ReaderKind, S3Reader, S3ReaderConstructor, StreamReader

# Objects above this are not fetched whole but read as a stream, so that a batch of them fits.
LARGEST_WHOLE = 32 * MIB


def identity(reader: S3Reader) -> S3Reader:
    """Returns its argument: the transform of a data set that was given none."""
    return reader


class S3MapDataset(torch.utils.data.Dataset[Any]):
    """Objects by number, each through a transform; fetches batches at once.

    `headrace.torch.DataLoader` also announces batches ahead. The listing is made once, here; the
    workers share it.

    Parameters
    ----------
    region : str, optional
        Of the bucket. Default: as the AWS tools find it.
    get_dataset_objects : callable
        From a :class:`headrace.Client` to the objects, each with `bucket` and `key`, and used where
        they have them `size` (bytes) and `etag`: a :class:`headrace.ObjectInfo` does. Most callers
        want :meth:`from_prefix` or :meth:`from_objects`.
    endpoint : str, optional
        Of an S3-compatible server.
    transform : callable
        From an :class:`S3Reader` to a sample. Default: the reader itself.
    s3client_config : S3ClientConfig, optional
        Everything else about the client.
    reader_constructor : ReaderKind, optional
        One of :class:`S3ReaderConstructor`'s. Default: whole objects; streams above 32 MiB, where
        the size is known.
    """

    def __init__(
        self,
        region: str | None,
        get_dataset_objects: Callable[[Client], Iterable[BucketAndKey]],
        endpoint: str | None = None,
        transform: Callable[[S3Reader], Any] = identity,
        s3client_config: ClientConfig | None = None,
        reader_constructor: ReaderKind | None = None,
    ) -> None:
        self._setup(region, endpoint, transform, s3client_config, reader_constructor)
        client = Client(region=region, endpoint_url=endpoint, config=s3client_config)
        self._listing = SharedListing.of_objects(get_dataset_objects(client))

    def _setup(
        self,
        region: str | None,
        endpoint: str | None,
        transform: Callable[[S3Reader], Any],
        config: ClientConfig | None,
        kind: ReaderKind | None,
    ) -> None:
        if kind is not None and not isinstance(kind, ReaderKind):
            raise InvalidArgument(
                f"reader_constructor {kind!r}: it has to be one of S3ReaderConstructor's"
            )
        self._connection = Connection(region, endpoint, config or ClientConfig())
        self._transform = transform
        self._kind = kind or S3ReaderConstructor.default()
        self._process = 0
        self._announced: Announced

    @classmethod
    def from_prefix(
        cls,
        s3_uri: str,
        *,
        region: str | None = None,
        endpoint: str | None = None,
        transform: Callable[[S3Reader], Any] = identity,
        s3client_config: ClientConfig | None = None,
        reader_constructor: ReaderKind | None = None,
    ) -> S3MapDataset:
        """All objects whose address begins with `s3_uri`, by key; folder markers are left out."""
        dataset = cls.__new__(cls)
        dataset._setup(region, endpoint, transform, s3client_config, reader_constructor)
        dataset._listing = SharedListing.of_prefix(dataset._connect(), s3_uri)
        if len(dataset) == 0:
            local = (
                "" if "://" in s3_uri else f", which is a local path; s3://{s3_uri} is in a bucket"
            )
            warnings.warn(f"{s3_uri}: no object's address begins so{local}", stacklevel=2)
        return dataset

    @classmethod
    def from_objects(
        cls,
        object_uris: str | Iterable[str | BucketAndKey],
        *,
        region: str | None = None,
        endpoint: str | None = None,
        transform: Callable[[S3Reader], Any] = identity,
        s3client_config: ClientConfig | None = None,
        reader_constructor: ReaderKind | None = None,
    ) -> S3MapDataset:
        """These objects, in this order; whether they are there shows when they are read.

        Addresses, or objects as :meth:`headrace.Client.list` gives them: their sizes are not asked
        for again, and another version than theirs is :class:`ObjectChanged`.
        """
        dataset = cls.__new__(cls)
        dataset._setup(region, endpoint, transform, s3client_config, reader_constructor)
        uris = [object_uris] if isinstance(object_uris, str) else object_uris
        dataset._listing = SharedListing.of_objects(uris)
        return dataset

    @property
    def listing_bytes(self) -> int:
        """Bytes that the keys and sizes take in memory, once for all workers of a host."""
        return self._listing.native.nbytes

    @property
    def region(self) -> str | None:
        return self._connection.region

    @property
    def endpoint(self) -> str | None:
        return self._connection.endpoint

    def __len__(self) -> int:
        return len(self._listing.native)

    def __getitem__(self, index: int) -> Any:
        index = self._place(index)
        if self._streams(index):
            return self._transform(self._stream(index))
        client = self._connect()
        claim = self._announced.claim(index)
        data = self._announced.take(claim) if claim is not None else None
        if data is None:
            data = self._listing.native.get(client, index)
        return self._transform(MemoryReader(data.uri, data))

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        """The samples of a batch, fetched at once and transformed in order."""
        client = self._connect()
        places = [self._place(index) for index in indices]
        claims = {}
        missing = []
        for position, index in enumerate(places):
            if self._streams(index):
                continue
            claim = self._announced.claim(index)
            if claim is None:
                missing.append(index)
            else:
                claims[position] = claim
        batch = Fetches(self._listing.native.get_many(client, missing, False)) if missing else None
        samples = []
        fetched = 0
        for position, index in enumerate(places):
            if self._streams(index):
                samples.append(self._transform(self._stream(index)))
                continue
            data = None
            if position in claims:
                data = self._announced.take(claims.pop(position))
            elif batch is not None:
                data = batch.result(fetched)
                fetched += 1
            if data is None:
                data = self._listing.native.get(client, index)
            samples.append(self._transform(MemoryReader(data.uri, data)))
        return samples

    def prefetch(self, indices: Iterable[int]) -> AnnouncedBatch:
        """Starts fetching what will be needed soon, and returns at once.

        It is bounded by the look-ahead's share of the memory budget. What is returned can `drop`
        this announcement, or `keep` it: others that nobody claims are dropped by later ones.
        """
        client = self._connect()
        wanted = [index for index in map(self._place, indices) if not self._streams(index)]
        return self._announced.add(self._listing.native.get_many(client, wanted, True), wanted)

    def _place(self, index: int) -> int:
        count = len(self._listing.native)
        place = operator.index(index)
        if not -count <= place < count:
            raise IndexError(f"index {place} of a data set of {count} objects")
        return place % count

    def _streams(self, index: int) -> bool:
        """Whether this object is read as a stream."""
        if self._kind.name != "sequential":
            return True
        listing = self._listing.native
        if listing.largest <= LARGEST_WHOLE:
            return False
        return (listing.size_of(index) or 0) > LARGEST_WHOLE

    def _stream(self, index: int) -> S3Reader:
        uri, size, etag = self._listing.native[index]
        return StreamReader(
            self._connection, uri, size=size, etag=etag, read_ahead=self._kind.read_ahead
        )

    def _connect(self) -> _native.Client:
        """This process's client; what other processes announced is not here."""
        if self._process != os.getpid():
            self._announced = Announced()
            self._process = os.getpid()
        return self._connection.client()

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        for name in ("_announced", "_listing"):
            state.pop(name, None)
        state["_process"] = 0
        state["_packed"] = self._listing.pack()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        packed = state.pop("_packed")
        self.__dict__.update(state)
        self._listing = SharedListing.unpack(packed, self._connect)
