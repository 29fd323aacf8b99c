"""What can go wrong, as exceptions that a caller would catch anyway.

Each says in its text all that is known, and can be built from that text alone: torch raises a
worker's error again as ``type(error)(message)``, where the message is a whole traceback.
"""

from __future__ import annotations

import errno
import json
import re

_DETAILS = re.compile(
    r"\[code (?P<code>\w+)"
    r"(?:, HTTP (?P<status>\d+))?"
    r"(?: (?P<s3_code>[A-Za-z][\w.]*))?"
    r"(?:, request id (?P<request_id>[^\s,\]]+))?"
    r'(?:, bucket (?P<bucket>"(?:[^"\\]|\\.)*"))?'
    r'(?:, key (?P<key>"(?:[^"\\]|\\.)*"))?'
    r"(?:, (?P<attempts>\d+) attempts?)?"
    r"(?:, (?P<elapsed>[\d.]+) s)?\]"
)


class Error(Exception):
    """Any failure of Headrace.

    Attributes
    ----------
    code : str
        The engine's name of the kind of failure: ``"NotFound"``, ``"ServerError"``, ….
    message : str
        What failed, where, and what to do.
    http_status : int
        Of the last answer; 0 when there was none.
    s3_code : str
        The service's name of the failure, such as ``"NoSuchKey"``.
    request_id : str
        What the service's support asks for.
    bucket, key : str
        What it was about, as far as known.
    attempts : int
        Requests that were sent, retries included.
    elapsed : float
        Seconds from the first attempt to the failure.
    """

    code = "Internal"

    def __init__(
        self,
        message: str = "",
        *,
        code: str | None = None,
        http_status: int = 0,
        s3_code: str = "",
        request_id: str = "",
        bucket: str = "",
        key: str = "",
        attempts: int = 0,
        elapsed: float = 0.0,
    ) -> None:
        self.message = message
        self.code = code or type(self).code
        self.http_status = http_status
        self.s3_code = s3_code
        self.request_id = request_id
        self.bucket = bucket
        self.key = key
        self.attempts = attempts
        self.elapsed = elapsed
        # The last one: a traceback may quote others that led to this one.
        for found in _DETAILS.finditer(message):
            self._recover(found)
        super().__init__(message)
        _set_errno(self)

    def _recover(self, found: re.Match[str]) -> None:
        text = found.groupdict(default="")
        self.message = found.string[: found.start()].rstrip()
        self.code = text["code"]
        self.http_status = int(text["status"] or 0)
        self.s3_code = text["s3_code"]
        self.request_id = text["request_id"]
        self.bucket = json.loads(text["bucket"] or '""')
        self.key = json.loads(text["key"] or '""')
        self.attempts = int(text["attempts"] or 0)
        self.elapsed = float(text["elapsed"] or 0)

    def __str__(self) -> str:
        details = f"code {self.code}"
        if self.http_status:
            details += f", HTTP {self.http_status}"
        if self.s3_code:
            details += f" {self.s3_code}"
        if self.request_id:
            details += f", request id {self.request_id}"
        if self.bucket:
            details += f", bucket {json.dumps(self.bucket)}"
        if self.key:
            details += f", key {json.dumps(self.key)}"
        if self.attempts:
            details += f", {self.attempts} attempt" + ("s" if self.attempts > 1 else "")
        if self.elapsed:
            details += f", {self.elapsed:.3f} s"
        return f"{self.message} [{details}]"

    def __reduce__(self) -> tuple[type[Error], tuple[str]]:
        return type(self), (str(self),)


class NotFound(Error, FileNotFoundError):
    """No such bucket, key, upload, profile or file."""

    code = "NotFound"


class AlreadyExists(Error, FileExistsError):
    """Something is there that was to be created only if absent."""

    code = "AlreadyExists"


class AccessDenied(Error, PermissionError):
    """The service refused these credentials."""

    code = "AccessDenied"


class CredentialsError(Error, PermissionError):
    """There are no credentials, or they expired and cannot be renewed."""

    code = "Credentials"


class ObjectChanged(Error, OSError):
    """The object was replaced while it was being read, or since it was listed."""

    code = "ObjectChanged"


class ChecksumMismatch(Error, OSError):
    """The bytes that arrived are not those that were stored."""

    code = "ChecksumMismatch"


class Unreachable(Error, ConnectionError):
    """Name lookup, connection or TLS failed."""

    code = "Unreachable"


class Timeout(Error, TimeoutError):
    """A deadline passed."""

    code = "Timeout"


class Throttled(Error, OSError):
    """The service asked to slow down until the deadline."""

    code = "Throttled"


class InvalidArgument(Error, ValueError):
    """The call itself is wrong."""

    code = "InvalidArgument"


_ERRNO = {
    "NotFound": errno.ENOENT,
    "AlreadyExists": errno.EEXIST,
    "AccessDenied": errno.EACCES,
    "Credentials": errno.EACCES,
    "ObjectChanged": errno.ESTALE,
    "ChecksumMismatch": errno.EBADMSG,
    "Unreachable": errno.EHOSTUNREACH,
    "Timeout": errno.ETIMEDOUT,
    "Throttled": errno.EBUSY,
}


def _set_errno(error: Exception) -> None:
    """What callers of the built-in exceptions look at."""
    if isinstance(error, OSError) and isinstance(error, Error):
        error.errno = _ERRNO.get(error.code)


_BY_CODE: dict[str, type[Error]] = {
    kind.code: kind
    for kind in (
        NotFound,
        AlreadyExists,
        AccessDenied,
        CredentialsError,
        ObjectChanged,
        ChecksumMismatch,
        Unreachable,
        Timeout,
        Throttled,
        InvalidArgument,
    )
}


def from_native(
    code: str,
    message: str,
    http_status: int,
    s3_code: str,
    request_id: str,
    bucket: str,
    key: str,
    attempts: int,
    elapsed: float,
) -> Error:
    """The exception for an engine's status; `_native` calls this."""
    return _BY_CODE.get(code, Error)(
        message,
        code=code,
        http_status=http_status,
        s3_code=s3_code,
        request_id=request_id,
        bucket=bucket,
        key=key,
        attempts=attempts,
        elapsed=elapsed,
    )
