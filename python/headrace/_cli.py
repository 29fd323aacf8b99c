"""The `headrace` entry point: hands over to the native program beside this package."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from . import _native


def main() -> None:
    """Replaces this process by the native program, with the same arguments."""
    program = Path(_native.__file__).parent / "bin" / "headrace"
    try:
        os.execv(program, ["headrace", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"headrace: {program}: {error.strerror}; reinstall the package")
