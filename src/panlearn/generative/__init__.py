"""Models that draw new rows and images: autoencoders, adversarial nets, flows, diffusion."""

from panlearn.core.extras import require

require("torch")

__all__: list[str] = []
