"""Linear state spaces as layers of deep models: S4 and Mamba.

`hippo` holds the mathematics of the memory that S4 starts from.
"""

from panlearn.core.extras import require

require("torch")

from panlearn.statespace import hippo  # noqa: E402
from panlearn.statespace.s4 import S4  # noqa: E402
from panlearn.statespace.s4_classifier import S4Classifier  # noqa: E402
from panlearn.statespace.s4_regressor import S4Regressor  # noqa: E402

__all__ = ["S4", "S4Classifier", "S4Regressor", "hippo"]
