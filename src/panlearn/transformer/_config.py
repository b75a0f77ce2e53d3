"""The shape of a decoder: what a configuration composes it of."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

from panlearn.core.parameters import Bounds, NonNegative, Positive, check_parameters
from panlearn.core.value import Value
from panlearn.transformer._positions import RotaryScaling


@dataclass(frozen=True)
class LatentConfig(Value):
    r"""Sizes of latent attention; see `LatentAttention`.

    .. math:: n_{\text{numbers kept a token and layer}} = d_c + d_r

    Parameters
    ----------
    rank : int, default=512
        Width d_c of the latent that keys and values are made of.
    query_rank : int, default=1536
        Width of the latent that queries are made of; None makes them of the token itself.
    head_width : int, default=128
        Coordinates of a key without its position.
    rotary_width : int, default=64
        Coordinates d_r of the part that is turned by its position, which all heads share.
    value_width : int, default=128
        Coordinates of a value.
    adjacent : bool, default=True
        Whether neighbouring coordinates are turned together; else those half a key apart.

    References
    ----------
    DeepSeek-AI (2024). DeepSeek-V2: a strong, economical, and efficient mixture-of-experts language
    model. https://arxiv.org/abs/2405.04434

    Examples
    --------
    >>> from panlearn.transformer import LatentConfig
    >>> shape = LatentConfig()
    >>> shape.rank + shape.rotary_width
    576
    """

    rank: Positive[int] = 512
    query_rank: Positive[int] | None = 1536
    head_width: Positive[int] = 128
    rotary_width: Positive[int] = 64
    value_width: Positive[int] = 128
    adjacent: bool = True

    def __post_init__(self) -> None:
        check_parameters(self)
        if self.rotary_width % 2:
            raise ValueError(f"rotary_width turns pairs; it must be even; got {self.rotary_width}")


@dataclass(frozen=True)
class ExpertsConfig(Value):
    r"""Sizes of a mixture of experts; see `MixtureOfExperts`.

    .. math:: n_{\text{numbers used a token}} = 3 d h (n_{\text{shared}} + n_{\text{chosen}})

    Parameters
    ----------
    n_experts : int, default=8
        Experts among which a token chooses.
    n_chosen : int, default=2
        How many it chooses.
    hidden : int, default=64
        Width h of the hidden layer of each.
    n_shared : int, default=0
        Experts that see every token besides.
    gate : {"softmax", "sigmoid"}, default="softmax"
        What makes weights of scores.
    normalise : bool, default=True
        Whether the weights of the chosen ones sum to one.
    scale : float, default=1.0
        Multiplies the weights.
    n_groups : int, default=1
        Groups of experts of equal size.
    n_chosen_groups : int, default=1
        The groups among whose experts a token chooses.
    n_dense : int, default=0
        The first layers that have no experts.
    balance_rate : float, default=0.0
        By how much a step moves the bias of an expert that had too much or too little to do.

    References
    ----------
    DeepSeek-AI (2024). DeepSeek-V3 technical report. https://arxiv.org/abs/2412.19437

    Examples
    --------
    >>> from panlearn.transformer import ExpertsConfig
    >>> ExpertsConfig(n_experts=256, n_chosen=8, n_groups=8, n_chosen_groups=4).gate
    'softmax'
    """

    n_experts: Positive[int] = 8
    n_chosen: Positive[int] = 2
    hidden: Positive[int] = 64
    _: KW_ONLY
    n_shared: NonNegative[int] = 0
    gate: Literal["softmax", "sigmoid"] = "softmax"
    normalise: bool = True
    scale: Positive[float] = 1.0
    n_groups: Positive[int] = 1
    n_chosen_groups: Positive[int] = 1
    n_dense: NonNegative[int] = 0
    balance_rate: NonNegative[float] = 0.0

    def __post_init__(self) -> None:
        check_parameters(self)
        if self.n_experts % self.n_groups:
            raise ValueError(f"n_groups={self.n_groups} does not divide {self.n_experts} experts")
        if self.n_chosen_groups > self.n_groups:
            raise ValueError(f"n_chosen_groups={self.n_chosen_groups} of {self.n_groups} groups")
        if self.balance_rate and self.gate == "softmax":
            raise ValueError("a bias balances gates that are sigmoid; with softmax set it to zero")
        allowed = self.n_experts // self.n_groups * self.n_chosen_groups
        if self.n_chosen > allowed:
            raise ValueError(f"n_chosen={self.n_chosen}, but a token sees {allowed} experts")


@dataclass(frozen=True)
class GPTConfig(Value):
    r"""The shape of a decoder; `gpt2`, `llama` and `deepseek` give those of families.

    .. math::
        N_{\text{parameters}} = L (12 d^2 + 13 d) + V d + C d + 2 d

    is the number of parameters of a GPT-2 of L layers, width d, context C and V tokens.

    Parameters
    ----------
    n_layers : int, default=2
        Blocks L.
    width : int, default=32
        Coordinates d of a token.
    n_heads : int, default=2
        Heads of queries in each block.
    context : int, default=64
        The most tokens C that are seen at once.
    n_key_heads : int, default=None
        Heads of keys and values, shared by groups of heads; as many as heads if None.
    head_width : int, default=None
        Coordinates of a head; width / n_heads if None.
    hidden : int, default=None
        Width of the feed-forward layer; four times the width if None.
    positions : {"learned", "sinusoidal", "rotary"}, default="learned"
        A table that is learned or fixed and added to the tokens, or rotations of queries and keys.
    rotary_base : float, default=10000.0
        The base of the wave lengths of fixed and rotary positions.
    rotary_scaling : RotaryScaling, default=None
        How rotations are slowed down for texts longer than those of the training.
    window : int, default=None
        How many tokens one sees, itself included; all before it if None.
    norm : {"layer", "rms"}, default="layer"
        Centre and scale each token, or only scale it.
    norm_epsilon : float, default=1e-05
        Is added to the variance there.
    key_norm : bool, default=False
        Whether each head of queries and keys is scaled by its root mean square.
    latent : LatentConfig, default=None
        Makes attention latent, of these sizes.
    activation : {"gelu", "relu", "swiglu"}, default="gelu"
        Of the feed-forward layer; "gelu" is the approximation by tanh, "swiglu" has a gate.
    experts : ExpertsConfig, default=None
        Makes feed-forward layers mixtures of experts, which are gated.
    bias : bool, default=True
        Whether projections have constants.
    query_bias : bool, default=None
        Whether those to queries, keys and values have; as `bias` says if None.
    tied : bool, default=True
        Whether the table of tokens is also the last projection.
    n_ahead : int, default=0
        How many tokens after the next one are predicted too; see `MultiTokenPrediction`.
    ahead_weight : float, default=0.3
        The share of their mean loss in that of training.
    dropout : float, default=0.0
        Probability of leaving a value out in training, after the embedding, in attention and at
        the end of each branch.

    References
    ----------
    Radford, A. et al. (2019). Language models are unsupervised multitask learners. OpenAI.

    Touvron, H. et al. (2023). LLaMA: open and efficient foundation language models.
    https://arxiv.org/abs/2302.13971

    Jiang, A. et al. (2023). Mistral 7B. https://arxiv.org/abs/2310.06825

    DeepSeek-AI (2024). DeepSeek-V3 technical report. https://arxiv.org/abs/2412.19437

    Examples
    --------
    >>> from panlearn.transformer import GPTConfig
    >>> GPTConfig.llama(n_layers=4, n_heads=4, n_key_heads=2).positions
    'rotary'
    """

    n_layers: Positive[int] = 2
    width: Positive[int] = 32
    n_heads: Positive[int] = 2
    context: Positive[int] = 64
    _: KW_ONLY
    n_key_heads: Positive[int] | None = None
    head_width: Positive[int] | None = None
    hidden: Positive[int] | None = None
    positions: Literal["learned", "sinusoidal", "rotary"] = "learned"
    rotary_base: Positive[float] = 10_000.0
    rotary_scaling: RotaryScaling | None = None
    window: Positive[int] | None = None
    norm: Literal["layer", "rms"] = "layer"
    norm_epsilon: Positive[float] = 1e-5
    key_norm: bool = False
    latent: LatentConfig | None = None
    activation: Literal["gelu", "relu", "swiglu"] = "gelu"
    experts: ExpertsConfig | None = None
    bias: bool = True
    query_bias: bool | None = None
    tied: bool = True
    n_ahead: NonNegative[int] = 0
    ahead_weight: NonNegative[float] = 0.3
    dropout: Annotated[float, Bounds(0, 1, closed_low=True)] = 0.0

    def __post_init__(self) -> None:
        check_parameters(self)
        if self.latent is not None:
            if self.positions != "rotary":
                raise ValueError(f"latent attention turns keys; got positions={self.positions!r}")
            if self.window is not None:
                raise ValueError(f"latent attention sees all tokens; got window={self.window}")
            return
        if self.head_width is None and self.width % self.n_heads:
            raise ValueError(f"width={self.width} is not a multiple of n_heads={self.n_heads}")
        if self.n_key_heads is not None and self.n_heads % self.n_key_heads:
            raise ValueError(f"n_key_heads={self.n_key_heads} does not divide {self.n_heads} heads")
        turned = {"rotary": self.head_size, "sinusoidal": self.width}.get(self.positions, 0)
        if turned % 2:
            raise ValueError(f"positions={self.positions!r} need an even width; got {turned}")

    @classmethod
    def gpt2(cls, **changes: Any) -> GPTConfig:
        """Give the smallest GPT-2, with what is changed: 12 layers, 768 wide, context 1024."""
        sizes = {"n_layers": 12, "width": 768, "n_heads": 12, "context": 1024}
        return cls(**{**sizes, **changes})

    @classmethod
    def llama(cls, **changes: Any) -> GPTConfig:
        """Give the first Llama, with what is changed: 32 layers, 4096 wide, context 2048."""
        sizes = {"n_layers": 32, "width": 4096, "n_heads": 32, "context": 2048}
        style = {"positions": "rotary", "norm": "rms", "activation": "swiglu", "bias": False}
        if not {"width", "hidden"} & set(changes):
            sizes["hidden"] = 11008
        return cls(**{**sizes, **style, "norm_epsilon": 1e-6, "tied": False, **changes})

    @classmethod
    def deepseek(cls, **changes: Any) -> GPTConfig:
        """Give DeepSeek V3, with what is changed: 61 layers, 7168 wide, 256 experts, context 4096.

        If the width is changed, latents and experts get sizes in its proportion.
        """
        width = changes.get("width", 7168)
        sizes = {"n_layers": 61, "width": 7168, "n_heads": 128, "context": 4096, "n_ahead": 1}
        latent, experts = LatentConfig(), {"n_experts": 256, "n_chosen": 8, "hidden": 2048}
        groups = {"n_groups": 8, "n_chosen_groups": 4, "n_dense": 3}
        hidden = 18432
        if width != 7168:
            size = max(2, width // changes.get("n_heads", 128))
            latent = LatentConfig(2 * size, 3 * size, size, size - size % 2, size)
            experts = {"n_experts": 8, "n_chosen": 2, "hidden": width}
            groups = {"n_groups": 2, "n_chosen_groups": 1, "n_dense": 1}
            hidden = 3 * width
        rule: dict[str, Any] = {"gate": "sigmoid", "scale": 2.5, "n_shared": 1}
        rule["balance_rate"] = 1e-3
        parts = {"latent": latent, "experts": ExpertsConfig(**{**rule, **experts, **groups})}
        return cls.llama(**{**sizes, **parts, "hidden": hidden, **changes})

    @property
    def head_size(self) -> int:
        """Coordinates of a head."""
        return self.head_width or self.width // self.n_heads

    @property
    def hidden_size(self) -> int:
        """Width of the feed-forward layer."""
        return self.hidden or 4 * self.width

    @property
    def rotary_width(self) -> int:
        """Coordinates of a head that are turned."""
        return self.head_size if self.latent is None else self.latent.rotary_width
