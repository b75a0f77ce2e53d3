"""What a language model answers once it has weights: probabilities of texts, and more text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import numpy as np
import torch
from torch import nn

from panlearn.core.documentation import document_keywords
from panlearn.core.parameters import RandomState
from panlearn.core.random import generator
from panlearn.neural._estimator import DeepEstimator
from panlearn.neural._random import seeded
from panlearn.text import BPETokenizer
from panlearn.text._documents import as_list
from panlearn.transformer._arrays import to_tensor
from panlearn.transformer._generation import Choice, Generation
from panlearn.transformer._language import completion_log_probabilities, log_probabilities
from panlearn.transformer._protocol import NextToken
from panlearn.transformer._runs import MOST
from panlearn.transformer._sampling import Sampling, Special
from panlearn.transformer._texts import Answer, Completion, row_generators


class LanguageModel(DeepEstimator):
    """An estimator whose module scores next tokens, see `NextToken`; abstract.

    A subclass sets ``config_``, ``n_tokens_``, ``tokenizer_``, ``start_token_``, ``end_token_`` and
    ``end_tokens_``, all that end a text, beside the weights.
    """

    config_: Any
    n_tokens_: int
    tokenizer_: BPETokenizer | None
    start_token_: int | None
    end_token_: int | None
    end_tokens_: tuple[int, ...]
    batch_size: int
    device: str

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags

    @property
    def _decoder(self) -> NextToken:
        return cast(NextToken, self.module_)

    def _with_weights(self, share: bool = False) -> nn.Module:
        """The module with the learned weights: a copy to train, or the arrays themselves.

        Nothing is allocated for what is shared, and it keeps its precision.
        """
        with torch.device("meta") if share else seeded(0):
            module = self._build()
        tensors = {name: to_tensor(array) for name, array in self.weights_.items()}
        try:
            module.load_state_dict(tensors, assign=share)
        except RuntimeError as error:
            raise ValueError(
                "the weights that are there do not fit what is asked for now; set warm_start=False "
                f"to begin anew ({error})"
            ) from error
        return self._place(module).eval()

    def score_samples(self, X: Any) -> np.ndarray:
        """Give the log-probability of each document, its end included.

        Parameters
        ----------
        X : iterable of str, of lists of str, or of lists of token ids
            Documents.

        Returns
        -------
        ndarray of shape (n_documents,)
        """
        return np.array([found.sum() for found in self._log_probabilities(X)])

    def score(self, X: Any, y: Any = None) -> float:
        """Give the mean log-probability of a document.

        Parameters
        ----------
        X : iterable of str, of lists of str, or of lists of token ids
            Documents.
        y : object, default=None
            Ignored.

        Returns
        -------
        float
        """
        return float(self.score_samples(X).mean())

    def perplexity(self, X: Any) -> float:
        r"""Give :math:`\exp(-\frac1N \sum_t \log p(x_t \mid x_{<t}))` over all tokens of documents.

        Parameters
        ----------
        X : iterable of str, of lists of str, or of lists of token ids
            Documents; the end of each counts as a token.

        Returns
        -------
        float
            The vocabulary's size for a model that knows nothing, one for one that knows all.
        """
        return float(np.exp(-np.concatenate(self._log_probabilities(X)).mean()))

    def _log_probabilities(self, X: Any) -> list[np.ndarray]:
        self._require_fitted()
        documents = self._ids(X, "document")
        start = [] if self.start_token_ is None else [self.start_token_]
        end = [] if self.end_token_ is None else [self.end_token_]
        sequences = [np.array([*start, *ids, *end], dtype=np.int64) for ids in documents]
        if short := [i for i, ids in enumerate(sequences) if len(ids) < 2]:
            raise ValueError(f"document {short[0]} has no token to predict from another")
        return log_probabilities(self._decoder, sequences, self.batch_size)

    @document_keywords(Sampling)
    def generate(
        self,
        prompts: Any = "",
        **sampling: Any,
    ) -> Any:
        r"""Go on with one prompt, or with several at once.

        Parameters
        ----------
        prompts : str, list of token ids, or list of these, default=""
            What to continue, of any lengths up to the context.

        Returns
        -------
        str, list of token ids, or list of these
            What was added, of the kind of the prompts.
        """
        if not isinstance(prompts, str | list | tuple | np.ndarray):
            raise ValueError(f"prompts must be a str or a list; got a {type(prompts).__name__}")
        single = _is_one(prompts)
        how = Sampling(**sampling)
        answers = self._answers([prompts] if single else list(prompts), how.stops, how.special)
        drawn = how.max_tokens, how.choice, how.random_state
        for _ in self._steps(answers, *drawn, ahead=how.ahead):
            pass
        made = [answer.value for answer in answers]
        return made[0] if single else made

    @document_keywords(Sampling, temperature=1.0)
    def complete(
        self,
        prompts: Any = "",
        *,
        n_samples: int = 1,
        **sampling: Any,
    ) -> list[list[Completion]]:
        r"""Go on with each prompt several times, and tell how probable every token was.

        Parameters
        ----------
        prompts : str, list of token ids, or list of these, default=""
            What to continue.
        n_samples : int, default=1
            How often to continue each; every time has a random stream of its own.

        Returns
        -------
        list of list of Completion
            Those of each prompt, in the order of the prompts.
        """
        if n_samples < 1:
            raise ValueError(f"n_samples must be at least 1; got {n_samples}")
        each = [prompts] if _is_one(prompts) else list(prompts)
        how = Sampling(**{"temperature": 1.0} | sampling)
        answers = self._answers([p for p in each for _ in range(n_samples)], how.stops, how.special)
        drawn = how.max_tokens, how.choice, how.random_state
        for _ in self._steps(answers, *drawn, scored=True, ahead=how.ahead):
            pass
        found = [answer.completion() for answer in answers]
        return [found[i : i + n_samples] for i in range(0, len(found), n_samples)]

    def log_probabilities(self, prompts: Any, completions: Any) -> list[np.ndarray]:
        r"""Give :math:`\log p(x_t \mid \text{prompt}, x_{<t})` of each token of completions.

        Parameters
        ----------
        prompts : list of str or of lists of token ids
            What was to be continued.
        completions : list of str or of lists of token ids
            What followed each; an end is a token like any other.

        Returns
        -------
        list of ndarray of shape (n_tokens,)
            With a prompt they fit into the context and one token more.
        """
        self._require_fitted()
        before = [answer.prompt for answer in self._answers(list(prompts), ())]
        after = self._ids(completions, "completion")
        if len(before) != len(after):
            raise ValueError(f"there are {len(before)} prompts and {len(after)} completions")
        found: list[np.ndarray] = []
        with torch.inference_mode():
            for low in range(0, len(after), self.batch_size):
                part = slice(low, low + self.batch_size)
                values, there = completion_log_probabilities(
                    self._decoder, before[part], after[part]
                )
                rows = zip(values.cpu().numpy(), there.cpu().numpy(), strict=True)
                found += [row[real].astype(float) for row, real in rows]
        return found

    @document_keywords(Sampling)
    def stream(
        self,
        prompt: str | Sequence[int] = "",
        **sampling: Any,
    ) -> Iterator[str]:
        """Go on with one prompt and give the text as it comes; its pieces join to `generate`'s.

        Parameters
        ----------
        prompt : str or list of token ids, default=""
            What to continue; what is given is text in either case.

        Yields
        ------
        str
            Whole characters. What may be the beginning of a stop string is held back.
        """
        if not _is_one(prompt):
            raise ValueError(f"prompt must be a str or token ids; got a {type(prompt).__name__}")
        if self.tokenizer_ is None:
            raise ValueError("this model has no tokenizer, so no text to give; use generate")
        how = Sampling(**sampling)
        (answer,) = answers = self._answers([prompt], how.stops, how.special)
        # each piece when it is there, and not some at once
        for _ in self._steps(answers, how.max_tokens, how.choice, how.random_state, ahead=1):
            if piece := answer.fresh():
                yield piece
        if piece := answer.fresh(final=True):
            yield piece

    def _answers(
        self, prompts: list[Any], stops: Sequence[str], special: Special = "text"
    ) -> list[Answer]:
        self._require_fitted()
        if not prompts:
            raise ValueError("there is no prompt; an empty text, '', is one")
        if stops and self.tokenizer_ is None:
            raise ValueError("there is no tokenizer, so no text to look for stop strings in")
        context, answers = self.config_.context, []
        for i, ids in enumerate(self._ids(prompts, "prompt", special)):
            text, n_given = isinstance(prompts[i], str), len(ids)
            started = n_given > 0 and ids[0] == self.start_token_
            wanted = not n_given or (text and self._starts_texts)
            if self.start_token_ is not None and wanted and not started:
                ids = np.concatenate([[self.start_token_], ids])
            if not len(ids):
                raise ValueError(f"prompt {i} is empty and there is no token to start from")
            if len(ids) > context:
                raise ValueError(
                    f"prompt {i} has {len(ids)} tokens, the context has room for {context}; give "
                    "the end of it"
                )
            decode = self._decoding(continued=n_given > started)
            answers.append(Answer(ids, decode, list(stops), text=text))
        return answers

    @property
    def _starts_texts(self) -> bool:
        """Whether a text begins with a token of its own, as in Llama; GPT-2 has none."""
        if self.tokenizer_ is not None:
            return self.tokenizer_.start_token_ is not None
        return self.start_token_ != self.end_token_

    def _decoding(self, continued: bool) -> Callable[[list[int]], str] | None:
        """What makes text of tokens: those that the vocabulary was padded with have none."""
        tokenizer = self.tokenizer_
        if tokenizer is None:
            return None
        known = tokenizer.n_tokens

        def decode(ids: list[int]) -> str:
            return tokenizer.decode([i for i in ids if i < known], continued=continued)

        return decode

    def _generation(self, prompts: list[np.ndarray], **how: Any) -> Any:
        """What gives tokens after prompts, one a row with each ``step``; see `Generation`."""
        return Generation(self._decoder, prompts, **how)

    def _steps(
        self,
        answers: list[Answer],
        max_tokens: int,
        choice: Choice,
        random_state: RandomState | list[np.random.Generator],
        scored: bool = False,
        ahead: int = MOST,
    ) -> Iterator[None]:
        """Add a token to every answer that has not ended, again and again.

        What is drawn comes from one seed for all, or from a generator of each row. Tokens may be
        chosen some steps ahead of those that are given.
        """
        if not max_tokens:
            return
        prompts = [answer.prompt for answer in answers]
        if isinstance(random_state, list):
            generators = random_state
        else:
            generators = row_generators(prompts, generator(random_state))
        generation = self._generation(
            prompts,
            max_tokens=max_tokens,
            choice=choice,
            generators=generators,
            scored=scored,
            ends=self.end_tokens_,
            ahead=ahead,
        )
        for _ in range(max_tokens):
            tokens = generation.step().tolist()
            for answer, token, log_prob in zip(answers, tokens, generation.log_probs, strict=True):
                if not answer.ended:
                    answer.add(token, self.end_tokens_, log_prob)
            yield
            if all(answer.ended for answer in answers):
                return

    def _ids(self, X: Any, what: str, special: Special = "text") -> list[np.ndarray]:
        """Token ids of texts, or ids as they are, after a look at their range."""
        found = []
        for i, item in enumerate(as_list(X)):
            ids = None if isinstance(item, str) else np.asarray(item)
            if ids is None or all(isinstance(token, str) for token in item):
                if self.tokenizer_ is None:
                    raise ValueError(
                        f"{what} {i} is a text and this model has no tokenizer; give token ids"
                    )
                (encoded,) = self.tokenizer_.encode_batch([item], special=special)
                ids = np.array(encoded, dtype=np.int64)
            if ids.dtype.kind not in "iu":
                raise ValueError(
                    f"{what} {i} is {item!r:.60}; it must be a str, or a list of token ids"
                )
            if len(ids) and not (ids.min() >= 0 and ids.max() < self.n_tokens_):
                wrong = ids[(ids < 0) | (ids >= self.n_tokens_)][0]
                raise ValueError(
                    f"{what} {i} holds the token {wrong}; the vocabulary has 0 to "
                    f"{self.n_tokens_ - 1}"
                )
            found.append(ids.astype(np.int64))
        return found


def _is_one(prompts: Any) -> bool:
    """Whether it is one prompt: a text, or token ids."""
    if isinstance(prompts, str):
        return True
    return (
        hasattr(prompts, "__len__")
        and len(prompts) > 0
        and all(isinstance(p, int | np.integer) for p in prompts)
    )
