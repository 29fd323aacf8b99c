"""Objects that were announced before they are needed.

Fetches live as long as something refers to them: their announcement until it is dropped, and each
claim until it was taken. The last reference cancels what is left, so that dropping needs no lock:
it may come from a `__del__` that the garbage collector runs amid any of these calls.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence

from .. import _native

# Announcements that nobody claims and nobody keeps are dropped beyond this many.
MOST_UNKEPT = 32


class Fetches:
    """Fetches that were started together, on their way or here. May be used from many threads."""

    def __init__(self, native: _native.Batch) -> None:
        self._lock = threading.Lock()  # one thread at a time may wait for the native batch
        self._native = native
        self._results: dict[int, _native.Data | BaseException] = {}

    def result(self, place: int) -> _native.Data | None:
        """Waits for the fetch at this place; once for each.

        None when it is lost: a signal handler raised while it was handed over with others.
        """
        with self._lock:
            while place not in self._results:
                results = self._native.next()
                if not results:
                    return None
                self._results.update(results)
            result = self._results.pop(place)
        if isinstance(result, BaseException):
            raise result
        return result


class AnnouncedBatch:
    """One announcement: what may be claimed of it. May be used from many threads."""

    def __init__(self, fetches: Fetches, indices: Sequence[int]) -> None:
        self.fetches: Fetches | None = fetches  # None: no more claims
        self.indices = indices
        self.unclaimed = len(indices)  # guarded by the lock of its Announced
        self.kept = False

    def keep(self) -> None:
        """Promises a `drop` to come, so that later announcements do not drop it."""
        self.kept = True

    def drop(self) -> None:
        """Bars new claims; the fetches end when what was claimed before is taken."""
        self.fetches = None


Claim = tuple[Fetches, int]


class Announced:
    """All announcements of one data set in one process. May be used from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # never held while waiting for a fetch
        self._batches: deque[AnnouncedBatch] = deque()
        self._places: dict[int, deque[tuple[AnnouncedBatch, int]]] = {}

    def add(self, native: _native.Batch, indices: Sequence[int]) -> AnnouncedBatch:
        """Takes fetches that were started for these indices."""
        batch = AnnouncedBatch(Fetches(native), indices)
        with self._lock:
            for dropped in [old for old in self._batches if old.fetches is None]:
                self._forget(dropped)
            self._batches.append(batch)
            for place, index in enumerate(indices):
                self._places.setdefault(index, deque()).append((batch, place))
            beyond = [old for old in self._batches if not old.kept][:-MOST_UNKEPT]
            for old in beyond:
                self._forget(old)
        for old in beyond:
            old.drop()
        return batch

    def _forget(self, batch: AnnouncedBatch) -> None:
        """Removes what is left of an announcement, so that nobody claims of it."""
        self._batches.remove(batch)
        for place, index in enumerate(batch.indices):
            claims = self._places.get(index, deque())
            if (batch, place) in claims:
                claims.remove((batch, place))
                if not claims:
                    del self._places[index]

    def claim(self, index: int) -> Claim | None:
        """The oldest announcement of this index, which is then nobody else's."""
        with self._lock:
            claims = self._places.get(index)
            while claims:
                batch, place = claims.popleft()
                if not claims:
                    del self._places[index]
                fetches = batch.fetches
                if fetches is None:
                    continue
                batch.unclaimed -= 1
                if batch.unclaimed == 0:
                    self._batches.remove(batch)
                    batch.drop()
                return fetches, place
            return None

    def take(self, claim: Claim) -> _native.Data | None:
        """Waits for what was claimed; None when it was lost."""
        fetches, place = claim
        return fetches.result(place)
