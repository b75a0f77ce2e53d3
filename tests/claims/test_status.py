"""The status page credits a method with the claims and tests that were seen to call it."""

import importlib
import json
from pathlib import Path

import pytest

CASES = """
<testcase classname="tests.claims.test_claims" name="test_claim_holds[A2]">
  <properties><property name="methods" value="linear.Ridge latent.PCA" />
  <property name="files" value="linear/ridge.py latent/pca.py" /></properties></testcase>
<testcase classname="tests.claims.test_claims" name="test_claim_holds[A10]">
  <properties><property name="methods" value="linear.Ridge" />
  <property name="files" value="linear/ridge.py" /></properties></testcase>
<testcase classname="tests.claims.test_claims" name="test_claim_holds[B3]">
  <properties><property name="methods" value="linear.Ridge" />
  <property name="files" value="linear/ridge.py" /></properties><failure /></testcase>
<testcase classname="tests.claims.test_claims" name="test_claim_holds[B4]">
  <properties><property name="methods" value="" />
  <property name="files" value="latent/_lloyd.py" /></properties></testcase>
<testcase classname="tests.claims.test_claims" name="test_claim_holds[B5]">
  <properties><property name="methods" value="" />
  <property name="files" value="" /></properties></testcase>
<testcase classname="tests.parity.test_latent" name="test_inverse_transform">
  <properties><property name="methods" value="latent.PCA" /></properties></testcase>
<testcase classname="tests.contract.test_checks" name="test_check[Ridge()-clone]" />
"""


@pytest.fixture
def status(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2])
    return importlib.import_module("benchmarks.status")


def written(folder, cases):
    path = folder / "junit.xml"
    path.write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    return path


def test_what_was_traced_is_credited(status, tmp_path):
    found = status.outcomes(written(tmp_path, CASES))
    assert found.claims == {"linear.Ridge": ["A2", "A10"], "latent.PCA": ["A2"]}
    assert found.parts == {"latent/_lloyd.py": ["B4"]}
    assert found.mathematics == ["B5"]
    assert found.parity == {"latent.PCA": 1}
    assert found.checks == {"Ridge": 1}
    assert found.totals == {"passed": 6, "failure": 1}


def test_the_page_lists_it(status, tmp_path, monkeypatch):
    page = tmp_path / "status.rst"
    monkeypatch.setattr(status, "PAGE", page)
    monkeypatch.setattr(status, "ROOT", tmp_path)
    monkeypatch.setattr(status, "JUNIT", written(tmp_path, CASES))
    monkeypatch.setattr(status.chart, "draw", lambda found: None)
    status.main()
    text = page.read_text()
    assert "* - linear.Ridge\n     - 1\n     - A2, A10\n     -\n" in text
    assert "* - latent.PCA\n     -\n     - A2\n     - 1\n" in text
    assert "* - montecarlo.inverse_transform\n     -\n     -\n     -\n" in text
    assert "- ``latent/_lloyd.py``: B4" in text
    assert "Claims on mathematics alone: B5." in text


def test_results_without_a_trace_are_refused(status, tmp_path):
    case = '<testcase classname="tests.parity.test_latent" name="test_one" />'
    with pytest.raises(SystemExit, match="does not tell what test_one ran"):
        status.outcomes(written(tmp_path, case))


def test_a_family_of_very_many_workloads_has_one_line_a_method(status, tmp_path, monkeypatch):
    def kept(count):
        rows = [
            {"workload": f"no {i}", "method": "Ridge", "ratio": 1.0 + i, "spread": [1.0, 2.0]}
            for i in range(count)
        ]
        rows.append({"workload": "a peer", "method": "Ridge", "ratio": None, "spread": None})
        content = {"machine": {"cpu": "a machine"}, "rows": rows}
        (tmp_path / "predictions.json").write_text(json.dumps(content))
        return status.benchmarks_of()[0]["Ridge"]

    monkeypatch.setattr(status, "RESULTS", tmp_path)
    assert kept(2) == ["no 0: 1.00 (1.00 to 2.00)", "no 1: 2.00 (1.00 to 2.00)"]
    many = status.FOLDED + 1
    assert kept(many) == [f"{many} predictions: 1.00 to {many:.2f}, median {(many + 1) / 2:.2f}"]
