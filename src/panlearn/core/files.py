"""Files that are replaced whole: after a crash there is the old one or the new one."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a new path beside `path` to write to; what stands there at the end is renamed over it.

    The new file has the permissions of the old one. If the block fails, what it wrote is removed
    and the old file stays; what a writer that was killed has left is removed by the next. A device
    or a pipe cannot be replaced: it is written to.
    """
    target = Path(path).resolve()  # a link stays a link
    if target.exists() and not target.is_file():
        yield target
        return
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    start = f".{target.name[:200]}."
    temporary = target.with_name(start + secrets.token_hex(8))
    try:
        _remove_left(target.parent, start)
        with _held(temporary, 0o666 if mode is None else 0o600):
            yield temporary
            with open(temporary, "rb+") as file:
                os.fsync(file.fileno())
            if mode is not None:
                os.chmod(temporary, mode)
            os.replace(temporary, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        # a full disk tells no name, and the caller knows only this one
        if isinstance(error, OSError) and error.filename in (None, str(temporary)):
            error.filename = os.fspath(path)
        raise
    with contextlib.suppress(OSError):  # the name too, where a folder can be synced
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextlib.contextmanager
def _held(path: Path, mode: int) -> Iterator[None]:
    """Make a file and lock it: the system opens the lock when this process ends, however it does.

    One who removes what was left may take the file for such before it is locked; then anew.
    """
    while True:
        held = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
        try:
            _lock(held)
            if path.exists():
                yield
                return
        finally:
            os.close(held)


def _remove_left(folder: Path, start: str) -> None:
    """Remove temporary files that nobody has locked."""
    for left in folder.iterdir() if folder.is_dir() else ():
        if re.fullmatch(re.escape(start) + "[0-9a-f]{16}", left.name):
            with contextlib.suppress(OSError), open(left, "rb") as file:
                if _lock(file.fileno(), wait=False):
                    left.unlink()


def _lock(file: int, wait: bool = True) -> bool:
    """Lock an open file; False where the system has no such locks."""
    try:
        import fcntl
    except ImportError:  # on Windows
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:  # another has it, or the disk is one without locks
        return False
    return True


def write_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file whole."""
    with replacing(path) as temporary, open(temporary, "wb") as file:
        file.write(content)
