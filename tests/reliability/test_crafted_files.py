"""Files with valid checksums and false contents: a refusal or a wrong model, and nothing else."""

import datetime
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import is_classifier

import panlearn

SCRIPT = Path(__file__).with_name("crafted_files.py")


def _taught(cls, library):
    """A model that has learned online, if it can: it then holds what it goes on from."""
    if not hasattr(cls, "partial_fit"):
        return library.fitted(cls)
    X, y = library.problem(cls)
    more = {"classes": np.unique(y)} if is_classifier(cls()) else {}
    return library.quietly(lambda: library.brief(cls).partial_fit(X, y, **more))


@pytest.mark.slow
def test_a_crafted_file_is_refused_or_makes_a_wrong_model(library, tmp_path, tally):
    """Other files every day; `PANLEARN_SEED` brings back those of a failure."""
    for name, cls in panlearn.all_estimators():
        panlearn.save(_taught(cls, library), tmp_path / f"{name}.panlearn")
    seed = os.environ.get("PANLEARN_SEED", str(datetime.date.today().toordinal()))
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path), seed, "4"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"PANLEARN_SEED={seed}: {done.stderr[-3000:]}"
    report = json.loads(done.stdout.splitlines()[-1])
    for outcome, number in report["outcomes"].items():
        tally["crafted files", outcome] += number
    assert not report["wrong"], f"PANLEARN_SEED={seed}: {report['wrong']}"
    assert sum(report["outcomes"].values()) == 4 * len(panlearn.all_estimators())
