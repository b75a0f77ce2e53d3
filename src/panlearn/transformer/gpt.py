"""A language model: a decoder, a tokenizer, and the ways to train, question and continue it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import torch

from panlearn.text import BPETokenizer
from panlearn.transformer import _checkpoint
from panlearn.transformer._corpus_model import CorpusModel
from panlearn.transformer._decoder import Decoder, GPTConfig


@dataclass(eq=False, repr=False)
class GPT(CorpusModel):
    r"""A decoder that predicts the next token, trained on documents or read from a file.

    .. math::
        p(x_1, \dots, x_T) = \prod_{t=1}^{T} p_\theta(x_t \mid x_1, \dots, x_{t-1}), \qquad
        \min_\theta \; -\frac1N \sum_{\text{documents}} \sum_t
        \log p_\theta(x_t \mid x_{t-C}, \dots, x_{t-1})

    Parameters
    ----------
    config : GPTConfig, default=None
        The shape of the decoder; that of GPT-2 with two layers of width 32 if None.
    tokenizer : BPETokenizer, default=None
        One that is fitted is used as it is; else a copy of it is fitted to the documents. None
        takes bytes as tokens. The first special token stands between documents.

    Attributes
    ----------
    weights_ : dict of {str: ndarray}
        What was learned.
    tokenizer_ : BPETokenizer or None
        Text to tokens and back; None if a folder had no tokenizer.
    config_ : GPTConfig
        The shape of the decoder.
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
    Documents follow each other in one stream, and training looks at windows of it: the start of a
    window may be the middle of a document. A step costs :math:`O(B C (P + L C d))`, P parameters.

    Generation keeps keys and values of every layer, so that a token costs :math:`O(P + L C d)`.
    Prompts of different lengths share a batch, and each row has a random stream of its own, made of
    the seed, its prompt and how often the prompt came before: a row's text does not depend on the
    others. A text longer than the context goes on from its last half.

    References
    ----------
    Radford, A. et al. (2019). Language models are unsupervised multitask learners. OpenAI.

    Touvron, H. et al. (2023). LLaMA: open and efficient foundation language models.
    https://arxiv.org/abs/2302.13971

    Holtzman, A. et al. (2020). The curious case of neural text degeneration. ICLR.
    https://arxiv.org/abs/1904.09751

    Examples
    --------
    >>> from panlearn.transformer import GPT, GPTConfig
    >>> model = GPT(GPTConfig(2, 32, 2, 16), learning_rate=1e-2, max_epochs=99, random_state=0)
    >>> model.fit(["ab" * 50]).generate("a", max_tokens=5)
    'babab'
    >>> bool(model.perplexity(["abab"]) < 20)
    True
    """

    config: GPTConfig | None = None

    @staticmethod
    def _default() -> GPTConfig:
        return GPTConfig()

    def _build(self) -> Decoder:
        return Decoder(self.config_, self.n_tokens_)

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str], *, device: str = "cpu") -> Self:
        """Read a GPT-2 or Llama from a folder of Hugging Face: safetensors, never pickle.

        The model has ``warm_start=True``: `fit` goes on from the weights and keeps the tokenizer.

        Parameters
        ----------
        folder : path
            Holds ``config.json``, ``model.safetensors`` or its shards with their index, and if
            texts are to be used ``tokenizer.json``.
        device : str, default="cpu"
            Where the decoder computes.

        Returns
        -------
        GPT
            As if it were fitted.
        """
        config, weights, facts = _checkpoint.read(folder)
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
        _checkpoint.write(folder, self.config_, self.weights_, **self._marks())
        if self.tokenizer_ is not None:
            self.tokenizer_.to_huggingface(Path(folder) / "tokenizer.json")

    def attention_maps(self, text: str) -> np.ndarray:
        """Say which tokens of a text look at which.

        Parameters
        ----------
        text : str
            Up to as many tokens as the context has.

        Returns
        -------
        ndarray of shape (n_layers, n_heads, n, n)
            Rows look at columns and sum to one; n is the number of tokens.
        """
        self._require_fitted()
        (ids,) = self._ids([text], "text")
        if not 0 < len(ids) <= self.config_.context:
            raise ValueError(f"text has {len(ids)} tokens; allowed are 1 to {self.config_.context}")
        rows = torch.from_numpy(ids)[None].to(self.device)
        with torch.inference_mode():
            return self._decoder.attention_maps(rows)[:, 0].cpu().numpy()
