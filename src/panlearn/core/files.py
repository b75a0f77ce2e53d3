"""Files that are replaced whole: after a crash there is the old one or the new one."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a new path beside `path` to write to; what stands there at the end is renamed over it.

    If the block fails, what it wrote is removed and the old file stays.
    """
    target = Path(path).resolve()  # a link stays a link
    temporary = target.with_name(f".{target.name[:200]}.{secrets.token_hex(8)}")
    try:
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    with contextlib.suppress(OSError):  # the name too, where a folder can be synced
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def write_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file whole."""
    with replacing(path) as temporary, open(temporary, "xb") as file:
        file.write(content)
