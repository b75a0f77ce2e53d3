"""The encoder-decoder of the original paper: sequences in, sequences out."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from torch import Tensor, nn

from panlearn.core.parameters import BelowOne, Count, NonNegative, Positive
from panlearn.neural._sequence_pairs import SequencePairs
from panlearn.text import UnigramTokenizer
from panlearn.transformer import _t5_files
from panlearn.transformer._seq2seq import EncoderDecoder, search
from panlearn.transformer._t5 import T5, T5Config


class _Learned:
    """What `fit` sets; here, and not among the fields."""

    config_: T5Config | None


@dataclass(eq=False, repr=False)
class Seq2Seq(SequencePairs, _Learned):
    r"""A transformer that reads a source and writes a target, looking at both.

    .. math::
        p(y_1, \ldots, y_T \mid x) = \prod_{t=1}^{T} p_\theta(y_t \mid y_1, \ldots, y_{t-1}, x)

    Parameters
    ----------
    width : int, default=64
        Coordinates of a symbol, an even number.
    n_layers : int, default=2
        Blocks of the encoder, and of the decoder.
    n_heads : int, default=4
        Heads of attention.
    hidden : int, default=None
        Width of the feed-forward layers; four times the width if None.
    dropout : float, default=0.1
        The share of values that are left out in training, below one.
    norm_first : bool, default=False
        Whether norms stand before the branches, with one more at each end, and not after the sums
        as in the paper.
    warmup : int, default=100
        Steps over which the learning rate rises, with the schedule "inverse_sqrt".
    schedule : str, callable or class, default="inverse_sqrt"
        The factor of the learning rate over time: "inverse_sqrt" rises linearly to 1 and falls with
        the root of the step; else as in `neural.train`.
    length_penalty : float, default=0.6
        The power :math:`\alpha`: answers are compared by
        :math:`\log p(y \mid x) / ((5 + T) / 6)^\alpha`, T with the end.

    Attributes
    ----------
    config_ : T5Config or None
        The shape of a T5 that was read; None for the one of the paper, which the fields tell.
    tokenizer_ : UnigramTokenizer or None
        What a T5 was read with, if its folder has one: then sources and targets may be texts.

    Notes
    -----
    Sources and targets are lists of sequences of symbols of any kinds and lengths. In training all
    symbols of a target are predicted at once, each from the true ones before it; an end symbol
    closes every target, and `predict` stops at it. Padding is not looked at, so that an answer does
    not depend on the others of a batch. The decoder keeps keys and values, of the source once and
    of the target as it grows: a symbol costs :math:`O(P + L d (S + T))`. A search ends when no
    beginning can become better than the best answer that has ended. The tables of sources and
    targets and the last layer are three; the paper shares one among them.

    A T5 that `from_pretrained` reads has the parts of its own that `T5Config` names. In training
    it leaves out no weights of attention.

    References
    ----------
    Vaswani, A. et al. (2017). Attention is all you need. Advances in Neural Information Processing
    Systems 30. https://arxiv.org/abs/1706.03762

    Raffel, C. et al. (2020). Exploring the limits of transfer learning with a unified text-to-text
    transformer. Journal of Machine Learning Research 21. https://arxiv.org/abs/1910.10683

    Wu, Y. et al. (2016). Google's neural machine translation system: bridging the gap between human
    and machine translation. https://arxiv.org/abs/1609.08144

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.transformer import Seq2Seq
    >>> rng = np.random.default_rng(0)
    >>> words = [rng.choice(list("abc"), size=rng.integers(1, 4)) for _ in range(200)]
    >>> model = Seq2Seq(32, n_heads=2, dropout=0.0, n_layers=1, max_epochs=40, warmup=50,
    ...                 learning_rate=1e-2, random_state=0)
    >>> model = model.fit(words, [word[::-1] for word in words])
    >>> print(*model.predict(list("abb")))
    b b a
    >>> model.alignment([list("abb")])[0].shape  # of b, b, a and the end
    (4, 3)
    """

    width: Count = 64
    _: KW_ONLY
    n_layers: Count = 2
    n_heads: Count = 4
    hidden: Count | None = None
    dropout: BelowOne = 0.1
    norm_first: bool = False
    label_smoothing: BelowOne = 0.1
    warmup: Count = 100
    schedule: str | Callable = "inverse_sqrt"
    length_penalty: NonNegative[float] = 0.6
    learning_rate: Positive[float] = 3e-3

    def _build(self) -> nn.Module:
        if (config := getattr(self, "config_", None)) is not None:
            return T5(config, dropout=self.dropout)
        n_sources, n_targets = len(self.symbols_), len(self.target_symbols_)
        return EncoderDecoder(
            *(n_sources, n_targets, self.width, self.n_heads, self.hidden or 4 * self.width),
            self.n_layers,
            dropout=self.dropout,
            norm_before=self.norm_first,
        )

    @classmethod
    def from_pretrained(
        cls,
        folder: str | PathLike[str],
        *,
        max_length: int = 128,
        device: str = "cpu",
        tokenizer: UnigramTokenizer | str | None = "folder",
    ) -> Self:
        """Read a T5 from a folder of Hugging Face: safetensors, never pickle.

        Sources and targets are texts, or the numbers of their tokens. A source of numbers ends with
        the end token, as what the tokenizer of T5 makes of a text does; targets are without it. The
        model has ``warm_start=True``: `fit` goes on from the weights.

        Parameters
        ----------
        folder : path
            Holds ``config.json``, ``model.safetensors`` or its shards with their index, and if
            texts are to be used ``tokenizer.json``.
        max_length : int, default=128
            The most tokens that `predict` gives.
        device : str, default="cpu"
            Where the module computes.
        tokenizer : UnigramTokenizer or None, default="folder"
            One to use in place of that in the folder; None if numbers of tokens will do.

        Returns
        -------
        Seq2Seq
            As if it were fitted. Its ``length_penalty`` is zero.
        """
        config, weights, dropout = _t5_files.read(folder)
        file = Path(folder) / "tokenizer.json"
        if isinstance(tokenizer, str):
            tokenizer = UnigramTokenizer.from_huggingface(file) if file.is_file() else None
        if tokenizer is not None and tokenizer.n_tokens > config.n_tokens:
            raise ValueError(
                f"the tokenizer has {tokenizer.n_tokens} tokens, the model {config.n_tokens}; give "
                "the one that it was trained with, or tokenizer=None"
            )
        model = cls(
            config.width,
            n_layers=config.n_layers,
            n_heads=config.n_heads,
            hidden=config.hidden,
            dropout=dropout,
            norm_first=True,
            length_penalty=0.0,
            warm_start=True,
            device=device,
        )
        model.config_, model.weights_, model.max_length_ = config, weights, max_length
        model.symbols_ = np.arange(config.n_tokens)
        model.target_symbols_ = np.delete(model.symbols_, config.end)
        model.tokenizer_ = tokenizer
        return model

    def _checked(self) -> dict[str, Any]:
        if not (self.warm_start and "weights_" in vars(self)):
            self.config_ = self.tokenizer_ = None
            self._check_shape()
        if self.schedule == "inverse_sqrt":
            return {"schedule": functools.partial(inverse_root, warmup=self.warmup)}
        return {}

    def _check_shape(self) -> None:
        if self.width % self.n_heads or self.width % 2:
            raise ValueError(
                f"width={self.width} must be even and a multiple of n_heads={self.n_heads}"
            )

    def _scores(self, module: Any, source: Tensor, lengths: Tensor, target: Tensor) -> Tensor:
        return module(source, lengths, target)

    def _looks(self, module: Any, source: Tensor, lengths: Tensor, target: Tensor) -> Tensor:
        return module.alignment(source, lengths, target)

    def _search(self, module: Any, source: Tensor, lengths: Tensor) -> list[list[int]]:
        width, penalty = int(self.beam_width), self.length_penalty
        return search(module, source, lengths, width, self.max_length_, penalty)


def inverse_root(step: Any, warmup: int) -> Any:
    r"""The schedule of the paper, :math:`\sqrt w \min(k^{-1/2}, k w^{-3/2})`, which reaches 1."""
    k = np.asarray(step) + 1.0
    return np.minimum(np.sqrt(warmup / k), k / warmup)
