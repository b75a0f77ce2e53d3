"""Approximate search among vectors: lists around centres, of which a query looks into a few."""

from __future__ import annotations

import math
import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from panlearn.core.parameters import Count, check_parameters
from panlearn.core.threads import threads
from panlearn.core.value import Value
from panlearn.latent import KMeans
from panlearn.retrieval._top_k import push_rows, search_lists

_SAMPLE = 128  # vectors a list that the centres are learned from
_QUERIES = 256  # of a block, of which several look into the same list


@dataclass(frozen=True)
class IVF(Value):
    r"""Search in the lists of vectors around the centres that are nearest to a query.

    .. math::
        \text{lists}_j = \{i : j = \arg\min_c \|x_i - \mu_c\|\}, \qquad
        \text{candidates}(q) = \bigcup_{j \in \text{the } p \text{ least } \|q - \mu_j\|}
        \text{lists}_j

    Parameters
    ----------
    n_lists : int, default=None
        How many lists; :math:`4 \sqrt n`, and no more than a list for eight vectors, if None.
    n_probe : int, default=8
        How many lists p a query looks into: the more, the slower and the nearer to exact.
    random_state : int, default=0
        Seeds the centres.

    Notes
    -----
    For an inner product of vectors of any length, the lists are those of the p greatest
    :math:`q \cdot \mu_j`. The centres are those of ten iterations of k-means on a sample of 128
    vectors a list, brought to length one if the vectors are. A query costs
    :math:`O(d (L + p n / L))` for L lists of n vectors, against :math:`O(d n)`.

    References
    ----------
    J. Sivic and A. Zisserman (2003). Video Google: a text retrieval approach to object matching in
    videos. ICCV. doi:10.1109/ICCV.2003.1238663

    H. Jégou, M. Douze and C. Schmid (2011). Product quantization for nearest neighbor search. IEEE
    Transactions on Pattern Analysis and Machine Intelligence 33(1). doi:10.1109/TPAMI.2010.57

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.retrieval import IVF, DenseIndex
    >>> X = np.random.default_rng(0).normal(size=(2000, 4))
    >>> index = DenseIndex(approximation=IVF(n_lists=40, n_probe=10)).fit(X)
    >>> index.recall_ > 0.9
    True
    """

    n_lists: Count | None = None
    _: KW_ONLY
    n_probe: Count = 8
    random_state: int = 0

    def __post_init__(self) -> None:
        check_parameters(self)

    def learn(self, vectors: np.ndarray, *, of_one_length: bool) -> Lists:
        """Find the centres of vectors, and put each vector into its list."""
        n = len(vectors)
        n_lists = min(n, self.n_lists or max(1, min(n // 8, int(4 * math.sqrt(n)))))
        rng = np.random.default_rng(self.random_state)
        sample = rng.permutation(n)[: _SAMPLE * n_lists]
        start = {"init": "random", "n_init": 1, "random_state": self.random_state}
        model = KMeans(n_lists, max_iter=10, **start)  # type: ignore[arg-type]
        with warnings.catch_warnings():  # centres that still move a little serve as well
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(vectors[np.sort(sample)])
        centres = model.cluster_centers_
        if of_one_length:
            length = np.linalg.norm(centres, axis=1, keepdims=True)
            centres = centres / np.where(length > 0, length, 1)  # directions may cancel
        return Lists.of(centres.astype(vectors.dtype), vectors)


@dataclass(frozen=True)
class Lists(Value):
    """Vectors by the centre that is nearest: list j is ``order[offsets[j] : offsets[j + 1]]``."""

    centres: np.ndarray
    order: np.ndarray
    offsets: np.ndarray

    def __post_init__(self) -> None:
        if len(self.offsets) != len(self.centres) + 1 or self.offsets[-1] != len(self.order):
            raise ValueError("the lists of an index do not go with its centres")

    @classmethod
    def of(cls, centres: np.ndarray, vectors: np.ndarray) -> Lists:
        """Put vectors into the lists of centres that are known."""
        halves = _half_squares(centres)
        nearest = np.empty(len(vectors), dtype=np.int64)
        for low in range(0, len(vectors), 4096):
            part = slice(low, low + 4096)
            nearest[part] = (vectors[part] @ centres.T - halves).argmax(axis=1)
        order = np.argsort(nearest, kind="stable")
        counts = np.bincount(nearest, minlength=len(centres))
        return cls(centres, order, np.concatenate([[0], np.cumsum(counts)]))

    def best(
        self,
        queries: np.ndarray,
        listed: np.ndarray,
        k: int,
        n_probe: int,
        allowed: Any,
        *,
        of_one_length: bool,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Places and products of the best of the lists that are looked into, in falling order.

        `listed` holds the vectors one list after the other; `allowed` is a mask of places or None.
        Where all vectors are of one length, the greatest product is that with the nearest one, so
        that the lists are those of the nearest centres. A place that is left over has the number of
        vectors.
        """
        n = len(self.order)
        places = np.full((len(queries), k), n, dtype=np.int64)
        scores = np.full(places.shape, -np.inf, dtype=queries.dtype)
        open_ = np.zeros(0, dtype=bool) if allowed is None else allowed[self.order]
        halves = _half_squares(self.centres) if of_one_length else 0
        n_lists = len(self.centres)
        # one more list, which is empty: what is looked into where a product is no number
        offsets = np.append(self.offsets, n)

        def part(start: int) -> None:
            block = slice(start, start + _QUERIES)
            near = queries[block] @ self.centres.T - halves
            probed = np.full((len(near), min(n_probe, n_lists)), n_lists)
            push_rows(near, 0, probed, np.full(probed.shape, -np.inf, near.dtype))
            within = probed, np.argsort(probed, axis=None), listed, offsets, open_
            search_lists(queries[block], *within, places[block], scores[block])

        if k and n:
            with threads() as run:
                list(run(part, range(0, len(queries), _QUERIES)))
        places = np.append(self.order, n)[places]
        best = np.lexsort((places, -scores), axis=-1)
        return np.take_along_axis(places, best, axis=-1), np.take_along_axis(scores, best, axis=-1)


def _half_squares(centres: np.ndarray) -> np.ndarray:
    """|c|² / 2: less x · c it is least for the centre nearest to x."""
    return (centres * centres).sum(axis=1) / 2
