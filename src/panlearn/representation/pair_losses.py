"""What a sentence encoder can learn from: pairs that belong together, triples, scores, labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d
from torch import Tensor

from panlearn.core.labels import require_two_classes
from panlearn.core.parameters import NonNegative, Positive, check_parameters
from panlearn.core.value import Value
from panlearn.neural._step import Step
from panlearn.representation._objectives import places


@dataclass(frozen=True)
class MultipleNegativesRanking(Value):
    r"""Each text has to find its partner among those of the whole batch.

    .. math::
        \ell_i = -\log \frac{\exp(s \cos(u_i, v_i))}{\sum_j \exp(s \cos(u_i, v_j))}

    where j runs over the partners of all examples of the batch and, in triples, over their third
    texts too.

    Parameters
    ----------
    scale : float, default=20.0
        The factor s of the cosines, the reciprocal of a temperature.

    Notes
    -----
    An example is a pair, a triple whose third text is no partner of the first, or one text: dropout
    then makes two vectors of it that are partners. Texts that occur twice in a batch count as
    negatives of each other; leave duplicates out. The larger the batch, the more there is to learn.
    A batch of n costs :math:`O(n^2 d)` for its cosines.

    References
    ----------
    M. Henderson et al. (2017). Efficient natural language response suggestion for Smart Reply.
    arXiv:1705.00652

    T. Gao, X. Yao and D. Chen (2021). SimCSE: simple contrastive learning of sentence embeddings.
    EMNLP. doi:10.18653/v1/2021.emnlp-main.552

    Examples
    --------
    >>> from panlearn.representation import MultipleNegativesRanking
    >>> MultipleNegativesRanking(scale=10.0)
    MultipleNegativesRanking(scale=10.0)
    """

    scale: Positive[float] = 20.0
    n_texts: ClassVar[tuple[int, ...]] = (1, 2, 3)

    def __post_init__(self) -> None:
        check_parameters(self)

    def targets(self, y: Any, n: int) -> tuple[None, None]:
        """Ignore y."""
        return None, None

    def losses(self, module: Any, vectors: list[Tensor], target: Any, step: Step) -> Tensor:
        """Give the loss of each example."""
        one, *others = (F.normalize(v) for v in vectors)
        place = places(one, step)
        scores = self.scale * one @ torch.cat([step.gather(other) for other in others]).T
        step.note(accuracy=(scores.argmax(1) == place).double())
        return F.cross_entropy(scores, place, reduction="none")


@dataclass(frozen=True)
class TripletMargin(Value):
    r"""The first text of a triple has to be nearer to the second than to the third.

    .. math::
        \ell = \max(0,\ d(u, v) - d(u, w) + m)

    Parameters
    ----------
    margin : float, default=5.0
        By how much nearer, m.
    distance : {"euclidean", "cosine"}, default="euclidean"
        The distance d; that of cosines is 1 - cos, for which a margin below one is apt.

    Notes
    -----
    A batch of n costs :math:`O(n d)`.

    References
    ----------
    F. Schroff, D. Kalenichenko and J. Philbin (2015). FaceNet: a unified embedding for face
    recognition and clustering. CVPR. doi:10.1109/CVPR.2015.7298682

    Examples
    --------
    >>> from panlearn.representation import TripletMargin
    >>> TripletMargin(0.5, "cosine").margin
    0.5
    """

    margin: NonNegative[float] = 5.0
    distance: Literal["euclidean", "cosine"] = "euclidean"
    n_texts: ClassVar[tuple[int, ...]] = (3,)

    def __post_init__(self) -> None:
        check_parameters(self)

    def targets(self, y: Any, n: int) -> tuple[None, None]:
        """Ignore y."""
        return None, None

    def losses(self, module: Any, vectors: list[Tensor], target: Any, step: Step) -> Tensor:
        """Give the loss of each triple."""
        one, near, far = vectors
        closer, farther = self._distance(one, near), self._distance(one, far)
        step.note(accuracy=(closer < farther).double())
        return (closer - farther + self.margin).relu()

    def _distance(self, one: Tensor, other: Tensor) -> Tensor:
        if self.distance == "cosine":
            return 1 - F.cosine_similarity(one, other)
        return F.pairwise_distance(one, other)


@dataclass(frozen=True)
class CosineSimilarity(Value):
    r"""The cosine of a pair has to be the number that is given for it.

    .. math::
        \ell = (\cos(u, v) - y)^2

    Notes
    -----
    A batch of n costs :math:`O(n d)`.

    References
    ----------
    N. Reimers and I. Gurevych (2019). Sentence-BERT: sentence embeddings using Siamese
    BERT-networks. EMNLP. doi:10.18653/v1/D19-1410

    Examples
    --------
    >>> from panlearn.representation import CosineSimilarity
    >>> CosineSimilarity()
    CosineSimilarity()
    """

    n_texts: ClassVar[tuple[int, ...]] = (2,)

    def targets(self, y: Any, n: int) -> tuple[np.ndarray, None]:
        """Check the numbers."""
        try:
            numbers = column_or_1d(np.asarray(_given(self, y, n), dtype=np.float64))
        except (TypeError, ValueError) as error:
            raise ValueError(f"y must be a number for each pair: {error}") from None
        if (bad := np.flatnonzero(~(np.abs(numbers) <= 1))).size:
            raise ValueError(
                f"y of pair {bad[0]} is {numbers[bad[0]]}, which is no cosine; scale y to [-1, 1]"
            )
        return numbers.astype(np.float32), None

    def losses(self, module: Any, vectors: list[Tensor], target: Any, step: Step) -> Tensor:
        """Give the loss of each pair."""
        one, other = vectors
        return (F.cosine_similarity(one, other) - target).square()


@dataclass(frozen=True)
class PairSoftmax(Value):
    r"""A linear layer on a pair of vectors has to tell the label that is given for it.

    .. math::
        \ell = -\log \operatorname{softmax}_y(W [u, v, |u - v|] + b)

    Notes
    -----
    A batch of n costs :math:`O(n d k)` for k labels.

    References
    ----------
    N. Reimers and I. Gurevych (2019). Sentence-BERT: sentence embeddings using Siamese
    BERT-networks. EMNLP. doi:10.18653/v1/D19-1410

    Examples
    --------
    >>> from panlearn.representation import PairSoftmax
    >>> PairSoftmax()
    PairSoftmax()
    """

    n_texts: ClassVar[tuple[int, ...]] = (2,)

    def targets(self, y: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Number the labels."""
        labels = column_or_1d(np.asarray(_given(self, y, n)))
        check_classification_targets(labels)
        classes, codes = np.unique(labels, return_inverse=True)
        require_two_classes(classes)
        return codes, classes

    def losses(self, module: Any, vectors: list[Tensor], target: Any, step: Step) -> Tensor:
        """Give the loss of each pair."""
        scores = module.classify(*vectors)
        step.note(accuracy=(scores.argmax(1) == target).double())
        return F.cross_entropy(scores, target, reduction="none")


PairLoss = MultipleNegativesRanking | TripletMargin | CosineSimilarity | PairSoftmax


def _given(loss: Any, y: Any, n: int) -> list[Any]:
    """The targets, one a pair."""
    if y is None:
        raise ValueError(f"{type(loss).__name__} requires y to be passed, but the target y is None")
    targets = list(y)
    if len(targets) != n:
        raise ValueError(f"X holds {n} pairs and y {len(targets)} targets")
    return targets
