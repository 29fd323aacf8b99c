"""CPU time and memory of process trees, from /proc."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def _stat(pid: int) -> list[str] | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return text[text.rindex(")") + 2 :].split()


def tree(root: int) -> list[int]:
    """`root` and all its descendants that live now."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (stat := _stat(int(entry.name))):
            children.setdefault(int(stat[1]), []).append(int(entry.name))
    found, todo = [], [root]
    while todo:
        pid = todo.pop()
        found.append(pid)
        todo.extend(children.get(pid, []))
    return found


def cpu_seconds(root: int) -> float:
    """User and system time of the tree, and of its descendants that ended and were waited for."""
    total = 0
    for pid in tree(root):
        if stat := _stat(pid):
            total += sum(int(field) for field in stat[11:15])
    return total / TICKS


@dataclass
class Memory:
    """Peak resident memory of a tree in bytes, sampled."""

    peak: int = 0

    def sample(self, root: int) -> None:
        total = 0
        for pid in tree(root):
            try:
                fields = Path(f"/proc/{pid}/statm").read_text().split()
            except OSError:
                continue
            # Shared pages (libraries, a listing) count in each process that maps them.
            total += int(fields[1]) * os.sysconf("SC_PAGE_SIZE")
        self.peak = max(self.peak, total)
