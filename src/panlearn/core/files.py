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

    If the block fails, what it wrote is removed and the old file stays. A device or a pipe cannot
    be replaced: it is written to.
    """
    target = Path(path).resolve()  # a link stays a link
    if target.exists() and not target.is_file():
        yield target
        return
    temporary = target.with_name(f".{target.name[:200]}.{secrets.token_hex(8)}")
    try:
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError) and error.filename == str(temporary):
            error.filename = os.fspath(path)  # which the caller knows
        raise
    with contextlib.suppress(OSError):  # the name too, where a folder can be synced
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def write_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file whole."""
    with replacing(path) as temporary, open(temporary, "wb") as file:
        file.write(content)
