"""A language model: a decoder, a tokenizer, and the ways to train, question and continue it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from panlearn.core.capabilities import ANYWHERE, Capabilities
from panlearn.core.estimator import fitting
from panlearn.core.parameters import Count, NonNegative, Positive
from panlearn.core.random import generator
from panlearn.text import BPETokenizer
from panlearn.transformer import _checkpoint
from panlearn.transformer._decoder import Decoder, GPTConfig
from panlearn.transformer._language import Windows, check_tokens, held_out, next_token_losses
from panlearn.transformer._language_model import LanguageModel
from panlearn.transformer._texts import END, encode_corpus


@dataclass(eq=False, repr=False)
class GPT(LanguageModel):
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

    capabilities = Capabilities(sources=ANYWHERE)

    config: GPTConfig | None = None
    tokenizer: BPETokenizer | None = None
    _: KW_ONLY
    batch_size: Count = 16
    schedule: str | Callable = "warmup_cosine"
    weight_decay: NonNegative[float] = 0.1
    clip_norm: Positive[float] | None = 1.0

    @fitting
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from documents.

        Parameters
        ----------
        X : iterable of str or of list of str, Batches, Dask bag, or array of token ids
            Documents, which are strung together in their order; or one stream of tokens that is
            ready, such as ``np.memmap("tokens.bin", dtype=np.uint16, mode="r")``, which stays on
            disk.
        y : object, default=None
            Ignored.

        Returns
        -------
        GPT
            The model itself.
        """
        tokens = self._tokens(X)
        held = self._held_fraction
        cut = len(tokens) - int(held * len(tokens))
        context, validation = self.config_.context, None
        if held:
            if min(cut, len(tokens) - cut) < 2:
                raise ValueError(
                    f"validation_fraction={held} of {len(tokens)} tokens "
                    "leaves too few to learn from or to measure on"
                )
            validation = (held_out(tokens[cut:], context),)
        windows = Windows(tokens[:cut], context, self.batch_size)
        rng = generator(self.random_state)
        module = self._initial(rng)
        self._learn(module, next_token_losses, windows, rng, validation=validation)
        return self

    def _tokens(self, X: Any) -> np.ndarray:
        """Read the documents as one stream; learn how, unless that is known from before."""
        known = self.warm_start and "weights_" in vars(self)
        ready = isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype.kind in "iu"
        if not known:
            self.config_ = self.config or GPTConfig()
        if ready:
            tokens = check_tokens(X, self.n_tokens_ if known else None)
            if not known:
                self.tokenizer_ = self.tokenizer
                self.n_tokens_ = int(tokens.max()) + 1
        elif known and self.tokenizer_ is None:
            raise ValueError("this model has no tokenizer; give an array of token ids")
        else:
            fit = self._known_tokenizer if known else self._fit_tokenizer
            self.tokenizer_, tokens = encode_corpus(self, X, fit)
        if not known:
            special = {}
            if self.tokenizer_ is not None:
                self.n_tokens_ = max(self.tokenizer_.n_tokens, self.n_tokens_ if ready else 0)
                special = self.tokenizer_.special_tokens_
            self.start_token_ = self.end_token_ = next(iter(special.values()), None)
            self.end_tokens_ = () if self.end_token_ is None else (self.end_token_,)
        return tokens

    def _known_tokenizer(self, X: Any) -> BPETokenizer:
        assert self.tokenizer_ is not None
        return self.tokenizer_

    def _fit_tokenizer(self, X: Any) -> BPETokenizer:
        if self.tokenizer is None:
            return BPETokenizer(257, special_tokens=(END,)).fit(X)
        if self.tokenizer.__sklearn_is_fitted__():
            if not self.tokenizer.special_tokens_:
                raise ValueError(
                    f"tokenizer has no special token to put between documents, such as {END!r}"
                )
            return self.tokenizer
        made = clone(self.tokenizer)
        if not made.special_tokens:
            made.set_params(special_tokens=(END,))
        return made.fit(X)

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
        model = cls(config, tokenizer, device=device, warm_start=True)
        model.config_, model.weights_, model.tokenizer_ = config, weights, tokenizer
        model.n_tokens_ = len(weights["tokens.weight"])
        starts, ends = (
            _tokens_of(facts.get(name), model.n_tokens_)
            for name in ("bos_token_id", "eos_token_id")
        )
        model.start_token_, model.end_token_ = next(iter(starts), None), next(iter(ends), None)
        model.end_tokens_ = ends
        return model

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Write a folder that the transformers package and `from_pretrained` read.

        Parameters
        ----------
        folder : path
            Is made if need be.
        """
        self._require_fitted()
        ends: Any = list(self.end_tokens_) if len(self.end_tokens_) > 1 else self.end_token_
        marks = {"bos_token_id": self.start_token_, "eos_token_id": ends}
        _checkpoint.write(folder, self.config_, self.weights_, **marks)
        if self.tokenizer_ is not None:
            self.tokenizer_.to_huggingface(Path(folder) / "tokenizer.json")


def _tokens_of(given: Any, n_tokens: int) -> tuple[int, ...]:
    """The tokens that a configuration names, one or several, as far as the vocabulary has them."""
    named = given if isinstance(given, list) else [given]
    return tuple(t for t in named if isinstance(t, int) and 0 <= t < n_tokens)
