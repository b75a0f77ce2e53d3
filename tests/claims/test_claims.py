"""Every claim of the package is a test that carries its id."""

import pytest

from panlearn.claims import all_claims


@pytest.mark.parametrize("claim", all_claims(), ids=lambda c: c.id)
def test_claim_holds(claim):
    verdict = claim.verify()
    assert claim.statement, "a claim states itself in its docstring"
    assert verdict.holds, verdict.error or [str(e) for e in verdict.evidence if not e.holds]
