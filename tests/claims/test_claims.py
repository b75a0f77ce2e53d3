"""Every claim of the package is a test that carries its id, and none goes missing."""

import pytest

from panlearn.claims import absent_claims, all_claims

ABSENT = absent_claims()
# Which claims there are, in runs of numbers; a claim that is added or dropped is so on purpose.
IDS = {
    "A": "1-263",
    "B": "1-316",
}


def pinned():
    for letter, runs in IDS.items():
        for run in runs.split():
            first, _, last = run.partition("-")
            yield from (f"{letter}{i}" for i in range(int(first), int(last or first) + 1))


def test_no_claim_is_missing():
    assert sorted([*ABSENT, *(claim.id for claim in all_claims())]) == sorted(pinned())


@pytest.mark.parametrize("claim", all_claims(), ids=lambda c: c.id)
def test_claim_holds(claim, request):
    verdict = claim.verify(trace=True)
    # what pytest's record_property does, without its warning that old readers of XML may object
    for kind in ("methods", "files"):
        names = " ".join(sorted(getattr(verdict.ran, kind)))
        request.node.user_properties.append((kind, names))
    assert claim.statement, "a claim states itself in its docstring"
    assert verdict.holds, verdict.error or [str(e) for e in verdict.evidence if not e.holds]
    if claim.mathematics:
        assert not verdict.ran.files, "it runs code of the library: it is no mere mathematics"
    else:
        assert verdict.ran.files, "it runs nothing of the library: call it, or say mathematics=True"


@pytest.mark.parametrize("claim", ABSENT)
def test_absent_claim(claim):
    pytest.skip(ABSENT[claim])
