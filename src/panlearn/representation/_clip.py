r"""Two towers: an encoder of images and one of texts, whose outputs are compared.

.. math::
    u = W_u\, \operatorname{ViT}(\text{image})_{\text{first}}, \qquad
    v = W_v\, \operatorname{transformer}(\text{text})_{\text{last}}, \qquad
    s = e^{\tau} \cos(u, v)
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from panlearn.core.parameters import Positive, check_parameters
from panlearn.core.value import Value
from panlearn.neural._step import Step
from panlearn.representation._objectives import paired_losses, spread_and_rank
from panlearn.transformer._encoder import Block, initialise
from panlearn.transformer._vit import VisionEncoder

MOST = math.log(100)  # of the log of the scale, in the paper


@dataclass(frozen=True)
class Tower(Value):
    r"""The shape of one encoder of `CLIP`: blocks of attention with the norm first.

    .. math::
        x \leftarrow x + \operatorname{attention}(\operatorname{norm}(x)), \qquad
        x \leftarrow x + \operatorname{feedforward}(\operatorname{norm}(x)) \qquad (L \text{ times})

    Parameters
    ----------
    n_layers : int, default=2
        Blocks L.
    width : int, default=64
        Coordinates of a patch or of a token.
    n_heads : int, default=2
        Heads of attention in each block.
    hidden : int, default=None
        Width of the feed-forward layer; four times the width if None.
    norm_epsilon : float, default=1e-5
        Is added to the variance in a norm.
    activation : {"quick_gelu", "gelu", "gelu_tanh", "relu"}, default="quick_gelu"
        Of the feed-forward layers; the first is :math:`x\, \sigma(1.702\, x)`.

    References
    ----------
    A. Radford et al. (2021). Learning transferable visual models from natural language
    supervision. ICML. arXiv:2103.00020

    Examples
    --------
    >>> from panlearn.representation import CLIP, Tower
    >>> model = CLIP(text=Tower(n_layers=1, width=32))
    """

    n_layers: Positive[int] = 2
    width: Positive[int] = 64
    n_heads: Positive[int] = 2
    _: KW_ONLY
    hidden: Positive[int] | None = None
    norm_epsilon: Positive[float] = 1e-5
    activation: Literal["quick_gelu", "gelu", "gelu_tanh", "relu"] = "quick_gelu"

    def __post_init__(self) -> None:
        check_parameters(self)
        if self.width % self.n_heads:
            raise ValueError(f"width={self.width} is not a multiple of n_heads={self.n_heads}")

    def options(self) -> dict[str, Any]:
        """The keywords of a `VisionEncoder`."""
        names = ("n_layers", "width", "n_heads", "norm_epsilon", "activation")
        return {name: getattr(self, name) for name in names} | {"hidden": self.hidden_size}

    @property
    def hidden_size(self) -> int:
        """Width of the feed-forward layer."""
        return self.hidden or 4 * self.width


class TextEncoder(nn.Module):
    """Tokens that look back, of which the last stands for the text."""

    def __init__(self, tower: Tower, n_tokens: int, context: int, n_outputs: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(n_tokens, tower.width)
        self.positions = nn.Embedding(context, tower.width)
        self.blocks: Any = nn.ModuleList(
            Block(
                *(tower.width, tower.n_heads, tower.hidden_size),
                activation=tower.activation,
                norm_before=True,
                norm_epsilon=tower.norm_epsilon,
            )
            for _ in range(tower.n_layers)
        )
        self.norm = nn.LayerNorm(tower.width, eps=tower.norm_epsilon)
        self.head = nn.Linear(tower.width, n_outputs, bias=False)
        initialise(self, tower.width)

    def forward(self, ids: Tensor, last: Tensor) -> Tensor:
        """Give the vectors of texts (n, length), each at the place of its last token."""
        x = self.tokens(ids) + self.positions.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x, causal=True)
        return self.head(self.norm(x[torch.arange(len(x), device=x.device), last]))


class Towers(nn.Module):
    """An encoder of images, one of texts, and the log of the scale of their cosines."""

    def __init__(self, image: VisionEncoder, text: TextEncoder, temperature: float) -> None:
        super().__init__()
        self.image, self.text = image, text
        self.log_scale = nn.Parameter(torch.tensor(-math.log(temperature)))

    @classmethod
    def of(
        cls,
        *,
        image_shape: tuple[int, int, int],
        n_tokens: int,
        n_components: int,
        patch_size: int,
        context: int,
        vision: Tower,
        text: Tower,
        temperature: float = 0.07,
    ) -> Towers:
        """Make both towers for images of a shape and so many tokens."""
        patch = min(patch_size, image_shape[1]), min(patch_size, image_shape[2])
        image = VisionEncoder(
            *(image_shape, patch, n_components),
            bias=False,
            norm_embedded=True,
            **vision.options(),
        )
        return cls(image, TextEncoder(text, n_tokens, context, n_components), temperature)


def pair_losses(module: Any, batch: Any, step: Step) -> Tensor:
    """CLIP's objective: every image has to find its text in the batch, and every text its image."""
    images, ids, last = batch
    one = module.image(images)
    other = module.text(ids[:, : int(last.max()) + 1], last)
    log_scale = module.log_scale.clamp(max=MOST)
    spread, rank = spread_and_rank(step.gather(one))
    step.note(scale=log_scale.exp(), spread=spread, rank=rank)
    return paired_losses(one, other, log_scale, step)
