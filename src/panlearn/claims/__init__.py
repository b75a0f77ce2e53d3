"""What the course texts claim, each a small function that measures it.

A claim has an id (A1, B42, ...), a statement in its docstring, and evidence: numbers with the
bounds that they were held against. pytest collects every claim, and ``panlearn verify`` runs them
from an installed wheel and prints what holds. Where a text is wrong, the claim states the
corrected version and says so.
"""

from panlearn.claims.claim import Claim, Evidence, Verdict, absent_claims, all_claims, verify

__all__ = ["Claim", "Evidence", "Verdict", "absent_claims", "all_claims", "verify"]
