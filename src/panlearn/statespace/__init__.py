"""Linear state spaces as layers of deep models: S4 and Mamba.

`hippo` holds the mathematics of the memory that S4 starts from.

Reading order: `hippo`, `s4`, `_systems`; `_scan`, `_mamba`, `mamba`.
"""

from panlearn.core.extras import require

require("torch")

from panlearn.statespace import hippo  # noqa: E402
from panlearn.statespace._mamba import MambaConfig  # noqa: E402
from panlearn.statespace.mamba import Mamba  # noqa: E402
from panlearn.statespace.mamba_classifier import MambaClassifier  # noqa: E402
from panlearn.statespace.mamba_regressor import MambaRegressor  # noqa: E402
from panlearn.statespace.s4 import S4  # noqa: E402
from panlearn.statespace.s4_classifier import S4Classifier  # noqa: E402
from panlearn.statespace.s4_regressor import S4Regressor  # noqa: E402

__all__ = [
    "S4",
    "Mamba",
    "MambaClassifier",
    "MambaConfig",
    "MambaRegressor",
    "S4Classifier",
    "S4Regressor",
    "hippo",
]
