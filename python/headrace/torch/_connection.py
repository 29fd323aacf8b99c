"""A data set's client in each process that uses it."""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING

import torch.utils.data

from .. import _native

if TYPE_CHECKING:
    from .._config import ClientConfig


class Connection:
    """Opens a client once per process, and pickles as what that client is told.

    Parameters
    ----------
    region, endpoint : str, optional
        Instead of the configuration's.
    config : ClientConfig
        Everything else about the client.
    """

    def __init__(self, region: str | None, endpoint: str | None, config: ClientConfig) -> None:
        self.region = region
        self.endpoint = endpoint
        self.config = config
        self._process = 0
        self._client: _native.Client
        _living[region, endpoint, config] = self

    def client(self) -> _native.Client:
        """This process's client. A worker's takes its part of the host's memory and connections."""
        if self._process != os.getpid():
            options = self.config.native()
            given = {"region": self.region, "endpoint_url": self.endpoint}
            options.update({name: value for name, value in given.items() if value is not None})
            worker = torch.utils.data.get_worker_info()
            if worker is not None:
                ranks = int(os.environ.get("LOCAL_WORLD_SIZE") or 1)
                options["processes_on_host"] = max(ranks, 1) * worker.num_workers
            self._client = _native.Client(options)
            self._process = os.getpid()
        return self._client

    def __reduce__(self) -> tuple[object, tuple[str | None, str | None, ClientConfig]]:
        return _received, (self.region, self.endpoint, self.config)


_Settings = tuple["str | None", "str | None", "ClientConfig"]
# Those of this process, so that readers which come from workers share one client: that of their
# data set where it is still there.
_living: weakref.WeakValueDictionary[_Settings, Connection] = weakref.WeakValueDictionary()


def _received(region: str | None, endpoint: str | None, config: ClientConfig) -> Connection:
    """What a pickled connection becomes."""
    return _living.get((region, endpoint, config)) or Connection(region, endpoint, config)
