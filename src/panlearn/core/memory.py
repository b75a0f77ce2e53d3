"""Say what an allocation needs before it is tried."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

UNLIMITED = 1 << 62
SMALL = 1 << 24  # bytes that are had sooner than the system tells what is free


def available() -> int:
    """Bytes that this process can still have; unlimited if the system does not tell.

    The least of what the machine has free, of what the control groups of the process (a container,
    a batch job) leave it, and of what its own limits (``ulimit -v`` and ``-d``) do.
    """
    root = Path("/")
    return max(0, min(_machine(root), _groups(root), _process(root)))


def require_memory(shape: tuple[int, ...], what: str, remedy: str, itemsize: int = 8) -> None:
    """Raise `MemoryError` with the estimate if an array of `shape` would not fit."""
    needed = math.prod(shape) * itemsize
    if needed <= SMALL:
        return
    if needed > (free := available()):
        size = " x ".join(map(str, shape))
        raise MemoryError(
            f"{what} is {size}, {needed / 2**30:.1f} GiB, and {free / 2**30:.1f} GiB are free; "
            f"{remedy}"
        )


def _machine(root: Path) -> int:
    try:
        with open(root / "proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError, AttributeError):
        return UNLIMITED


def _groups(root: Path) -> int:
    """What the control groups leave, of version 2 and of 1: each group's limit holds for its own.

    Pages of files that were not used lately count as free: the kernel takes them when it must.
    """
    left = UNLIMITED
    for folder, limit, usage, idle in _group_folders(root):
        try:
            most = int((folder / limit).read_text())  # "max" is no limit
            used = int((folder / usage).read_text())
            facts = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
            left = min(left, most - used + int(facts.get(idle, 0)))
        except (OSError, ValueError):
            continue
    return left


def _group_folders(root: Path) -> Iterator[tuple[Path, str, str, str]]:
    """Each group of the process and those it lies in, with the names of its files."""
    second = ("memory.max", "memory.current", "inactive_file")
    first = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        top, names = ("sys/fs/cgroup/memory", first) if controllers else ("sys/fs/cgroup", second)
        inside = Path(path.lstrip("/"))
        for group in (inside, *inside.parents):
            yield root / top / group, *names


def _process(root: Path) -> int:
    """What the limits of the process leave: of its address space, and of its data."""
    try:
        import resource  # not on Windows

        taken = (root / "proc/self/statm").read_text().split()
    except (ImportError, OSError):
        return UNLIMITED
    left = UNLIMITED
    for kind, pages in ((resource.RLIMIT_AS, taken[0]), (resource.RLIMIT_DATA, taken[5])):
        limit = resource.getrlimit(kind)[0]
        if limit != resource.RLIM_INFINITY:
            left = min(left, limit - int(pages) * resource.getpagesize())
    return left
