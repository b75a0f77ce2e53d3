"""Whether a model can be relied on: attacks, fairness, other domains.

`fairness` compares the decisions for groups, with intervals.
"""

from panlearn.trust import fairness

__all__ = ["fairness"]
