"""A decoder behind scikit-learn's contract: trained on documents, read from and written to folders.

`GPT` and `DeepSeek` are this with the shape of a family as default.
"""

from __future__ import annotations

import functools
import os
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Self

import numpy as np
import torch

from panlearn.text import BPETokenizer
from panlearn.transformer import _checkpoint
from panlearn.transformer._config import GPTConfig
from panlearn.transformer._corpus_model import CorpusModel
from panlearn.transformer._decoder import Decoder
from panlearn.transformer._language import (
    balanced_losses,
    next_token_losses,
    training_losses,
)


@dataclass(eq=False, repr=False)
class DecoderModel(CorpusModel):
    """A language model whose module is a `Decoder`; abstract."""

    config: GPTConfig | None = None
    _: KW_ONLY
    separate_documents: bool = False

    @staticmethod
    @abstractmethod
    def _default() -> GPTConfig:
        """Give the shape that is taken if none is given."""

    def _objective(self) -> Callable:
        """The loss of training: of the next token, and what the configuration adds to it."""
        config = self.config_
        if config.experts is None and not config.n_ahead and not self.separate_documents:
            return next_token_losses
        if self.separate_documents and self.end_token_ is None:
            raise ValueError("separate_documents needs a token between them, and there is none")
        balanced = config.experts is not None and config.experts.balance_rate > 0
        separator = self.end_token_ if self.separate_documents else None
        objective = balanced_losses if balanced else training_losses
        return functools.partial(objective, separator=separator)

    def _build(self) -> Decoder:
        return Decoder(self.config_, self.n_tokens_)

    @classmethod
    def from_pretrained(
        cls,
        folder: str | os.PathLike[str],
        *,
        device: str = "cpu",
        dtype: str = "float32",
        tokenizer: BPETokenizer | str | None = "folder",
    ) -> Self:
        """Read a model from a folder of Hugging Face: safetensors, never pickle.

        What can be read are GPT-2, Llama 1 to 3.2, Mistral, Qwen 2 and 3, Mixtral and DeepSeek V3.
        The model has ``warm_start=True``: `fit` goes on from the weights and keeps the tokenizer.

        Parameters
        ----------
        folder : path
            Holds ``config.json``, ``model.safetensors`` or its shards with their index, and if
            texts are to be used ``tokenizer.json``.
        device : str, default="cpu"
            Where the decoder computes.
        dtype : {"float32", "bfloat16", "float16", "auto"}, default="float32"
            The precision of weights and of what is computed with them; "auto" is that of the file.
            `fit` trains in single precision whatever it is.
        tokenizer : BPETokenizer or None, default="folder"
            One to use in place of that in the folder; None if token ids will do.

        Returns
        -------
        self
            As if it were fitted.
        """
        config, weights, facts = _checkpoint.read(folder, dtype=dtype)
        file = Path(folder) / "tokenizer.json"
        if isinstance(tokenizer, str):
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
