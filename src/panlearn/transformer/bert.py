"""BERT: an encoder that learns from texts by filling their gaps, and gives vectors of texts."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.base import TransformerMixin, clone
from torch import Tensor, nn

from panlearn.core.estimator import fitting
from panlearn.core.parameters import Count, NonNegative, Positive
from panlearn.core.random import generator
from panlearn.neural._estimator import DeepEstimator
from panlearn.neural._random import seeded
from panlearn.text import WordPieceTokenizer
from panlearn.transformer import _bert_files
from panlearn.transformer._bert import BERTConfig, PretrainedEncoder
from panlearn.transformer._bert_texts import MARKS, Rows, by_length, frame, read_pairs
from panlearn.transformer._bert_training import Pretraining, cut


@dataclass(eq=False, repr=False)
class BERT(TransformerMixin, DeepEstimator):
    r"""An encoder that learns to fill gaps in texts, and whether one text follows another.

    .. math::
        \min_\theta\; -\frac{1}{|M|} \sum_{i \in M} \log p_\theta(x_i \mid \tilde x)
        - \log p_\theta(\text{follows or not} \mid \tilde x)

    where M are fifteen in a hundred of the tokens, most of which :math:`\tilde x` hides.

    Parameters
    ----------
    config : BERTConfig, default=None
        The shape of the encoder; two layers of width 32 if None.
    tokenizer : WordPieceTokenizer, default=None
        One that is fitted is used as it is; else a copy of it is fitted to the documents. None
        learns 8000 tokens at most.
    next_sentence : bool, default=True
        Whether it learns what follows, too; this needs two documents at least.
    pooling : {"mean", "first"}, default="mean"
        What stands for a text: the mean of the states of its tokens, or the state of the first.
    normalize : bool, default=False
        Whether vectors of texts are brought to length one.
    max_length : int, default=None
        The most tokens of a text that `transform` reads; the context of the encoder if None.

    Attributes
    ----------
    weights_ : dict of {str: ndarray}
        What was learned.
    config_ : BERTConfig
        The shape of the encoder.
    tokenizer_ : WordPieceTokenizer
        Text to tokens.
    n_tokens_ : int
        Size of the vocabulary.
    lacking_ : tuple of str
        Parts that a folder did not hold, so that they know nothing: "words", "order", "pooler".
    history_ : dict of {str: list}
        Losses of each epoch; ``word_loss`` and ``order_accuracy`` of the two tasks.
    n_iter_ : int
        Epochs.
    converged_ : bool
        Whether training ended by itself.

    Notes
    -----
    A document is cut into pieces, two of which fill the context; a step shows a piece with the next
    one or, half of the time, with one of another document, and hides tokens that are drawn anew.
    Of those, 80 in a hundred become ``[MASK]``, 10 any token, and 10 stay. The loss of a text is
    the mean over its own hidden tokens; the original takes that over all of the batch. Pieces are
    runs of tokens, not sentences.

    `transform` computes texts of like length together, so that little is spent on padding. A text
    of n tokens costs :math:`O(n (P + L n d))`, P parameters of the blocks.

    A document is a text, a list of tokens, or a tuple of two texts, which are read as a pair.

    References
    ----------
    J. Devlin, M.-W. Chang, K. Lee and K. Toutanova (2019). BERT: pre-training of deep bidirectional
    transformers for language understanding. NAACL. doi:10.18653/v1/N19-1423

    N. Reimers and I. Gurevych (2019). Sentence-BERT: sentence embeddings using Siamese
    BERT-networks. EMNLP. doi:10.18653/v1/D19-1410

    Examples
    --------
    >>> from panlearn.transformer import BERT
    >>> texts = ["the cat sat on the mat"] * 20 + ["a dog ran in a park"] * 20
    >>> model = BERT(next_sentence=False, max_epochs=30, learning_rate=1e-2, random_state=0)
    >>> model = model.fit(texts)
    >>> model.fill_mask("the [MASK] sat on the mat")[0][0][0]
    'cat'
    >>> model.transform(["a cat", "a dog"]).shape
    (2, 32)
    """

    config: BERTConfig | None = None
    tokenizer: WordPieceTokenizer | None = None
    _: KW_ONLY
    next_sentence: bool = True
    pooling: Literal["mean", "first"] = "mean"
    normalize: bool = False
    max_length: Positive[int] | None = None
    batch_size: Count = 32
    schedule: str | Callable = "warmup_cosine"
    weight_decay: NonNegative[float] = 0.01
    clip_norm: Positive[float] | None = 1.0

    @fitting
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from documents.

        Parameters
        ----------
        X : iterable of str or of list of str
            Documents.
        y : object, default=None
            Ignored.

        Returns
        -------
        BERT
            The model itself.
        """
        documents = read_pairs(X)
        if not documents:
            raise ValueError("there is no document, so nothing to learn from")
        known = self.warm_start and "weights_" in vars(self)
        if not known:
            self.config_ = self.config or BERTConfig()
            self.tokenizer_ = fit_tokenizer(self.tokenizer, documents)
            self.n_tokens_ = self.tokenizer_.n_tokens
        encoded = [ids for ids in self.tokenizer_.encode_batch(documents) if ids]
        follow = self.next_sentence
        if follow and len([ids for ids in encoded if len(ids) > 1]) < 2:
            raise ValueError(
                "there is nothing to learn of what follows: next_sentence=True needs two documents "
                "of two tokens at least; set next_sentence=False"
            )
        if not encoded:
            raise ValueError("the documents are empty, so there is nothing to learn from")
        pieces, owners, chosen = cut(encoded, self.config_.context, follow=follow)
        special = self.tokenizer_.special_tokens_
        objective = Pretraining(pieces, owners, special, self.n_tokens_, follow=follow)
        rng = generator(self.random_state)
        self._learn(self._initial(rng), objective, (chosen,), rng)
        self.lacking_: tuple[str, ...] = () if follow else ("order", "pooler")
        return self

    def _build(self) -> nn.Module:
        return PretrainedEncoder(self.config_, self.n_tokens_)

    def _rows(self, X: Any, special: str = "text") -> Rows:
        self._require_fitted()
        most = min(self.max_length or self.config_.context, self.config_.context)
        return frame(self.tokenizer_, read_pairs(X), most, special)

    def transform(self, X: Any) -> np.ndarray:
        """Give a vector for each document.

        Parameters
        ----------
        X : iterable of str, of list of str, or of tuple of two str
            Documents or pairs of them.

        Returns
        -------
        ndarray of shape (n_documents, width)
        """
        rows, module = self._rows(X), self.module_
        vectors = np.empty((len(rows), self.config_.width), dtype=np.float32)

        def pooled(ids: Tensor, segments: Tensor, lengths: Tensor | None) -> Tensor:
            states = module(ids, segments, lengths)
            if self.pooling == "first":
                found = states[:, 0]
            elif lengths is None:
                found = states.mean(1)
            else:
                there = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]
                found = (states * there[..., None]).sum(1) / lengths[:, None]
            return F.normalize(found) if self.normalize else found

        for index, found in by_length(rows, pooled, next(module.parameters()).device):
            vectors[index] = found.cpu().numpy()
        return vectors

    def fill_mask(self, texts: Any, top_k: int = 5) -> list[list[Any]]:
        """Give the most probable tokens in the place of each ``[MASK]``.

        Parameters
        ----------
        texts : str or iterable of str
            One text, or several.
        top_k : int, default=5
            How many tokens for each mask.

        Returns
        -------
        list of list of (str, float)
            For one text, a list for each of its masks: tokens with their probabilities, the most
            probable first. For several texts, such lists.
        """
        single = isinstance(texts, str)
        rows = self._rows([texts] if single else texts, "atomic")
        if "words" in self.lacking_:
            raise ValueError("the folder held no part that predicts words; fit the model first")
        if not 0 < top_k <= self.n_tokens_:
            raise ValueError(f"top_k must be from 1 to {self.n_tokens_}; got {top_k}")
        module: Any = self.module_
        device, mask = next(module.parameters()).device, self.tokenizer_.special_tokens_["[MASK]"]
        made: list[Any] = [[] for _ in range(len(rows))]

        def compute(ids: Tensor, segments: Tensor, lengths: Tensor | None) -> Any:
            row, place = torch.nonzero(ids == mask, as_tuple=True)
            scores = module.words(module(ids, segments, lengths)[row, place])
            return row, *scores.softmax(-1).topk(top_k)

        for index, (row, share, tokens) in by_length(rows, compute, device):
            for i, p, t in zip(row.tolist(), share.tolist(), tokens.tolist(), strict=True):
                made[index[i]].append(list(zip(self.tokenizer_.tokens(t), p, strict=True)))
        if missing := [i for i, found in enumerate(made) if not found]:
            raise ValueError(f"text {missing[0]} has no [MASK] within the context")
        return made[0] if single else made

    def follows(self, X: Any) -> np.ndarray:
        """Give the probability that the second text of a pair follows the first.

        Parameters
        ----------
        X : iterable of tuple of two str
            Pairs.

        Returns
        -------
        ndarray of shape (n_pairs,)
        """
        rows = self._rows(X)
        if "order" in self.lacking_ or "pooler" in self.lacking_:
            raise ValueError("this model did not learn what follows; fit with next_sentence=True")
        module: Any = self.module_
        made = np.empty(len(rows), dtype=np.float32)

        def compute(*batch: Any) -> Tensor:
            return module.order(module(*batch)).softmax(-1)[:, 0]

        for index, found in by_length(rows, compute, next(module.parameters()).device):
            made[index] = found.cpu().numpy()
        return made

    def attention_maps(self, text: Any) -> np.ndarray:
        """Say which token of a text looks at which.

        Parameters
        ----------
        text : str, list of str, or tuple of two str
            One document.

        Returns
        -------
        ndarray of shape (n_layers, n_heads, n, n)
            Rows sum to one; the marks ``[CLS]`` and ``[SEP]`` are among the n tokens.
        """
        rows, module = self._rows([text]), self.module_
        device = next(module.parameters()).device
        ids, segments, _ = rows.batch([0], device)
        with torch.inference_mode():
            return module.encoder.attention_maps(ids, segments)[:, 0].cpu().numpy()  # type: ignore

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str], *, device: str = "cpu") -> Self:
        """Read a BERT from a folder of Hugging Face: safetensors, never pickle.

        The model has ``warm_start=True``: `fit` goes on from the weights and keeps the tokenizer.
        If the folder says how sentence-transformers makes vectors, `transform` does the same.

        Parameters
        ----------
        folder : path
            Holds ``config.json``, ``model.safetensors`` or its shards with their index, and
            ``tokenizer.json``.
        device : str, default="cpu"
            Where the encoder computes.

        Returns
        -------
        BERT
            As if it were fitted.
        """
        config, weights, lacking, _ = _bert_files.read(folder)
        tokenizer = WordPieceTokenizer.from_huggingface(Path(folder) / "tokenizer.json")
        check_marks(tokenizer)
        pooling = _bert_files.read_pooling(folder)
        model = cls(config, tokenizer, device=device, warm_start=True, **pooling)
        model.config_, model.tokenizer_, model.lacking_ = config, tokenizer, lacking
        model.n_tokens_ = len(weights["encoder.tokens.weight"])
        with seeded(0):
            start = PretrainedEncoder(config, model.n_tokens_).state_dict()
        model.weights_ = {name: weights.get(name, value.numpy()) for name, value in start.items()}
        return model

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Write a folder that the transformers package and `from_pretrained` read.

        Parameters
        ----------
        folder : path
            Is made if need be.
        """
        self._require_fitted()
        pad = {"pad_token_id": self.tokenizer_.special_tokens_["[PAD]"]}
        _bert_files.write(folder, self.config_, self.weights_, self.lacking_, **pad)
        self.tokenizer_.to_huggingface(Path(folder) / "tokenizer.json")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags


def fit_tokenizer(given: WordPieceTokenizer | None, documents: list[Any]) -> WordPieceTokenizer:
    """The tokenizer that is given, fitted if it was not; one of 8000 tokens at most if none is."""
    if given is not None and given.__sklearn_is_fitted__():
        made = given
    else:
        made = clone(given) if given is not None else WordPieceTokenizer(8000)
        made.fit(documents)
    check_marks(made)
    return made


def check_marks(tokenizer: WordPieceTokenizer) -> None:
    """Refuse a tokenizer without the marks that BERT puts between texts."""
    if lacking := [mark for mark in MARKS if mark not in tokenizer.special_tokens_]:
        raise ValueError(f"the tokenizer has no special token {lacking[0]!r}, which BERT needs")
