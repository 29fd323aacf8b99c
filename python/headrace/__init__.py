"""Feeds training from S3-compatible storage at the speed the hardware allows.

:class:`Client` reads and writes objects; :mod:`headrace.torch` has the data sets and the loader.
"""

import atexit

from . import _native
from ._client import Client, ObjectInfo
from ._config import ClientConfig
from ._errors import (
    AccessDenied,
    AlreadyExists,
    ChecksumMismatch,
    CredentialsError,
    Error,
    InvalidArgument,
    NotFound,
    ObjectChanged,
    Throttled,
    Timeout,
    Unreachable,
)
from ._io import ObjectReader, ObjectWriter
from ._native import Data, version
from ._text import TextWriter

__version__ = version()


# Daemon threads that wait in the engine must not meet an interpreter that is half gone.
atexit.register(_native.interpreter_ends)

__all__ = [
    "AccessDenied",
    "AlreadyExists",
    "ChecksumMismatch",
    "Client",
    "ClientConfig",
    "CredentialsError",
    "Data",
    "Error",
    "InvalidArgument",
    "NotFound",
    "ObjectChanged",
    "ObjectInfo",
    "ObjectReader",
    "ObjectWriter",
    "TextWriter",
    "Throttled",
    "Timeout",
    "Unreachable",
    "__version__",
]
