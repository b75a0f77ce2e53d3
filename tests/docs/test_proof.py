"""What is kept of the tests against peers: those that passed, under the methods that they ran."""

import runpy
from pathlib import Path

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
