"""Pictures of fitted models.

Each display is built from a fitted model (``from_estimator``) or from plain arrays, draws on
matplotlib axes of yours or its own, and keeps them as ``ax_`` and ``figure_``. Only what
scikit-learn does not draw is here: ROC and calibration curves, confusion matrices, residuals,
learning curves and decision boundaries are in ``sklearn.metrics``, ``sklearn.calibration``,
``sklearn.model_selection`` and ``sklearn.inspection``.
"""

from panlearn.plot.band import PredictiveBandDisplay
from panlearn.plot.coefficients import CoefficientsDisplay
from panlearn.plot.fairness import FairnessDisplay
from panlearn.plot.history import HistoryDisplay
from panlearn.plot.path import RegularizationPathDisplay
from panlearn.plot.rates import RatesDisplay
from panlearn.plot.robustness import RobustAccuracyDisplay
from panlearn.plot.trajectory import TrajectoryDisplay
from panlearn.plot.tree import TreeDisplay

__all__ = [
    "CoefficientsDisplay",
    "FairnessDisplay",
    "HistoryDisplay",
    "PredictiveBandDisplay",
    "RatesDisplay",
    "RegularizationPathDisplay",
    "RobustAccuracyDisplay",
    "TrajectoryDisplay",
    "TreeDisplay",
]
