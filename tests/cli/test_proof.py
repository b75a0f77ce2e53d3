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


class TestWithoutAnExtra:
    """A file of claims that needs a package which is not there."""

    REASON = "this needs torch, which is not installed; `pip install 'panlearn[deep]'`"

    @pytest.fixture(autouse=True)
    def absent(self, three, monkeypatch, tmp_path):
        (tmp_path / "deep.py").write_text('@claim("A7")\ndef one(): ...\n\n@claim("B2", mathe\n')
        left_out = {tmp_path / "deep.py": self.REASON}
        monkeypatch.setattr(claims, "_load", lambda: left_out)

    def test_they_are_counted_aloud(self, run):
        result = run("verify")
        assert f"2 of 5 claims left out: {self.REASON}" in result.stderr
        assert "1 of 3 claims hold; these do not: A2, B1; 2 were left out" in result.stdout
        assert "2 of 5 claims left out" in run("verify", "--list").stderr

    def test_one_that_is_asked_for(self, run):
        result = run("verify", "B2")
        assert result.exit_code not in (0, 1)
        assert "claim B2 cannot be run: this needs torch" in result.stderr

    def test_in_python(self):
        assert claims.absent_claims() == {"A7": self.REASON, "B2": self.REASON}
        with pytest.raises(ValueError, match=r"no claim A7; .* \(A7: this needs torch"):
            claims.verify(["A7"])


def test_a_claim_on_mathematics_says_so(run, monkeypatch):
    monkeypatch.setattr(claims, "_REGISTRY", {})
    monkeypatch.setattr("pkgutil.iter_modules", lambda path: iter(()))

    @claims.claim("A1", mathematics=True)
    def holds():
        """One is at most two."""
        yield claims.at_most("one", 1, 2)

    assert "mathematics alone" in run("verify").stdout
    assert json.loads(run("verify", "--json").stdout)[0]["mathematics"]
    assert json.loads(run("verify", "--list", "--json").stdout)[0]["mathematics"]
