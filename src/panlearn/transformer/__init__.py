"""Transformers on PyTorch: attention, positions, and a decoder that reads real weights."""

from panlearn.core.extras import require

require("torch")

from panlearn.transformer import attention  # noqa: E402
from panlearn.transformer._config import (  # noqa: E402
    ExpertsConfig,
    GPTConfig,
    LatentConfig,
    RotaryScaling,
)
from panlearn.transformer._texts import Completion  # noqa: E402
from panlearn.transformer.deepseek import DeepSeek  # noqa: E402
from panlearn.transformer.gpt import GPT  # noqa: E402
from panlearn.transformer.latent_attention import LatentAttention  # noqa: E402
from panlearn.transformer.mixture_of_experts import MixtureOfExperts  # noqa: E402
from panlearn.transformer.multi_token_prediction import MultiTokenPrediction  # noqa: E402

__all__ = [
    "GPT",
    "Completion",
    "DeepSeek",
    "ExpertsConfig",
    "GPTConfig",
    "LatentAttention",
    "LatentConfig",
    "MixtureOfExperts",
    "MultiTokenPrediction",
    "RotaryScaling",
    "attention",
]
