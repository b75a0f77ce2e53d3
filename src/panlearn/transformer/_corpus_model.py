"""A language model that learns from documents, whatever module predicts their tokens."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from panlearn.core.capabilities import ANYWHERE, Capabilities
from panlearn.core.estimator import fitting
from panlearn.core.parameters import Count, NonNegative, Positive
from panlearn.core.random import generator
from panlearn.text import BPETokenizer
from panlearn.transformer._language import Windows, check_tokens, held_out, next_token_losses
from panlearn.transformer._language_model import LanguageModel
from panlearn.transformer._texts import END, encode_corpus


@dataclass(eq=False, repr=False)
class CorpusModel(LanguageModel):
    """A language model that is trained on windows of one stream of tokens; abstract."""

    capabilities = Capabilities(sources=ANYWHERE)

    config: Any = None
    tokenizer: BPETokenizer | None = None
    _: KW_ONLY
    batch_size: Count = 16
    schedule: str | Callable = "warmup_cosine"
    weight_decay: NonNegative[float] = 0.1
    clip_norm: Positive[float] | None = 1.0

    @staticmethod
    @abstractmethod
    def _default() -> Any:
        """Give the shape that is taken if none is given."""

    @property
    def _window(self) -> int:
        """Tokens of a window."""
        return self.config_.context

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
        self
            The model itself.
        """
        tokens = self._tokens(X)
        held = self._held_fraction
        cut = len(tokens) - int(held * len(tokens))
        window, validation = self._window, None
        if held:
            if min(cut, len(tokens) - cut) < 2:
                raise ValueError(
                    f"validation_fraction={held} of {len(tokens)} tokens "
                    "leaves too few to learn from or to measure on"
                )
            validation = (held_out(tokens[cut:], window),)
        windows = Windows(tokens[:cut], window, self.batch_size)
        rng = generator(self.random_state)
        module = self._initial(rng)
        self._learn(module, self._objective(), windows, rng, validation=validation)
        return self

    def _objective(self) -> Callable:
        """Make the loss of training: of the next token."""
        return next_token_losses

    def _tokens(self, X: Any) -> np.ndarray:
        """Read the documents as one stream; learn how, unless that is known from before."""
        known = self.warm_start and "weights_" in vars(self)
        ready = isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype.kind in "iu"
        if not known:
            self.config_ = self.config or self._default()
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

    @classmethod
    def _of_folder(
        cls,
        config: Any,
        weights: dict[str, np.ndarray],
        facts: dict[str, Any],
        tokenizer: BPETokenizer | None,
        device: str,
    ) -> Self:
        """A model with what a folder holds, as if it were fitted."""
        model = cls(config, tokenizer, device=device, warm_start=True)
        model.config_, model.weights_, model.tokenizer_ = config, weights, tokenizer
        model.n_tokens_ = len(weights["tokens.weight"])
        starts, ends = (
            _tokens_of(facts.get(name), model.n_tokens_)
            for name in ("bos_token_id", "eos_token_id")
        )
        model.start_token_, model.end_token_ = next(iter(starts), None), next(iter(ends), None)
        if tokenizer is not None and tokenizer.start_token_ is not None:
            model.start_token_ = tokenizer.start_token_
        model.end_tokens_ = ends
        return model

    def _marks(self) -> dict[str, Any]:
        """What a ``config.json`` says of the tokens before and after a text."""
        ends: Any = list(self.end_tokens_) if len(self.end_tokens_) > 1 else self.end_token_
        return {"bos_token_id": self.start_token_, "eos_token_id": ends}


def _tokens_of(given: Any, n_tokens: int) -> tuple[int, ...]:
    """The tokens that a configuration names, one or several, as far as the vocabulary has them."""
    named = given if isinstance(given, list) else [given]
    return tuple(t for t in named if isinstance(t, int) and 0 <= t < n_tokens)
