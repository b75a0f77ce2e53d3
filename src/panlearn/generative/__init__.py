"""Models that draw new rows and images: autoencoders, adversarial nets, flows, diffusion.

They learn from tables (n, d) and from images (n, h, w) or (n, c, h, w), standardise what they see
and put it back: `sample` gives examples like those of `fit`, in their units and with the names of
their columns. ``elbo`` is a bound of the log density, ``score_samples`` the density itself, where
there is one. Reading order: `_base`, `_variational`, `_bounds`, then a model.
"""

from panlearn.core.extras import require

require("torch")

from panlearn.generative import divergences  # noqa: E402
from panlearn.generative._univariate import AffineTransform, SplineTransform  # noqa: E402
from panlearn.generative.autoencoder import Autoencoder  # noqa: E402
from panlearn.generative.conditional_vae import ConditionalVAE  # noqa: E402
from panlearn.generative.continuous_normalizing_flow import (  # noqa: E402
    ContinuousNormalizingFlow,
)
from panlearn.generative.diffusion_model import DiffusionModel  # noqa: E402
from panlearn.generative.energy_model import EnergyModel  # noqa: E402
from panlearn.generative.gan import GAN  # noqa: E402
from panlearn.generative.importance_weighted_vae import ImportanceWeightedVAE  # noqa: E402
from panlearn.generative.info_gan import InfoGAN  # noqa: E402
from panlearn.generative.masked_autoregressive_flow import MaskedAutoregressiveFlow  # noqa: E402
from panlearn.generative.mmd_gan import MMDGAN  # noqa: E402
from panlearn.generative.neural_autoregressive_flow import NeuralAutoregressiveFlow  # noqa: E402
from panlearn.generative.neural_ode import NeuralODE  # noqa: E402
from panlearn.generative.neural_ode_classifier import NeuralODEClassifier  # noqa: E402
from panlearn.generative.ode_layer import ODELayer  # noqa: E402
from panlearn.generative.odeint import ODESolution, odeint  # noqa: E402
from panlearn.generative.real_nvp import RealNVP  # noqa: E402
from panlearn.generative.score_model import ScoreModel  # noqa: E402
from panlearn.generative.sum_of_squares_flow import SumOfSquaresFlow  # noqa: E402
from panlearn.generative.vade import VaDE  # noqa: E402
from panlearn.generative.vae import VAE  # noqa: E402
from panlearn.generative.wasserstein_gan import WassersteinGAN  # noqa: E402

__all__ = [
    "GAN",
    "MMDGAN",
    "VAE",
    "AffineTransform",
    "Autoencoder",
    "ConditionalVAE",
    "ContinuousNormalizingFlow",
    "DiffusionModel",
    "EnergyModel",
    "ImportanceWeightedVAE",
    "InfoGAN",
    "MaskedAutoregressiveFlow",
    "NeuralAutoregressiveFlow",
    "NeuralODE",
    "NeuralODEClassifier",
    "ODELayer",
    "ODESolution",
    "RealNVP",
    "ScoreModel",
    "SplineTransform",
    "SumOfSquaresFlow",
    "VaDE",
    "WassersteinGAN",
    "divergences",
    "odeint",
]
