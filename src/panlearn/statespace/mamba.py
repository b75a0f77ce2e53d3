"""A language model whose memory has one size: Mamba."""

from __future__ import annotations

import os
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from panlearn.core.parameters import Count
from panlearn.statespace import _mamba_checkpoint
from panlearn.statespace._mamba import MambaConfig, MambaDecoder
from panlearn.statespace._mamba_generation import MambaGeneration
from panlearn.text import BPETokenizer
from panlearn.transformer._corpus_model import CorpusModel


@dataclass(eq=False, repr=False)
class Mamba(CorpusModel):
    r"""A selective state space that predicts the next token, trained on documents or read.

    .. math::
        h_t = e^{\Delta_t A} h_{t-1} + \Delta_t B_t u_t, \qquad y_t = C_t h_t + D u_t, \qquad
        (\Delta_t, B_t, C_t) \text{ functions of } u_t

    in each block: what is written to the state, kept and read depends on the input. Trained as

    .. math::
        \min_\theta \; -\frac1N \sum_t \log p_\theta(x_t \mid x_1, \dots, x_{t-1})

    Parameters
    ----------
    config : MambaConfig, default=None
        The shape; two layers of width 32 if None.
    tokenizer : BPETokenizer, default=None
        One that is fitted is used as it is; else a copy of it is fitted to the documents. None
        takes bytes as tokens. The first special token stands between documents.
    window : int, default=64
        Tokens that are seen at once in training. Afterwards there is no limit.

    Attributes
    ----------
    weights_ : dict of {str: ndarray}
        What was learned. Matrices that stay bfloat16, which NumPy has not, stand as their bits in
        uint16.
    tokenizer_ : BPETokenizer or None
        Text to tokens and back; None if a folder had no tokenizer.
    config_ : MambaConfig
        The shape.
    n_tokens_ : int
        Size of the vocabulary.
    start_token_, end_token_ : int or None
        Stand before and after a document.
    end_tokens_ : tuple of int
        All tokens that end a text; some models have several.
    n_iter_ : int
        Epochs.
    converged_ : bool
        Whether training ended by itself.
    history_ : dict of {str: list}
        Losses of each epoch, and the rest that `neural.train` notes.

    Notes
    -----
    A step of training costs :math:`O(B T (P + L E N))`, linear in the length T of a window. States
    of a stretch of steps are made at once, and made again on the way back: memory is that of a
    stretch, see the module ``_scan``.

    Generation keeps of the past the state of each channel and its last inputs: a token costs
    :math:`O(P + L E N)` time, and what is kept takes :math:`L E (N + K - 1)` numbers, whatever the
    length. A prompt may be of any length. Prompts of different lengths share a batch, and each row
    has a random stream of its own, as in `panlearn.transformer.GPT`. `perplexity` reads a document
    from its start, without windows.

    References
    ----------
    Gu, A. and Dao, T. (2023). Mamba: linear-time sequence modeling with selective state spaces.
    https://arxiv.org/abs/2312.00752

    Examples
    --------
    >>> from panlearn.statespace import Mamba, MambaConfig
    >>> model = Mamba(MambaConfig(1, 16), window=16, learning_rate=2e-2, random_state=0)
    >>> model.set_params(max_epochs=99).fit(["ab" * 50]).generate("a", max_tokens=5)
    'babab'
    """

    config: MambaConfig | None = None
    _: KW_ONLY
    window: Count = 64

    @staticmethod
    def _default() -> MambaConfig:
        return MambaConfig()

    @property
    def _window(self) -> int:
        return int(self.window)

    def _build(self) -> MambaDecoder:
        return MambaDecoder(self.config_, self.n_tokens_)

    def _generation(self, prompts: list[np.ndarray], **how: Any) -> MambaGeneration:
        for of_no_use in ("max_tokens", "ends", "ahead"):  # no room has to be made for tokens
            del how[of_no_use]
        decoder: Any = self._decoder
        return MambaGeneration(decoder, prompts, **how)

    @classmethod
    def from_pretrained(
        cls, folder: str | os.PathLike[str], *, device: str = "cpu", dtype: str = "float32"
    ) -> Self:
        """Read a Mamba from a folder of Hugging Face: safetensors, never pickle.

        The model has ``warm_start=True``: `fit` goes on from the weights and keeps the tokenizer.

        Parameters
        ----------
        folder : path
            Holds ``config.json``, ``model.safetensors`` or its shards with their index, and if
            texts are to be used ``tokenizer.json``.
        device : str, default="cpu"
            Where the module computes.
        dtype : {"float32", "bfloat16", "float16", "auto"}, default="float32"
            The precision of the matrices and of products with them; "auto" is that of the file.
            States, and what decides on them, are in single precision; so does `fit` train.

        Returns
        -------
        Mamba
            As if it were fitted.
        """
        config, weights, facts = _mamba_checkpoint.read(folder, dtype=dtype)
        file = Path(folder) / "tokenizer.json"
        tokenizer = BPETokenizer.from_huggingface(file) if file.is_file() else None
        return cls._of_folder(config, weights, facts, tokenizer, device)

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Write a folder that the transformers package and `from_pretrained` read.

        Parameters
        ----------
        folder : path
            Is made if need be.
        """
        self._require_fitted()
        _mamba_checkpoint.write(folder, self.config_, self.weights_, **self._marks())
        if self.tokenizer_ is not None:
            self.tokenizer_.to_huggingface(Path(folder) / "tokenizer.json")
