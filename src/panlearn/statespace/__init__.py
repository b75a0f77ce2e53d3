"""Linear state spaces as layers of deep models: S4 and Mamba."""

from panlearn.core.extras import require

require("torch")

__all__: list[str] = []
