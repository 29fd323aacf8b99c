from __future__ import annotations

import errno
import pickle
import sys
import traceback

import pytest

import headrace
from headrace import _errors

KINDS = [
    (headrace.NotFound, FileNotFoundError),
    (headrace.AlreadyExists, FileExistsError),
    (headrace.AccessDenied, PermissionError),
    (headrace.CredentialsError, PermissionError),
    (headrace.ObjectChanged, OSError),
    (headrace.ChecksumMismatch, OSError),
    (headrace.Unreachable, ConnectionError),
    (headrace.Timeout, TimeoutError),
    (headrace.Throttled, OSError),
    (headrace.InvalidArgument, ValueError),
]


def full(kind: type[headrace.Error], key: str = "a/key.jpg") -> headrace.Error:
    return kind(
        f"reading s3://b/{key}: it went wrong",
        http_status=404,
        s3_code="NoSuchKey",
        request_id="R1D",
        bucket="b",
        key=key,
        attempts=3,
        elapsed=1.25,
    )


@pytest.mark.parametrize(("kind", "builtin"), KINDS)
def test_is_caught_by_the_builtin_a_user_would_name(
    kind: type[headrace.Error], builtin: type[Exception]
) -> None:
    with pytest.raises(builtin):
        raise full(kind)
    with pytest.raises(headrace.Error):
        raise full(kind)


@pytest.mark.parametrize("kind", [kind for kind, _ in KINDS] + [headrace.Error])
@pytest.mark.parametrize(
    "key", ["a/key.jpg", 'quote " and \\', "br[ac]ket, s]", "ümlaut\n", "bytes \udcff", "x" * 1024]
)
def test_recovers_its_fields_from_its_own_text(kind: type[headrace.Error], key: str) -> None:
    error = full(kind, key)
    again = kind(str(error))
    assert vars(again) == vars(error)
    assert str(again) == str(error)


@pytest.mark.parametrize("kind", [kind for kind, _ in KINDS] + [headrace.Error])
def test_recovers_its_fields_from_a_traceback(kind: type[headrace.Error]) -> None:
    # torch builds a worker's error again from the whole traceback.
    try:
        try:
            raise full(headrace.Timeout, "an earlier one")
        except headrace.Error:
            raise full(kind) from None
    except headrace.Error:
        text = "".join(traceback.format_exception(*sys.exc_info()))
    again = kind(f"Caught {kind.__name__} in DataLoader worker process 0.\nOriginal {text}")
    assert again.http_status == 404
    assert again.s3_code == "NoSuchKey"
    assert again.key == "a/key.jpg"
    assert (again.attempts, again.elapsed) == (3, 1.25)
    assert "Traceback" in again.message


def test_a_text_without_details_is_just_a_message() -> None:
    error = headrace.NotFound("gone")
    assert (error.message, error.code, error.http_status) == ("gone", "NotFound", 0)
    assert headrace.NotFound(str(error)).message == "gone"


def test_pickles() -> None:
    error = full(headrace.NotFound)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is headrace.NotFound
    assert vars(again) == vars(error)


def test_has_the_errno_of_its_builtin() -> None:
    assert full(headrace.NotFound).errno == errno.ENOENT  # type: ignore[attr-defined]
    assert full(headrace.AccessDenied).errno == errno.EACCES  # type: ignore[attr-defined]


def test_a_kind_without_a_class_of_its_own_keeps_its_code() -> None:
    error = _errors.from_native("Archived", "restore it first", 403, "", "", "b", "k", 1, 0.0)
    assert type(error) is headrace.Error
    assert error.code == "Archived"
    assert headrace.Error(str(error)).code == "Archived"
