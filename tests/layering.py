"""Compares the modules' #includes with the build's link edges and with the graph of DESIGN.

Usage: layering.py LAYERING_JSON [SOURCE_DIR]

LAYERING_JSON is what CMake wrote: each module's DEPENDS. Every `#include "module/file.h"` under
src/ must be reachable over those edges, and every edge and include must be allowed by ALLOWED.
Tests (*_test.cc, *_fuzz.cc) are exempt: they may include what they like. Exit 1, with one line for
each violation, when something is not as it should be.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

# Who may include whom, directly; what is reachable over these edges is allowed too.
ALLOWED: Mapping[str, frozenset[str]] = {
    module: frozenset(uses.split())
    for module, uses in {
        "base": "",
        "net": "base",
        "s3": "net",
        "store": "s3",
        "testing": "store",
        "cache": "base",
        "formats": "base",
        "image": "base",
        "object": "store cache",
        "index": "object formats",
        "loader": "index image",
        "pack": "index",
        "checkpoint": "object",
        "mount": "object formats",
        "fuse": "mount",
        "channels": "mount index",
        # The dev server speaks HTTP and checks signatures by itself, so that one bug cannot satisfy
        # both sides.
        "devserver": "base",
        "api": "base net s3 store cache object formats image index loader pack checkpoint mount "
        "channels",
    }.items()
}
# apps/ and bench/ may include everything and are not looked at; python/ only the public API.

# The public headers that every module may include; the rest of include/headrace is api's.
BASE_HEADERS = frozenset({"status.h", "buffer.h", "options.h", "object_info.h", "interrupt.h"})

_INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.MULTILINE)
_TEST_FILE = re.compile(r"_(test|fuzz|benchmark)\.cc$")


def closure(graph: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """All modules that each module reaches, itself included."""
    reached: dict[str, frozenset[str]] = {}
    for start in graph:
        seen: set[str] = set()
        stack = [start]
        while stack:
            module = stack.pop()
            if module not in seen:
                seen.add(module)
                stack.extend(graph.get(module, frozenset()))
        reached[start] = frozenset(seen)
    return reached


def owner(include: str, modules: frozenset[str]) -> str | None:
    """The module that an included path belongs to; None for one from outside the project."""
    first, _, rest = include.partition("/")
    if first == "headrace" and rest:
        return "base" if rest in BASE_HEADERS else "api"
    return first if rest and first in modules else None


def includes(path: Path) -> Iterator[tuple[int, str]]:
    text = path.read_text(encoding="utf-8")
    for match in _INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start(1)) + 1, match.group(1)


def sources(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".cc", ".h", ".cpp") and not _TEST_FILE.search(path.name):
            yield path


def check(root: Path, links: Mapping[str, frozenset[str]]) -> list[str]:
    """Every violation under `root`, as "file:line: what is wrong"."""
    errors: list[str] = []
    allowed = closure(ALLOWED)
    linked = closure(links)
    modules = frozenset(ALLOWED) | frozenset(links)

    for module, depends in links.items():
        if module not in ALLOWED:
            errors.append(f"src/{module}: the module is not in tests/layering.py's ALLOWED graph")
            continue
        for dependency in sorted(depends - allowed[module]):
            errors.append(
                f"src/{module}/CMakeLists.txt: {module} links {dependency}, which it may not use"
            )

    src = root / "src"
    for folder in sorted(path for path in src.iterdir() if path.is_dir()):
        module = folder.name
        if module not in links:
            errors.append(f"src/{module}: no headrace_module() of this name is built")
            continue
        for path in sources(folder):
            where = path.relative_to(root)
            for line, include in includes(path):
                used = owner(include, modules)
                if used is None or used == module:
                    continue
                if used not in allowed.get(module, frozenset()):
                    errors.append(f"{where}:{line}: {module} may not include {include}")
                elif used not in linked[module]:
                    errors.append(
                        f"{where}:{line}: {module} includes {include} but does not link {used}: "
                        f"add it to DEPENDS in src/{module}/CMakeLists.txt"
                    )

    for folder in (root / "include", root / "python"):
        for path in sources(folder) if folder.is_dir() else ():
            for line, include in includes(path):
                first, _, rest = include.partition("/")
                if rest and first in modules:
                    errors.append(
                        f"{path.relative_to(root)}:{line}: only include/headrace may be used here, "
                        f"not {include}"
                    )
    return errors


def read_links(path: Path) -> dict[str, frozenset[str]]:
    return {module: frozenset(uses) for module, uses in json.loads(path.read_text()).items()}


def main(arguments: list[str]) -> int:
    if len(arguments) not in (1, 2):
        print(__doc__, file=sys.stderr)
        return 2
    links = read_links(Path(arguments[0]))
    root = Path(arguments[1]) if len(arguments) == 2 else Path(__file__).resolve().parent.parent
    errors = check(root, links)
    for error in errors:
        print(error, file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
