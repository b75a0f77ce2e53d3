"""Hashes behind the pins: written from a report of pip's, and held against the next one."""

import json
import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).parents[2] / "tools" / "lock.py"


def _report(path, **packages):
    items = [
        {
            "metadata": {"name": name, "version": version},
            "download_info": {"archive_info": {"hashes": {"sha256": digest}}},
        }
        for name, (version, digest) in packages.items()
    ]
    items.append({"metadata": {"name": "own"}, "download_info": {"dir_info": {"editable": True}}})
    path.write_text(json.dumps({"install": items}))
    return path


def _run(what, report, constraints):
    command = [sys.executable, str(TOOL), what, str(report), "--constraints", str(constraints)]
    return subprocess.run(command, capture_output=True, text=True)


def test_what_is_written_is_accepted_and_anything_else_refused(tmp_path):
    constraints = tmp_path / "constraints.txt"
    constraints.write_text("# pins\nclick==8.5.1\nscikit-learn==1.9.0  # sha256:old\n")
    report = _report(tmp_path / "a", click=("8.5.1", "aa"), scikit_learn=("1.9.0", "bb"))
    refused = _run("check", report, constraints)
    assert refused.returncode == 1
    assert "click 8.5.1 is another archive: sha256:aa" in refused.stderr
    assert _run("write", report, constraints).returncode == 0
    lines = constraints.read_text().splitlines()
    assert lines == [
        "# pins",
        "click==8.5.1  # sha256:aa",
        "scikit-learn==1.9.0  # sha256:bb sha256:old",
    ]
    assert _run("check", report, constraints).returncode == 0
    assert _run("write", report, constraints).returncode == 0
    assert constraints.read_text().splitlines() == lines
    other = _report(tmp_path / "b", click=("8.5.1", "cc"), numpy=("2.0", "dd"))
    refused = _run("check", other, constraints)
    assert "click 8.5.1 is another archive" in refused.stderr
    assert "numpy 2.0 is not pinned" in refused.stderr
    version = _report(tmp_path / "c", click=("8.5.2", "aa"))
    assert "click 8.5.2 is not pinned" in _run("check", version, constraints).stderr
