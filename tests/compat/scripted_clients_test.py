"""Clients that need an environment of their own: each runs a script of this folder there."""

from __future__ import annotations

from typing import Any


def test_obstore(run_python: Any, bucket: str) -> None:
    assert run_python("obstore_script.py", bucket)["keys"] > 15


def test_s3torchconnector(run_python: Any, bucket: str) -> None:
    assert run_python("s3torchconnector_script.py", bucket) == {"objects": 1200}
