"""Whether a model can be relied on: attacks, fairness, other domains.

`fairness` compares the decisions for groups, with intervals; `CorrelationRemover` works on the
features, `FairRegularizer` on the training and `FairPostprocessor` on the decisions.
"""

from panlearn.trust import attacks, fairness
from panlearn.trust.correlation_remover import CorrelationRemover
from panlearn.trust.fair_postprocessor import FairPostprocessor
from panlearn.trust.fair_regularizer import FairRegularizer

__all__ = ["CorrelationRemover", "FairPostprocessor", "FairRegularizer", "attacks", "fairness"]
