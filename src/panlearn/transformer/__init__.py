"""Transformers on PyTorch: attention, positions, and a decoder that reads real weights."""

from panlearn.core.extras import require

require("torch")

from panlearn.transformer import attention  # noqa: E402
from panlearn.transformer._decoder import GPTConfig  # noqa: E402
from panlearn.transformer._texts import Completion  # noqa: E402
from panlearn.transformer.gpt import GPT  # noqa: E402

__all__ = ["GPT", "Completion", "GPTConfig", "attention"]
