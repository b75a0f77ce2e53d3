"""Rotation forests: trees on features that are rotated in small groups."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Self

import numpy as np

from panlearn.core.capabilities import Capabilities
from panlearn.core.estimator import fitting
from panlearn.core.labels import encode_labels
from panlearn.core.learned import shapes
from panlearn.core.parameters import Bounds, Jobs, Positive, RandomState
from panlearn.core.random import generator
from panlearn.core.threads import threads
from panlearn.tree._base import (
    MemberCount,
    ProbabilisticClassifier,
    read_training,
    set_classes,
)
from panlearn.tree._features import presort
from panlearn.tree._problem import expect_trees, grow_tree, label_problem
from panlearn.tree.decision_tree import DecisionTreeClassifier


@dataclass(eq=False, repr=False)
class RotationForestClassifier(ProbabilisticClassifier):
    r"""A rotation forest: each tree sees all features, rotated by principal axes of small groups.

    .. math::
        p(y = k \mid x) = \frac{1}{M} \sum_{m=1}^{M} p_m(k \mid R_m^\top x), \qquad
        R_m = P_m \, \mathrm{diag}(A_{m1}, \ldots, A_{mG}) \, P_m^\top

    where :math:`P_m` puts the features into random groups and the columns of :math:`A_{mg}` are the
    principal axes of group g, found on a sample of a random part of the classes.

    Parameters
    ----------
    n_estimators : int, default=20
        Number of trees M, 100,000 at most.
    min_group : int, default=3
        The fewest features in a group; the last group may have fewer.
    max_group : int, default=3
        The most features in a group.
    remove_proportion : float, default=0.5
        Part of the rows of the drawn classes that is left out of the search for axes.
    n_jobs : int, default=None
        Threads: None for one, -1 for one a core. The result is the same.
    random_state : int, Generator or RandomState, default=None
        Seeds groups, classes and samples.

    Attributes
    ----------
    estimators_ : list of DecisionTreeClassifier
        The trees, which take rotated rows.
    rotations_ : ndarray of shape (n_estimators, n_features, n_features)
        The orthogonal matrices :math:`R_m`.
    data_min_, data_max_ : ndarray of shape (n_features,)
        Least and largest value of each feature, by which rows are brought to [0, 1] first.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    All axes are kept, so a rotation loses nothing; trees differ because their axes do, and each is
    as accurate as one tree on all rows, which are not sampled. A tree splits along single features:
    on rotated features its cuts are oblique in the original ones. Features are scaled to [0, 1], so
    that axes do not depend on units. The tree is the exact one of `DecisionTreeClassifier`, of full
    depth. A tree costs :math:`O(n d \log n)` and keeps
    :math:`d^2` numbers.

    References
    ----------
    J. J. Rodríguez, L. I. Kuncheva and C. J. Alonso (2006). Rotation forest: a new classifier
    ensemble method. IEEE Transactions on Pattern Analysis and Machine Intelligence 28(10).
    doi:10.1109/TPAMI.2006.211

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from panlearn.tree import RotationForestClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RotationForestClassifier(10, random_state=0).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.92
    True
    """

    learned = shapes(
        data_min_="(n_features,)",
        data_max_="(n_features,)",
        rotations_="(n_members, n_features, n_features)",
    )

    capabilities = Capabilities()

    n_estimators: MemberCount = 20
    _: KW_ONLY
    min_group: Positive[int] = 3
    max_group: Positive[int] = 3
    remove_proportion: Annotated[float, Bounds(0, 1, closed_low=True)] = 0.5
    n_jobs: Jobs = None
    random_state: RandomState = None

    @fitting
    def fit(self, X: Any, y: Any) -> Self:
        """Grow the forest on training data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The labels.

        Returns
        -------
        RotationForestClassifier
            The model itself.
        """
        if self.min_group > self.max_group:
            raise ValueError(
                f"min_group={self.min_group} must not exceed max_group={self.max_group}"
            )
        X, y, weight = read_training(self, X, y, None, "labels")
        dtype = X.dtype
        self.classes_, codes = encode_labels(y)
        k, d = len(self.classes_), X.shape[1]
        self.data_min_, self.data_max_ = X.min(axis=0), X.max(axis=0)
        X = self._scaled(X)
        members = [np.flatnonzero(codes == c) for c in range(k)]
        problem = label_problem(codes[None], [k], weight, "gini")

        def grow(seed: int) -> tuple[np.ndarray, DecisionTreeClassifier]:
            rng = np.random.default_rng(seed)
            rotation = random_rotation(
                X, members, rng, self._groups(d, rng), self.remove_proportion
            )
            member = DecisionTreeClassifier()
            set_classes(member, [self.classes_])
            member.n_features_in_ = d
            features = presort(rotate(X, rotation))
            member.tree_ = grow_tree(member, features, weight, problem, dtype, 0)
            return rotation, member

        seeds = generator(self.random_state).integers(2**63, size=self.n_estimators)
        expect_trees(DecisionTreeClassifier(), len(seeds), problem, d)
        with threads(self.n_jobs) as run:
            grown = list(run(grow, seeds.tolist()))
        self.rotations_ = np.array([rotation for rotation, _ in grown])
        self.estimators_ = [member for _, member in grown]
        return self

    def _scaled(self, X: np.ndarray) -> np.ndarray:
        # halves, for a range may exceed the largest float
        low, high = self.data_min_ / 2.0, self.data_max_ / 2.0
        extent = (high - low).astype(np.float64)
        scaled = (X.astype(np.float64) / 2 - low) / np.where(extent > 0, extent, 0.5)
        return np.asfortranarray(scaled)

    def _groups(self, d: int, rng: np.random.Generator) -> list[np.ndarray]:
        """A random partition of the features."""
        order, groups = rng.permutation(d), []
        fewest, most = min(self.min_group, d), min(self.max_group, d)
        while len(order):
            size = int(rng.integers(fewest, most, endpoint=True))
            groups.append(order[:size])
            order = order[size:]
        return groups

    def predict_proba(self, X: Any) -> np.ndarray:
        """Predict the probability of each class: the mean over the trees.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        X = self._rows(X)
        dtype, X = self.estimators_[0].tree_.value.dtype, self._scaled(X)

        def probabilities(index: int) -> np.ndarray:
            return self.estimators_[index].tree_.predict(rotate(X, self.rotations_[index]))

        total = np.zeros((len(X), len(self.classes_)))
        with threads(self.n_jobs) as run:
            for part in run(probabilities, range(len(self.estimators_))):
                total += part
        return (total / len(self.estimators_)).astype(dtype)


def random_rotation(
    X: np.ndarray,
    members: list[np.ndarray],
    rng: np.random.Generator,
    groups: list[np.ndarray],
    remove_proportion: float,
) -> np.ndarray:
    """The principal axes of each group, each on a sample of a random part of the classes.

    `members` are the rows of each class.
    """
    d, k = X.shape[1], len(members)
    rotation = np.zeros((d, d))
    for group in groups:
        classes = rng.permutation(k)[: rng.integers(1, k, endpoint=True)]
        rows = np.concatenate([members[c] for c in classes])
        size = max(2, round((1 - remove_proportion) * len(rows)))
        drawn = rows[rng.integers(len(rows), size=size)]
        sample = X[drawn[:, None], group]
        sample -= sample.mean(axis=0)
        axes = np.linalg.eigh(sample.T @ sample)[1]
        # an axis has two directions: the one whose largest entry is positive
        largest = np.abs(axes).argmax(axis=0)
        rotation[group[:, None], group] = axes * np.sign(axes[largest, np.arange(len(group))])
    return rotation


def rotate(X: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    """X R, from the entries that are not zero.

    Equal rows give equal bits wherever they stand, which a product by BLAS does not promise.
    """
    result = np.zeros(X.shape, order="F")
    for j, k in zip(*np.nonzero(rotation), strict=True):
        result[:, k] += rotation[j, k] * X[:, j]
    return result
