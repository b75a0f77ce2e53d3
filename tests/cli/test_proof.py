import json

import pytest

from panlearn.claims import claim as claims


@pytest.fixture
def three(monkeypatch):
    """Three claims of our own: one holds, one does not, one breaks."""
    monkeypatch.setattr(claims, "_REGISTRY", {})
    monkeypatch.setattr("pkgutil.iter_modules", lambda path: iter(()))

    @claims.claim("A1")
    def holds():
        """One is at most two."""
        yield claims.at_most("one", 1, 2)

    @claims.claim("A2")
    def fails():
        """Three is at most two."""
        yield claims.at_most("three", 3, 2)

    @claims.claim("B1")
    def breaks():
        """Nothing is measured."""
        raise RuntimeError("out of order")
        yield


@pytest.mark.usefixtures("three")
class TestVerify:
    def test_a_claim_that_holds(self, run):
        result = run("verify", "A1")
        assert result.exit_code == 0
        for word in ("A1 holds", "One is at most two.", "one: 1 <= 2", "1 of 1 claims hold"):
            assert word in result.stdout

    def test_one_that_does_not_gives_exit_code_1(self, run):
        result = run("verify")
        assert result.exit_code == 1
        assert "A2 does not hold" in result.stdout
        assert "out of order" in result.stdout
        assert "1 of 3 claims hold; these do not: A2, B1" in result.stdout

    def test_json(self, run):
        result = run("verify", "A1", "A2", "--json")
        assert result.exit_code == 1
        first, second = json.loads(result.stdout)
        assert first["holds"]
        assert not second["holds"]
        assert second["evidence"][0]["measured"] == 3.0

    def test_list_runs_nothing(self, run):
        result = run("verify", "--list")
        assert result.exit_code == 0
        assert "Nothing is measured." in result.stdout
        assert [c["id"] for c in json.loads(run("verify", "--list", "--json").stdout)] == [
            "A1",
            "A2",
            "B1",
        ]

    def test_code(self, run, capsys):
        exec(run("verify", "A1", "--code").stdout, {})
        assert capsys.readouterr().out == "A1 True\n"
