"""torch's DataLoader, with look-ahead: the data set hears of batches before they are needed."""

from __future__ import annotations

import bisect
import itertools
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch.utils.data
from torch.utils.data import dataloader as torch_loader

from .._errors import Error


class Indices(list[int]):
    """A batch of indices that carries those of later batches of the same worker.

    It crosses to the workers in the queue that torch fills anyway.
    """

    def __init__(self, indices: Sequence[int], ahead: Sequence[Sequence[int]], epoch: int) -> None:
        super().__init__(indices)
        self.ahead = ahead
        self.epoch = epoch

    def __reduce__(self) -> tuple[Any, ...]:
        return Indices, (list(self), self.ahead, self.epoch)


# Numbers the passes over samplers, so that a worker notices when a new one has begun.
_epochs = itertools.count()


class LookAheadSampler:
    """Yields a sampler's batches, having drawn `stride * depth` further ones.

    torch deals batches to its workers in turn, so a worker's next batch is `stride` further on.
    """

    def __init__(self, sampler: Any, stride: int, depth: int) -> None:
        self._sampler = sampler
        self._stride = stride
        self._depth = depth

    def __len__(self) -> int:
        return len(self._sampler)

    def __iter__(self) -> Iterator[Any]:
        epoch = next(_epochs)
        batches = iter(self._sampler)
        window: deque[Any] = deque()
        for number in itertools.count():
            wanted = self._stride * self._depth + 1 - len(window)
            window.extend(itertools.islice(batches, wanted))
            if not window:
                return
            current = window.popleft()
            if not is_indices(current):
                yield current
                continue
            # At first each worker hears of all its next batches, this one in front; later only of
            # the furthest, because it knows the others.
            first = number < self._stride
            steps = range(1, self._depth + 1) if first else (self._depth,)
            ahead = [current] if first else []
            for step in steps:
                place = step * self._stride - 1
                if place < len(window) and is_indices(window[place]):
                    ahead.append(window[place])
            yield Indices(current, ahead, epoch)


def is_indices(batch: Any) -> bool:
    """Whether a batch sampler's batch is a plain sequence of indices."""
    return isinstance(batch, (list, tuple))


class AnnouncingDataset:
    """Stands before a data set where batches are fetched: announces, then fetches as torch does.

    Parameters
    ----------
    dataset
        The data set.
    depth : int
        How many batches beyond the current one are announced.
    """

    def __init__(self, dataset: Any, depth: int) -> None:
        self.dataset = dataset
        self._depth = depth
        self._epoch: int | None = None
        self._announced: deque[Any] = deque()

    def __getitems__(self, indices: Sequence[int]) -> Any:
        if isinstance(indices, Indices):
            self._announce(indices)
            indices = list(indices)
        # As torch's fetcher decides.
        getitems = getattr(self.dataset, "__getitems__", None)
        if getitems:
            return getitems(indices)
        return [self.dataset[index] for index in indices]

    def _announce(self, indices: Indices) -> None:
        if indices.epoch != self._epoch:
            # What an epoch that was broken off announced is not coming.
            while self._announced:
                tell(self._announced.popleft(), "drop")
            self._epoch = indices.epoch
        for batch in indices.ahead:
            try:
                handles = announce(self.dataset, batch)
            except (LookupError, Error):
                handles = []  # a hint: the fetch of that batch says it, in its place
            tell(handles, "keep")
            self._announced.append(handles)
        while len(self._announced) > self._depth + 1:  # the current one among them
            tell(self._announced.popleft(), "drop")

    def __del__(self) -> None:
        # A loop that was left early: nobody will ask for what is under way.
        for handles in self.__dict__.get("_announced", ()):
            tell(handles, "drop")

    def __len__(self) -> int:
        return len(self.dataset)

    def __getattr__(self, name: str) -> Any:
        if name == "dataset":  # while being unpickled
            raise AttributeError(name)
        return getattr(self.dataset, name)


def can_announce(dataset: Any) -> bool:
    """Whether `announce` reaches a data set that fetches ahead."""
    if callable(getattr(dataset, "prefetch", None)):
        return True
    if isinstance(dataset, torch.utils.data.Subset):
        return can_announce(dataset.dataset)
    if isinstance(dataset, torch.utils.data.ConcatDataset):
        return any(can_announce(part) for part in dataset.datasets)
    return False


def announce(dataset: Any, indices: Sequence[int]) -> list[Any]:
    """Tells the data set below Subset and ConcatDataset; returns what its `prefetch` returned."""
    if callable(getattr(dataset, "prefetch", None)):
        return [dataset.prefetch(indices)]
    if isinstance(dataset, torch.utils.data.Subset):
        return announce(dataset.dataset, [dataset.indices[index] for index in indices])
    if isinstance(dataset, torch.utils.data.ConcatDataset):
        parts: dict[int, list[int]] = {}
        for index in indices:
            place = index if index >= 0 else len(dataset) + index
            part = bisect.bisect_right(dataset.cumulative_sizes, place)
            before = dataset.cumulative_sizes[part - 1] if part > 0 else 0
            parts.setdefault(part, []).append(place - before)
        return [
            handle
            for part, within in parts.items()
            for handle in announce(dataset.datasets[part], within)
        ]
    return []


def tell(handles: Sequence[Any], what: str) -> None:
    """Calls a method of those announcements that have it."""
    for handle in handles:
        if callable(method := getattr(handle, what, None)):
            method()


class InitWorker:
    """A worker's first act: shows the user's data set in get_worker_info(), not our stand-in."""

    def __init__(self, user: Callable[[int], None] | None) -> None:
        self._user = user

    def __call__(self, worker: int) -> None:
        info = torch.utils.data.get_worker_info()
        if info is not None and isinstance(info.dataset, AnnouncingDataset):
            object.__setattr__(info, "dataset", info.dataset.dataset)
        if self._user is not None:
            self._user(worker)


class LoaderView:
    """A loader as torch's iterators read it, but with another data set."""

    def __init__(self, loader: DataLoader) -> None:
        self._loader = loader
        self.dataset = AnnouncingDataset(loader.dataset, loader._prefetch_batches)
        self.worker_init_fn = InitWorker(loader.worker_init_fn)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


_warned = False


def warn_once(dataset: Any) -> None:
    """Says, once in a process, that look-ahead finds nothing to speak to."""
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"headrace.torch.DataLoader found no data set with a prefetch method below "
            f"{type(dataset).__name__}: it works as torch's, without look-ahead",
            stacklevel=3,
        )


class DataLoader(torch.utils.data.DataLoader[Any]):
    """torch's DataLoader; batches are announced to the data set ahead of need.

    It works at ``num_workers=0`` and in workers, and through Subset and ConcatDataset, with every
    data set that has a method ``prefetch(indices)``. Which samples come, and in which order, is as
    with torch's. With ``in_order=False`` and with ``batch_size=None`` nothing is announced, because
    no worker's next batch is known.

    A ``prefetch`` that calls another's should return what that returned: of it ``keep()`` is called
    now and ``drop()`` when the batch is past.

    Parameters
    ----------
    dataset, *args, **kwargs
        As of :class:`torch.utils.data.DataLoader`.
    prefetch_batches : int
        How many batches, per worker, are announced ahead; 0 is torch's own behaviour. Not to be
        confused with `prefetch_factor`, the finished batches that a worker may keep.
    """

    def __init__(self, dataset: Any, *args: Any, prefetch_batches: int = 2, **kwargs: Any) -> None:
        if prefetch_batches < 0:
            raise ValueError(f"prefetch_batches is {prefetch_batches}: it cannot be negative")
        self._prefetch_batches = prefetch_batches
        self._looks_ahead = False
        super().__init__(dataset, *args, **kwargs)
        if prefetch_batches == 0 or isinstance(dataset, torch.utils.data.IterableDataset):
            return
        if not can_announce(dataset):
            warn_once(dataset)
            return
        self._looks_ahead = self._auto_collation and (
            self.num_workers == 0 or getattr(self, "in_order", True)
        )

    @property
    def _index_sampler(self) -> Any:
        sampler = super()._index_sampler
        if not self._looks_ahead:
            return sampler
        return LookAheadSampler(sampler, max(1, self.num_workers), self._prefetch_batches)

    def _get_iterator(self) -> Any:
        if not self._looks_ahead:
            return super()._get_iterator()
        view: Any = LoaderView(self)
        if self.num_workers == 0:
            return torch_loader._SingleProcessDataLoaderIter(view)
        self.check_worker_number_rationality()
        return torch_loader._MultiProcessingDataLoaderIter(view)
