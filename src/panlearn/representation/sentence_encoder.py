"""A sentence encoder: texts to vectors whose cosines say how alike the texts are."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
import torch
from scipy.special import softmax
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.frozen import FrozenEstimator
from sklearn.utils.metaestimators import available_if
from torch import nn

from panlearn.core.estimator import fitting
from panlearn.core.parameters import Count, NonNegative, Positive
from panlearn.core.random import generator
from panlearn.core.sources import ArrayRows
from panlearn.neural._estimator import DeepEstimator
from panlearn.representation._sentence_files import Content, read, write
from panlearn.representation._sentence_module import MARKS, POOLINGS, SentenceModule
from panlearn.representation._sentence_texts import as_vectors, columns_of, single_texts
from panlearn.representation.pair_losses import MultipleNegativesRanking, PairLoss, PairSoftmax
from panlearn.text import WordPieceTokenizer
from panlearn.transformer._bert import BERTConfig
from panlearn.transformer._bert_texts import Rows, by_length, frame
from panlearn.transformer.bert import BERT, fit_tokenizer


class _Learned:
    """What `fit` sets; here, and not among the fields."""

    family_: str
    config_: BERTConfig
    tokenizer_: WordPieceTokenizer
    n_tokens_: int
    pooling_: tuple[str, ...]
    normalize_: bool
    max_length_: int


def _classifies(model: SentenceEncoder) -> bool:
    return isinstance(model.loss, PairSoftmax)


@dataclass(eq=False, repr=False)
class SentenceEncoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, _Learned, DeepEstimator):
    r"""Vectors of texts, from one encoder that reads each text by itself.

    .. math::
        f(x) = \operatorname{pool}_i\, \operatorname{encoder}(x)_i, \qquad
        \operatorname{similarity}(x, x') = \cos(f(x), f(x'))

    `from_pretrained` reads all-MiniLM-L6-v2, all-mpnet-base-v2 and other folders of
    sentence-transformers; `fit` tunes an encoder to pairs, or learns one from nothing.

    Parameters
    ----------
    encoder : SentenceEncoder, BERT, FrozenEstimator, path or None, default=None
        Where `fit` starts from: a model that is fitted, or a folder of one. `clone` forgets what a
        model has learned, so that for cross-validation give the folder, or
        ``FrozenEstimator(encoder)``. None starts from nothing.
    loss : MultipleNegativesRanking, TripletMargin, CosineSimilarity or PairSoftmax, default=None
        What `fit` learns from, and so what an example is; ``MultipleNegativesRanking()`` if None.
    config : BERTConfig, default=None
        The shape of the encoder if there is none to start from.
    pooling : str or tuple of str, default=None
        What stands for a text: "mean", "cls" (its first state), "max", "mean_sqrt_len_tokens",
        "weightedmean", "lasttoken", or several side by side. None is what the folder says, and else
        the mean.
    normalize : bool, default=None
        Whether vectors are brought to length one. None is what the folder says, and else False.
    max_length : int, default=None
        The most tokens of a text that are read, its marks included. None is what the folder says,
        and else the context of the encoder.
    schedule : str, callable or class, default="warmup_cosine"
        The factor of the learning rate over time, see `neural.train`.

    Attributes
    ----------
    weights_ : dict of {str: ndarray}
        What was learned.
    family_ : {"bert", "mpnet"}
        The kind of encoder.
    config_ : BERTConfig
        The shape of the encoder.
    tokenizer_ : WordPieceTokenizer
        Text to tokens.
    n_tokens_ : int
        Size of the vocabulary.
    pooling_ : tuple of str
        How states are pooled.
    normalize_ : bool
        Whether vectors have length one.
    max_length_ : int
        The most tokens of a text.
    classes_ : ndarray of shape (n_classes,)
        The labels of pairs, if the loss is `PairSoftmax`.
    history_ : dict of {str: list}
        Losses of each epoch; ``accuracy`` within the batch, where the loss has one.
    n_iter_ : int
        Epochs.
    converged_ : bool
        Whether training ended by itself.

    Notes
    -----
    Both texts of a pair go through the same encoder, so that n texts need n passes and any two of
    them one product. `transform` computes texts of like length together, so that little is spent
    on padding. From a trained encoder a learning rate of 2e-5 and one to four epochs are usual; the
    default rate is for one that starts from nothing. A special token in a text is letters like
    others: no text can smuggle one in, which the peer lets it. A text of n tokens costs
    :math:`O(n (P + L n d))` for L blocks with P weights.

    References
    ----------
    N. Reimers and I. Gurevych (2019). Sentence-BERT: sentence embeddings using Siamese
    BERT-networks. EMNLP. doi:10.18653/v1/D19-1410

    K. Song, X. Tan, T. Qin, J. Lu and T.-Y. Liu (2020). MPNet: masked and permuted pre-training for
    language understanding. NeurIPS. arXiv:2004.09297

    Examples
    --------
    >>> from panlearn.representation import SentenceEncoder
    >>> pairs = [("a cat sat", "the cat sits"), ("it rains", "rain falls"), ("we eat", "a meal")]
    >>> model = SentenceEncoder(learning_rate=1e-2, max_epochs=20, random_state=0).fit(pairs)
    >>> model.similarity(["it rains"], ["the cat sits", "rain falls", "a meal"]).argmax()
    np.int64(1)
    """

    encoder: SentenceEncoder | BERT | FrozenEstimator | str | os.PathLike | None = None
    _: KW_ONLY
    loss: PairLoss | None = None
    config: BERTConfig | None = None
    pooling: Literal[POOLINGS] | tuple | list | None = None  # type: ignore[valid-type]
    normalize: bool | None = None
    max_length: Positive[int] | None = None
    batch_size: Count = 32
    schedule: str | Callable = "warmup_cosine"
    weight_decay: NonNegative[float] = 0.01
    clip_norm: Positive[float] | None = 1.0

    @fitting
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from examples of one, two or three texts, as the loss asks for.

        Parameters
        ----------
        X : iterable of tuple of str, table of two or three columns, or iterable of str
            Pairs or triples of texts; or texts, of which each is its own partner.
        y : array-like of shape (n_examples,), default=None
            A cosine for each pair for `CosineSimilarity`, a label for `PairSoftmax`; ignored
            otherwise.

        Returns
        -------
        SentenceEncoder
            The model itself.
        """
        loss = MultipleNegativesRanking() if self.loss is None else self.loss
        columns = columns_of(X, loss.n_texts, type(loss).__name__)
        n = len(columns[0])
        target, classes = loss.targets(y, n)
        if classes is not None:
            self.classes_ = classes
        start = self._begin([text for texts in columns for text in texts])
        rows = [self._framed(texts) for texts in columns]
        rows = rows if len(rows) > 1 else 2 * rows
        wanted = None if target is None else torch.from_numpy(target)

        def objective(module: nn.Module, batch: Any, step: Any) -> Any:
            (index,) = batch
            here = index.cpu()
            vectors = [module(*texts.batch(here, index.device, step)) for texts in rows]
            given = None if wanted is None else wanted[here].to(index.device)
            return loss.losses(module, vectors, given, step)

        rng = generator(self.random_state)
        module = self._initial(rng)
        known = module.state_dict()
        kept = {k: torch.tensor(v) for k, v in start.items() if k in known}
        module.load_state_dict(known | kept)
        examples = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
        seen = ArrayRows(examples, target, None)
        strata = target if classes is not None else None
        self._learn(module, objective, (np.arange(n),), rng, rows=seen, strata=strata)
        return self

    def _begin(self, texts: list[Any]) -> dict[str, np.ndarray]:
        """Learn shape, tokens and pooling; the weights to start from, if there are any."""
        if self.warm_start and "weights_" in vars(self):
            return {}
        start = self._start()
        if start is None:
            config = self.config or BERTConfig()
            self.family_, self.config_ = "bert", config
            self.tokenizer_ = fit_tokenizer(None, texts)
            self.n_tokens_ = self.tokenizer_.n_tokens
            self._settle(("mean",), False, config.context)
            return {}
        self._take(start)
        return start.weights

    def _take(self, start: Content) -> None:
        self.family_, self.config_, self.tokenizer_ = start.family, start.config, start.tokenizer
        self.n_tokens_ = len(start.weights["encoder.tokens.weight"])
        self._settle(start.pooling, start.normalize, start.max_length)

    def _settle(self, pooling: tuple[str, ...], normalize: bool, max_length: int) -> None:
        """What is asked for, or else what is given here."""
        asked = self.pooling
        self.pooling_ = pooling if asked is None else _modes(asked)
        self.normalize_ = normalize if self.normalize is None else self.normalize
        self.max_length_ = min(self.max_length or max_length, self.config_.context)

    def _start(self) -> Content | None:
        given = self.encoder
        if isinstance(given, FrozenEstimator):
            given = given.estimator
        if given is None:
            return None
        if isinstance(given, str | os.PathLike):
            if not os.path.isdir(given):
                raise ValueError(f"encoder={given!r} is no folder; give one, or a model")
            return read(given)
        if not isinstance(given, SentenceEncoder | BERT):
            raise ValueError(
                f"encoder must be a SentenceEncoder, a BERT or a folder; got a "
                f"{type(given).__name__}"
            )
        if not given.__sklearn_is_fitted__():
            raise ValueError(
                "encoder is a model that is not fitted. Cross-validation and clone make such a "
                "copy: give the folder that save_pretrained wrote, or FrozenEstimator(encoder)"
            )
        if isinstance(given, SentenceEncoder):
            return given._content()
        pooling = "cls" if given.pooling == "first" else "mean"
        most = min(given.max_length or given.config_.context, given.config_.context)
        shape = (given.config_, given.tokenizer_, given.weights_)
        return Content("bert", *shape, (pooling,), given.normalize, most)

    def _content(self) -> Content:
        """All that a folder holds."""
        self._require_fitted()
        return Content(
            *(self.family_, self.config_, self.tokenizer_, self.weights_),
            *(self.pooling_, self.normalize_, self.max_length_),
        )

    def _build(self) -> nn.Module:
        return SentenceModule(
            *(self.family_, self.config_, self.n_tokens_, self.pooling_),
            normalize=self.normalize_,
            n_classes=len(self.classes_) if _classifies(self) and hasattr(self, "classes_") else 0,
        )

    def _framed(self, texts: list[Any]) -> Rows:
        return frame(self.tokenizer_, texts, self.max_length_, marks=MARKS[self.family_])

    def transform(self, X: Any) -> np.ndarray:
        """Give a vector for each text.

        Parameters
        ----------
        X : iterable of str or of list of str
            Texts; of pairs, give the texts by themselves.

        Returns
        -------
        ndarray of shape (n_texts, n_features_out)
            Of float32.
        """
        self._require_fitted()
        rows, module = self._framed(single_texts(X)), self.module_
        made = np.empty((len(rows), self._n_features_out), dtype=np.float32)
        for index, found in by_length(rows, module, next(module.parameters()).device):
            made[index] = found.cpu().numpy()
        return made

    def similarity(self, X: Any, Y: Any = None) -> np.ndarray:
        """Give the cosines of texts with texts.

        Parameters
        ----------
        X : iterable of str, or ndarray of shape (n_texts, n_features_out)
            Texts, or their vectors.
        Y : iterable of str, or ndarray of shape (n_others, n_features_out), default=None
            Others; those of X if not given.

        Returns
        -------
        ndarray of shape (n_texts, n_others)
        """
        one = as_vectors(self, X)
        return one @ (one if Y is None else as_vectors(self, Y)).T

    @available_if(_classifies)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Give the probabilities of the labels of pairs.

        Parameters
        ----------
        X : iterable of tuple of two str
            Pairs.

        Returns
        -------
        ndarray of shape (n_pairs, n_classes)
        """
        self._require_fitted()
        one, other = columns_of(X, (2,), "predict_proba")
        module: Any = self.module_
        pair = (torch.from_numpy(self.transform(texts)) for texts in (one, other))
        with torch.inference_mode():
            device = next(module.parameters()).device
            scores = module.classify(*(vectors.to(device) for vectors in pair))
        return softmax(scores.cpu().numpy(), axis=1)

    @available_if(_classifies)
    def predict(self, X: Any) -> np.ndarray:
        """Give the most probable label of each pair.

        Parameters
        ----------
        X : iterable of tuple of two str
            Pairs.

        Returns
        -------
        ndarray of shape (n_pairs,)
        """
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str], *, device: str = "cpu") -> Self:
        """Read a folder of sentence-transformers, or one of a BERT or an MPNet.

        The model has ``warm_start=True``: `fit` goes on from the weights and keeps the tokenizer.

        Parameters
        ----------
        folder : path
            Holds ``modules.json`` and what it names; without it, the states of the encoder are
            averaged. Weights are safetensors, never pickle.
        device : str, default="cpu"
            Where the encoder computes.

        Returns
        -------
        SentenceEncoder
            As if it were fitted.
        """
        content = read(folder)
        model = cls(device=device, warm_start=True)
        model._take(content)
        model.weights_ = content.weights
        return model

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Write a folder that sentence-transformers and `from_pretrained` read.

        The layer on pairs, if there is one, is no part of it.

        Parameters
        ----------
        folder : path
            Is made if need be.
        """
        write(folder, self._content())

    @property
    def _n_features_out(self) -> int:
        self._require_fitted()
        return len(self.pooling_) * self.config_.width

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags


def _modes(asked: Any) -> tuple[str, ...]:
    modes = (asked,) if isinstance(asked, str) else tuple(asked)
    if not modes or len(set(modes)) < len(modes) or not set(modes) <= set(POOLINGS):
        raise ValueError(f"pooling={asked!r} must be different ones of {', '.join(POOLINGS)}")
    return modes
