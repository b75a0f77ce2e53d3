"""Transformers on PyTorch: attention, and decoders and encoders that read real weights."""

from panlearn.core.extras import require

require("torch")

from panlearn.transformer import attention  # noqa: E402
from panlearn.transformer._bert import BERTConfig  # noqa: E402
from panlearn.transformer._config import (  # noqa: E402
    ExpertsConfig,
    GPTConfig,
    LatentConfig,
    RotaryScaling,
)
from panlearn.transformer._t5 import T5Config  # noqa: E402
from panlearn.transformer._texts import Completion  # noqa: E402
from panlearn.transformer.bert import BERT  # noqa: E402
from panlearn.transformer.bert_classifier import BERTClassifier, BERTRegressor  # noqa: E402
from panlearn.transformer.bert_tagger import BERTTagger  # noqa: E402
from panlearn.transformer.deepseek import DeepSeek  # noqa: E402
from panlearn.transformer.gpt import GPT  # noqa: E402
from panlearn.transformer.latent_attention import LatentAttention  # noqa: E402
from panlearn.transformer.mixture_of_experts import MixtureOfExperts  # noqa: E402
from panlearn.transformer.multi_token_prediction import MultiTokenPrediction  # noqa: E402
from panlearn.transformer.seq2seq import Seq2Seq  # noqa: E402
from panlearn.transformer.vit_classifier import ViTClassifier  # noqa: E402

__all__ = [
    "BERT",
    "GPT",
    "BERTClassifier",
    "BERTConfig",
    "BERTRegressor",
    "BERTTagger",
    "Completion",
    "DeepSeek",
    "ExpertsConfig",
    "GPTConfig",
    "LatentAttention",
    "LatentConfig",
    "MixtureOfExperts",
    "MultiTokenPrediction",
    "RotaryScaling",
    "Seq2Seq",
    "T5Config",
    "ViTClassifier",
    "attention",
]
