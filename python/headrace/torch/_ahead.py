"""Objects that were announced before they are needed."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence

from .. import _native

# Announcements that nobody claims (an epoch that was broken off) are dropped beyond this many.
MOST_UNCLAIMED = 32


class AnnouncedBatch:
    """The fetches of one announcement, on their way or here. May be used from many threads."""

    def __init__(self, native: _native.Batch, count: int) -> None:
        self._lock = threading.Lock()  # one thread at a time may wait for the native batch
        self._native = native
        self._results: dict[int, _native.Data | BaseException] = {}
        self.unclaimed = count
        self.dropped = False

    def result(self, place: int) -> _native.Data:
        """Waits for the fetch at this place of the announcement; once for each."""
        with self._lock:
            while place not in self._results:
                results = self._native.next()
                if not results:
                    raise LookupError(f"place {place} of an announced batch was taken before")
                self._results.update(results)
            result = self._results.pop(place)
        if isinstance(result, BaseException):
            raise result
        return result

    def drop(self) -> None:
        """Cancels what is left."""
        self.dropped = True
        with self._lock:
            self._results.clear()
            self._native.close()


Claim = tuple[AnnouncedBatch, int]


class Announced:
    """All announcements of one data set in one process. May be used from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # never held while waiting for a fetch
        self._batches: deque[AnnouncedBatch] = deque()
        self._places: dict[int, deque[Claim]] = {}

    def add(self, native: _native.Batch, indices: Sequence[int]) -> AnnouncedBatch:
        """Takes fetches that were started for these indices."""
        batch = AnnouncedBatch(native, len(indices))
        unclaimed = []
        with self._lock:
            self._batches.append(batch)
            for place, index in enumerate(indices):
                self._places.setdefault(index, deque()).append((batch, place))
            while len(self._batches) > MOST_UNCLAIMED:
                old = self._batches.popleft()
                old.dropped = True  # nobody claims of it from here on
                unclaimed.append(old)
        for old in unclaimed:
            old.drop()
        return batch

    def claim(self, index: int) -> Claim | None:
        """The oldest announcement of this index, which is then nobody else's."""
        with self._lock:
            claims = self._places.get(index)
            while claims:
                claim = claims.popleft()
                if not claims:
                    del self._places[index]
                batch = claim[0]
                if batch.dropped:
                    continue
                batch.unclaimed -= 1
                if batch.unclaimed == 0:
                    self._batches.remove(batch)
                return claim
            return None

    def take(self, claim: Claim) -> _native.Data:
        """Waits for what was claimed."""
        batch, place = claim
        return batch.result(place)
