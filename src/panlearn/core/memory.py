"""Say what an allocation needs before it is tried."""

from __future__ import annotations

import math
import os


def available() -> int:
    """Bytes that this process can still have; unlimited if the system does not tell."""
    try:
        with open("/proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError, AttributeError):
        return 1 << 62


def require_memory(shape: tuple[int, ...], what: str, remedy: str, itemsize: int = 8) -> None:
    """Raise `MemoryError` with the estimate if an array of `shape` would not fit."""
    needed = math.prod(shape) * itemsize
    if needed > available():
        size = " x ".join(map(str, shape))
        raise MemoryError(
            f"{what} is {size}, {needed / 2**30:.1f} GiB, and {available() / 2**30:.1f} GiB are "
            f"free; {remedy}"
        )
