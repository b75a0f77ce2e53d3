"""The perceptron."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse

from panlearn.core.capabilities import Capabilities
from panlearn.core.estimator import fitting
from panlearn.core.labels import class_weights, require_two_classes
from panlearn.core.learned import shapes
from panlearn.core.parameters import NonNegative, Positive, RandomState
from panlearn.core.progress import Iterations, Iterative
from panlearn.core.random import generator
from panlearn.core.sources import ArrayRows, Block, Rows, StreamRows
from panlearn.core.statistics import LabelCounts
from panlearn.core.validation import read_rows
from panlearn.linear._classifier import LinearClassifier
from panlearn.linear._perceptron_kernels import dense_pass, sparse_pass


@dataclass(eq=False, repr=False)
class Perceptron(LinearClassifier, Iterative):
    r"""Rosenblatt's perceptron, with a count of its mistakes.

    .. math::
        \text{if } y_i (w^\top x_i + b) \le 0: \qquad w \leftarrow w + y_i x_i, \quad
        b \leftarrow b + y_i, \qquad y_i \in \{-1, +1\}

    Parameters
    ----------
    multi_class : {"ovr", "ovo"}, default="ovr"
        More than two classes: "ovr" learns each against the rest and predicts the highest score,
        "ovo" learns each pair and predicts by majority vote.
    fit_intercept : bool, default=True
        Whether to learn the intercept b.
    max_iter : int, default=1000
        The most passes over the rows.
    tol : float, default=0.0
        Stop after a pass with no more mistakes than this.
    shuffle : bool, default=False
        Walk the rows in a fresh random order each pass instead of in their own order.
    random_state : int, Generator or RandomState, default=None
        Seeds the shuffling.
    class_weight : dict or "balanced", default=None
        How long a step is for a mistake on a row of each class; "balanced" makes them inverse to
        the share of the class. Of several classes, in "ovr", it is the step towards the class in
        its own problem, and steps towards the rest have length 1.
    warm_start : bool, default=False
        Whether `fit` goes on from the weights that are there.

    Attributes
    ----------
    coef_ : ndarray of shape (n_problems, n_features)
        Weights: one problem for two classes, else one a class ("ovr") or one a pair ("ovo"), in
        the order (0, 1), (0, 2), ..., (1, 2), ...; the first of a pair is on the positive side.
    intercept_ : ndarray of shape (n_problems,)
        Intercepts.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted; with two, ``classes_[1]`` is on the positive side.
    n_updates_ : ndarray of shape (n_problems,)
        Mistakes made, which is how often the weights were updated.
    n_iter_ : int
        Passes over the rows, the last one, without a mistake, included.
    converged_ : bool
        Whether a whole pass was free of mistakes (or made `tol` at most): every row is on its
        side of the hyperplane.
    history_ : dict
        ``mistakes`` of each pass, which is also its ``change``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    The weights start at zero, so a step size would only scale them, and there is none. If a unit
    vector w* and an intercept separate the rows with margin :math:`\gamma`, at most
    :math:`R^2 / \gamma^2` updates are made in any order, R being the largest norm of a row with a 1
    for the intercept. If no hyperplane separates them the walk never ends by itself: `max_iter`
    stops it with a warning. A pass costs :math:`O(n d)` a problem, on a sparse X its stored
    entries. A stream of batches (`panlearn.Batches`) is walked in its order with the same weights.
    What is learned depends on that order, so this is no sum over rows, and Dask is not accepted.

    References
    ----------
    F. Rosenblatt (1958). The perceptron: a probabilistic model for information storage and
    organization in the brain. Psychological Review 65(6). doi:10.1037/h0042519

    A. B. J. Novikoff (1962). On convergence proofs on perceptrons. Symposium on the Mathematical
    Theory of Automata 12.

    Examples
    --------
    The logical OR takes nine updates:

    >>> from panlearn.linear import Perceptron
    >>> model = Perceptron().fit([[0, 0], [1, 0], [0, 1], [1, 1]], [-1, 1, 1, 1])
    >>> model.coef_, model.intercept_, model.n_updates_
    (array([[2., 2.]]), array([-1.]), array([9]))
    """

    learned = shapes(
        coef_="(n_problems, n_features)",
        intercept_="(n_problems,)",
        n_updates_="(n_problems,)",
    )

    capabilities = Capabilities(sources=("array", "stream"), sparse=True)

    _: KW_ONLY
    multi_class: Literal["ovr", "ovo"] = "ovr"
    fit_intercept: bool = True
    max_iter: Positive[int] = 1000
    tol: NonNegative[float] = 0.0
    shuffle: bool = False
    random_state: RandomState = None
    class_weight: Mapping | Literal["balanced"] | None = None
    warm_start: bool = False

    @fitting
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from training data, from zero or a warm start, until a pass makes no mistake.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or Batches
            The rows.
        y : array-like of shape (n_samples,)
            The labels; with a stream they come in its batches.

        Returns
        -------
        Perceptron
            The model itself.
        """
        rows = self._read(X, y)
        counted = sum((LabelCounts.of(b.y, None) for b in _blocks(rows)), LabelCounts.zero())
        self._start(counted.labels, rows)
        steps = self._steps(counted.count)
        rng = generator(self.random_state)
        remedy = "if no hyperplane separates the classes, use LogisticRegression; or raise max_iter"
        active = np.ones(len(self.coef_), dtype=bool)
        loop = Iterations(self, max_iter=self.max_iter, tol=self.tol, rows=rows, remedy=remedy)
        with loop:
            for _ in loop:
                mistakes = self._pass(rows, steps, active, rng)
                # a problem without a mistake in a whole pass will never make one again
                active &= mistakes > 0
                made = mistakes.sum()
                loop.record(change=made, mistakes=made, attributes=self._attributes)
        return self

    @fitting
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None) -> Self:
        """Learn from one pass over a batch, going on from the present weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever be seen; required in the first call.

        Returns
        -------
        Perceptron
            The model itself.
        """
        if self.class_weight == "balanced":
            raise ValueError(
                'class_weight="balanced" needs the rows of all classes, which partial_fit does not '
                "see; give their weights as a dict"
            )
        first = not self.__sklearn_is_fitted__()
        rows = self._read(X, y, reset=first)
        if first:
            if classes is None:
                raise ValueError("the first call of partial_fit needs classes, all the labels")
            self._start(np.unique(classes), rows)
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes are {self.classes_.tolist()} since the first partial_fit")
        for name in ("coef_", "intercept_", "n_updates_", "history_"):
            # what is changed in place is a copy, so that a failure can be undone
            setattr(self, name, copy.deepcopy(getattr(self, name)))
        rng, active = generator(self.random_state), np.ones(len(self.coef_), dtype=bool)
        steps = self._steps(np.ones(len(self.classes_)))
        mistakes = self._pass(rows, steps, active, rng)
        self.history_["mistakes"].append(float(mistakes.sum()))
        self.n_iter_, self.converged_ = len(self.history_["mistakes"]), not mistakes.any()
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Score each row; with two classes a positive score stands for ``classes_[1]``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            With "ovo" the votes of a class, and a part below 1/2 from its scores to settle ties.
        """
        scores = super().decision_function(X)
        if scores.ndim == 1 or self.multi_class == "ovr":
            return scores
        signs = self._signs()  # (k, m)
        # counted in floats: a product of booleans is whether there is a vote at all
        votes = (scores > 0) @ (signs > 0).T.astype(scores.dtype)
        votes += (scores <= 0) @ (signs < 0).T.astype(scores.dtype)
        confidence = scores @ signs.T
        return votes + confidence / (2 * (np.abs(confidence) + 1))

    def _read(self, X: Any, y: Any, reset: bool = True) -> Rows:
        rows = read_rows(self, X, y, targets="labels", reset=reset, repeatable=True)
        if self.shuffle and not isinstance(rows, ArrayRows):
            raise ValueError("shuffle=True needs the rows in memory; a stream keeps its order")
        rows.reject_non_finite()
        return rows

    def _start(self, classes: np.ndarray, rows: Rows) -> None:
        require_two_classes(classes)
        before: list[Any] = [
            getattr(self, name, None) for name in ("classes_", "coef_", "intercept_")
        ]
        self.classes_ = classes
        problems = self._signs().shape[1]
        self.coef_ = np.zeros((problems, rows.n_features), dtype=rows.dtype)
        self.intercept_ = np.zeros(problems, dtype=rows.dtype)
        if self.warm_start and before[1] is not None:
            if not np.array_equal(before[0], classes) or before[1].shape != self.coef_.shape:
                raise ValueError(
                    f"warm_start goes on with classes {before[0].tolist()} and weights of shape "
                    f"{before[1].shape}; got classes {classes.tolist()} and {rows.n_features} "
                    "features: give those, or set warm_start=False"
                )
            self.coef_ += before[1]
            self.intercept_ += before[2]
        self.n_updates_: np.ndarray = np.zeros(problems, dtype=np.int64)
        self.history_: dict[str, list[float]] = {"mistakes": []}

    def _attributes(self) -> dict[str, Any]:
        """Copies of what a walk changes, for callbacks."""
        names = ("classes_", "coef_", "intercept_", "n_updates_")
        return {name: getattr(self, name).copy() for name in names}

    def _signs(self) -> np.ndarray:
        """The side of each class in each problem, (n_classes, n_problems); 0 takes no part."""
        k = len(self.classes_)
        if k == 2:
            return np.array([[-1.0], [1.0]])
        if self.multi_class == "ovr":
            return 2 * np.eye(k) - 1
        pairs = list(itertools.combinations(range(k), 2))
        signs = np.zeros((k, len(pairs)))
        for c, (first, second) in enumerate(pairs):
            signs[first, c], signs[second, c] = 1, -1
        return signs

    def _steps(self, count: np.ndarray) -> np.ndarray:
        """The signs, as long as a step is, from the rows of each class."""
        signs, weight = self._signs(), class_weights(self.class_weight, self.classes_, count)
        rest = len(weight) > 2 and self.multi_class == "ovr"
        return signs * np.where(rest & (signs < 0), 1.0, weight[:, None])

    def _pass(
        self, rows: Rows, steps: np.ndarray, active: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """One pass over all rows; returns the mistakes of each problem."""
        return np.sum([self._walk(block, steps, active, rng) for block in _blocks(rows)], axis=0)

    def _walk(
        self, block: Block, steps: np.ndarray, active: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """One pass over a block; returns the mistakes of each problem."""
        codes = np.searchsorted(self.classes_, block.y)
        codes = np.minimum(codes, len(self.classes_) - 1)
        if (self.classes_[codes] != block.y).any():
            raise ValueError(f"y holds labels that are not among {self.classes_.tolist()}")
        n = block.X.shape[0]
        order = rng.permutation(n) if self.shuffle else np.arange(n)
        signs = steps.astype(self.coef_.dtype)
        rest = (codes, order, signs, active, self.coef_, self.intercept_, self.fit_intercept)
        if sparse.issparse(block.X):
            mistakes = sparse_pass(block.X.data, block.X.indices, block.X.indptr, *rest)
        else:
            mistakes = dense_pass(block.X, *rest)
        self.n_updates_ += mistakes
        return mistakes


def _blocks(rows: Rows) -> Iterator[Block]:
    """Rows in memory as one block, so that a shuffled pass mixes all of them; else the batches."""
    if isinstance(rows, ArrayRows):
        return iter([Block(rows.X, rows.y)])
    assert isinstance(rows, StreamRows)  # no other source is declared
    return iter(rows)
