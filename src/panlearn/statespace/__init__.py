"""Linear state spaces as layers of deep models: S4 and Mamba."""

from panlearn.core.extras import require

require("torch")

from panlearn.statespace import hippo  # noqa: E402
from panlearn.statespace.s4 import S4  # noqa: E402

__all__ = ["S4", "hippo"]
