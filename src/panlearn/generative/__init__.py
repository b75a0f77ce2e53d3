"""Models that draw new rows and images: autoencoders, adversarial nets, flows, diffusion."""

from panlearn.core.extras import require

require("torch")

from panlearn.generative._univariate import AffineTransform, SplineTransform  # noqa: E402
from panlearn.generative.masked_autoregressive_flow import MaskedAutoregressiveFlow  # noqa: E402
from panlearn.generative.neural_autoregressive_flow import NeuralAutoregressiveFlow  # noqa: E402
from panlearn.generative.real_nvp import RealNVP  # noqa: E402
from panlearn.generative.sum_of_squares_flow import SumOfSquaresFlow  # noqa: E402

__all__ = [
    "AffineTransform",
    "MaskedAutoregressiveFlow",
    "NeuralAutoregressiveFlow",
    "RealNVP",
    "SplineTransform",
    "SumOfSquaresFlow",
]
