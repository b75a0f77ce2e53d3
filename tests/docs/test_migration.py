"""Code of the pages for those who come from another package: it runs, and the numbers agree."""

import warnings

import pytest
from migration import read, scripts


def test_a_page_pairs_what_is_theirs_with_ours_and_compares_them():
    for path in scripts():
        text, cells = read(path)
        assert text.splitlines()[1].startswith("===")
        roles = [cell.role for cell in cells]
        assert roles[0] == "data"
        assert roles[1:] == ["theirs", "ours", "same"] * (len(roles) // 3), path.name
        assert all(cell.about for cell in cells if cell.role == "theirs")


@pytest.mark.parametrize("path", scripts(), ids=lambda path: path.stem)
def test_both_sides_run_and_agree(path, tmp_path, monkeypatch):
    """Without the peer ours is run alone, and the test says that it was."""
    monkeypatch.chdir(tmp_path)
    known, missing = {}, ""
    for cell in read(path)[1]:
        if missing and cell.role in ("theirs", "same"):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("error" if cell.role == "ours" else "ignore")
            try:
                exec(compile(cell.code, f"{path.name}: {cell.role} {cell.about}", "exec"), known)
            except ModuleNotFoundError as error:
                if cell.role != "theirs":
                    raise
                missing = str(error)
    if missing:
        pytest.skip(f"only ours was run: {missing}")
