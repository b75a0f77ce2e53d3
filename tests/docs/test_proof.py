"""What is kept of the tests against peers: those that passed, under the methods that they ran."""

import importlib
import math
import runpy
from pathlib import Path

import facts
import pytest

TOOL = Path(__file__).parents[2] / "tools" / "proof.py"

RUN = """<testsuites><testsuite>
<testcase classname="tests.parity.test_kalman" name="test_filterpy[a]"><properties>
<property name="methods" value="sequence.KalmanFilter linear.Ridge"/></properties></testcase>
<testcase classname="tests.parity.test_kalman" name="test_filterpy[b]"><properties>
<property name="methods" value="sequence.KalmanFilter"/></properties></testcase>
<testcase classname="tests.parity.test_kalman" name="test_lost"><properties>
<property name="methods" value="sequence.KalmanFilter"/></properties><failure/></testcase>
<testcase classname="tests.parity.test_kalman" name="test_absent"><skipped/></testcase>
<testcase classname="tests.linear.test_ridge" name="test_ridge"><properties>
<property name="methods" value="linear.Ridge"/></properties></testcase>
</testsuite></testsuites>"""


def test_only_what_passed_against_a_peer_is_kept(tmp_path):
    (tmp_path / "junit.xml").write_text(RUN)
    found = runpy.run_path(str(TOOL))["parity"](tmp_path / "junit.xml")
    assert found == {
        "linear.Ridge": {"test_kalman::test_filterpy": 1},
        "sequence.KalmanFilter": {"test_kalman::test_filterpy": 2},
    }


def test_growth_is_the_slope_of_the_last_runs(monkeypatch):
    """Time as 1 + size^2: the exponent of the sizes where the square has taken over."""
    growth = importlib.import_module("benchmarks.growth")
    monkeypatch.setattr(growth, "_seconds", lambda timed: timed())
    law = growth.measure(lambda size: lambda: 1e-4 + 1e-9 * size**2)
    assert law.exponent == pytest.approx(2, abs=0.02)
    assert law.seconds[-1] > growth.LONG
    assert len(law.sizes) == growth.LAST
    with pytest.raises(TimeoutError, match="16 took"):
        growth.measure(lambda size: lambda: 5.0)


def test_growth_that_is_kept_is_of_methods():
    kept = [law for law in facts.growth() if law.file == "growth"]
    assert len(kept) > 150
    assert {law.method for law in kept} <= set(facts.methods())
    for law in kept:
        assert math.isfinite(law.exponent), law.method
        assert len(law.sizes) == len(law.seconds) >= 3, law.method
