"""A recurrent encoder, and a decoder that attends to it: sequences in, sequences out."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from torch import Tensor, nn

from panlearn.core.parameters import BelowOne, Count, Positive
from panlearn.neural._attention import EncoderDecoder, search
from panlearn.neural._sequence_pairs import SequencePairs


@dataclass(eq=False, repr=False)
class RecurrentSeq2Seq(SequencePairs):
    r"""A source read in both directions, and a decoder that looks at all of it at every step.

    .. math::
        e_{ij} = v^\top \tanh(W s_{i-1} + U h_j), \quad
        \alpha_i = \operatorname{softmax}(e_i), \quad
        c_i = \sum_j \alpha_{ij} h_j, \quad
        s_i = f(s_{i-1}, [y_{i-1}; c_i])

    Parameters
    ----------
    hidden_size : int, default=64
        Numbers in the decoder's state s; h has half of them in each direction.
    cell : {"gru", "lstm", "elman"}, default="gru"
        The step f, of encoder and decoder.
    embedding_size : int, default=32
        Numbers that stand for a symbol.
    dropout : float, default=0.0
        The share of embeddings and states that are left out in training, below one.

    Notes
    -----
    Sources and targets are lists of sequences of symbols of any kinds and lengths. In training the
    decoder is given the true symbols before each step; an end symbol closes every target, and
    `predict` stops at it. The decoder starts from the encoder's last backward state. Padding of
    sources gets no attention, and padding of targets no loss. The beam sums logarithms of
    probabilities and does not divide by the length. A pair costs :math:`O((S + T) h^2 + S T h)` for
    S symbols of the source, T of the target and h units.

    References
    ----------
    D. Bahdanau, K. Cho and Y. Bengio (2015). Neural machine translation by jointly learning to
    align and translate. ICLR. arXiv:1409.0473

    I. Sutskever, O. Vinyals and Q. V. Le (2014). Sequence to sequence learning with neural
    networks. NeurIPS. arXiv:1409.3215

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.neural import RecurrentSeq2Seq
    >>> rng = np.random.default_rng(0)
    >>> words = [rng.choice(list("abc"), size=rng.integers(1, 4)) for _ in range(200)]
    >>> model = RecurrentSeq2Seq(32, max_epochs=12, learning_rate=0.02, random_state=0)
    >>> model = model.fit(words, [word[::-1] for word in words])
    >>> print(*model.predict(list("abb")))
    b b a
    >>> model.alignment([list("abb")])[0].shape  # of b, b, a and the end
    (4, 3)
    """

    hidden_size: Count = 64
    _: KW_ONLY
    cell: Literal["gru", "lstm", "elman"] = "gru"
    embedding_size: Count = 32
    dropout: BelowOne = 0.0
    learning_rate: Positive[float] = 5e-3

    def _build(self) -> nn.Module:
        n_sources, n_targets = len(self.symbols_), len(self.target_symbols_)
        sizes = int(self.embedding_size), int(self.hidden_size)
        return EncoderDecoder(self.cell, n_sources, n_targets, *sizes, self.dropout)

    def _checked(self) -> dict[str, Any]:
        return {}

    def _scores(self, module: Any, source: Tensor, lengths: Tensor, target: Tensor) -> Tensor:
        return module(source, lengths, target)[0]

    def _looks(self, module: Any, source: Tensor, lengths: Tensor, target: Tensor) -> Tensor:
        return module(source, lengths, target)[1]

    def _search(self, module: Any, source: Tensor, lengths: Tensor) -> list[list[int]]:
        return search(module, source, lengths, int(self.beam_width), self.max_length_)
