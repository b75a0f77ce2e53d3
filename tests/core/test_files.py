"""Files are replaced whole, or not at all."""

import errno
import os
import stat
import subprocess
import sys

import pytest

from panlearn.core.files import replacing, write_file


def test_the_new_file_takes_the_place_of_the_old(tmp_path):
    write_file(tmp_path / "a", b"old")
    write_file(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["a"]


def test_a_link_stays_a_link(tmp_path):
    write_file(tmp_path / "a", b"old")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    write_file(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "a").read_bytes() == b"new"


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    write_file(tmp_path / "a", b"old")

    def fail():
        with replacing(tmp_path / "a") as temporary:
            temporary.write_bytes(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert (tmp_path / "a").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDWR)
    write_file(tmp_path / "pipe", b"new")
    assert os.read(reader, 9) == b"new"
    assert (tmp_path / "pipe").is_fifo()
    os.close(reader)


def test_an_error_names_the_file_that_was_asked_for(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        write_file(tmp_path / "nowhere" / "a", b"new")
    assert caught.value.filename == str(tmp_path / "nowhere" / "a")
    with pytest.raises(IsADirectoryError):
        write_file(tmp_path, b"new")


def test_a_full_disk_names_the_file_too(tmp_path):
    """The system tells no name with it."""
    path = tmp_path / "model"
    with pytest.raises(OSError, match=r"No space left on device: .*model"), replacing(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert list(tmp_path.iterdir()) == []


def test_a_new_file_has_the_permissions_of_the_one_it_replaces(tmp_path):
    write_file(tmp_path / "a", b"old")
    for mode in (0o600, 0o640, 0o444):
        os.chmod(tmp_path / "a", mode)
        write_file(tmp_path / "a", b"new")
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == mode


def test_a_file_that_others_may_not_read_is_never_readable_while_it_is_written(tmp_path):
    write_file(tmp_path / "a", b"old")
    os.chmod(tmp_path / "a", 0o600)
    with replacing(tmp_path / "a") as temporary:
        temporary.write_bytes(b"secret")
        assert not temporary.stat().st_mode & 0o077


def test_what_a_killed_writer_left_is_removed_by_the_next(tmp_path):
    code = (
        "import os, sys; from panlearn.core.files import replacing\n"
        "with replacing(sys.argv[1]) as temporary:\n"
        "    temporary.write_bytes(b'half'); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "a"], check=False)
    (tmp_path / ".a.txt").write_bytes(b"somebody's")
    assert len(os.listdir(tmp_path)) == 2
    write_file(tmp_path / "a", b"new")
    assert sorted(os.listdir(tmp_path)) == [".a.txt", "a"]


def test_another_writer_at_work_keeps_its_file(tmp_path):
    with replacing(tmp_path / "a") as temporary:
        temporary.write_bytes(b"the later")
        write_file(tmp_path / "a", b"the earlier")
    assert (tmp_path / "a").read_bytes() == b"the later"
    assert os.listdir(tmp_path) == ["a"]
