"""Whether a model can be relied on: attacks, fairness, other domains.

`attacks` move rows until a model errs, on networks, linear models and any pipeline, and certify
where none can; `AdversarialTraining` makes networks withstand them, `WorstCase` any objective.
`fairness` compares the decisions for groups, with intervals; `CorrelationRemover` works on the
features, `FairRegularizer` on the training and `FairPostprocessor` on the decisions.
`generalization` measures errors in the worst group, in another domain and under attack. PyTorch
loads when a network is met.
"""

from panlearn.trust import attacks, fairness, generalization
from panlearn.trust.adversarial_training import AdversarialTraining
from panlearn.trust.correlation_remover import CorrelationRemover
from panlearn.trust.fair_postprocessor import FairPostprocessor
from panlearn.trust.fair_regularizer import FairRegularizer
from panlearn.trust.worst_case import WorstCase

__all__ = [
    "AdversarialTraining",
    "CorrelationRemover",
    "FairPostprocessor",
    "FairRegularizer",
    "WorstCase",
    "attacks",
    "fairness",
    "generalization",
]
