"""Neural networks on PyTorch: modules, objectives, one training loop, and the estimators on it."""

from panlearn.core.extras import require

require("torch")

__all__: list[str] = []
