"""Recommendations from a factorisation of ratings."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from panlearn.core.capabilities import Capabilities
from panlearn.core.estimator import Estimator, fitting
from panlearn.core.learned import shapes
from panlearn.core.parameters import NonNegative, Positive, RandomState
from panlearn.core.progress import Iterations, Iterative
from panlearn.core.random import generator
from panlearn.core.threads import OrderedMap, threads
from panlearn.core.warning import warn
from panlearn.latent._alternating import solve_side
from panlearn.latent._observed import labels_of, observed
from panlearn.latent._rating_factors import Alternation, Loss, Stochastic, principal_axes
from panlearn.latent._top import best_items
from panlearn.latent.ratings import Ratings, positions


class Recommendations(NamedTuple):
    """Items and their scores, a row a user, the best first."""

    items: np.ndarray
    scores: np.ndarray


@dataclass(eq=False, repr=False)
class MatrixFactorization(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Iterative, Estimator):
    r"""Tastes of users and traits of items whose products are the ratings.

    Explicit feedback, over the observed pairs alone, and implicit feedback, over all pairs:

    .. math::
        & \min \sum_{(u, i) \text{ observed}} \left(r_{ui} - \mu - b_u - b_i - p_u^\top q_i\right)^2
        + \lambda \left(\|p_u\|^2 + \|q_i\|^2 + b_u^2 + b_i^2\right) \\
        & \min \sum_{u, i} (1 + \alpha |r_{ui}|) \left([r_{ui} > 0] - p_u^\top q_i\right)^2
        + \lambda \Big(\sum_u \|p_u\|^2 + \sum_i \|q_i\|^2\Big)

    Parameters
    ----------
    n_components : int, default=32
        The number of factors of a user and of an item; no more than there are users and items.
    feedback : {"explicit", "implicit"}, default="explicit"
        Whether the entries are ratings, of which the others are missing, or counts of what
        happened, of which the others are zero.
    solver : {"als-cg", "als", "sgd"}, default="als-cg"
        Alternating least squares, by three steps of conjugate gradients a row or exactly; or
        stochastic gradients, for explicit feedback.
    regularization : float, default=0.05
        The penalty :math:`\lambda`: of each rating if feedback is explicit, of each user and item
        if it is implicit.
    alpha : float, default=1.0
        How much confidence a count of implicit feedback adds.
    biased : bool, default=True
        Whether explicit ratings have a mean and a bias for each user and item.
    learning_rate : float, default=0.005
        The step of "sgd".
    max_iter : int, default=100
        The most iterations: passes over both sides, or over the ratings.
    tol : float, default=0.001
        The loop ends when an iteration lowers the objective by no more than this share of what it
        is without factors.
    random_state : int, Generator, RandomState or None, default=None
        Seeds the first factors.

    Attributes
    ----------
    user_factors_ : ndarray of shape (n_users, n_components)
        The tastes p of the users that were fitted.
    item_factors_ : ndarray of shape (n_items, n_components)
        The traits q of the items, turned to their principal axes, the strongest first.
    user_bias_ : ndarray of shape (n_users,)
        The biases of the users; zero without biases.
    item_bias_ : ndarray of shape (n_items,)
        The biases of the items; zero without biases.
    global_mean_ : float
        The mean rating; zero without biases.
    ratings_ : Ratings
        What was observed, so that `recommend` knows what was seen, and the labels of users and
        items: those of `Ratings` or a data frame, else the numbers of the rows and columns.
    n_iter_ : int
        Iterations done.
    converged_ : bool
        Whether the loop met its tolerance.
    history_ : dict
        ``objective`` and ``change`` of each iteration; for "sgd" with the errors met on the way.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X had names.

    Notes
    -----
    Users are rows and items columns, always. The stored entries of a sparse X were observed, zeros
    too; of a dense X all entries but NaN. With the other side fixed, a user's factors solve a ridge
    regression: exactly in :math:`O(m k^2 + k^3)` for m entries, by conjugate gradients from the
    last factors in :math:`O(m k)` (implicit feedback adds one Gram matrix a pass, not all pairs).
    "sgd" walks pairs of groups of users and items that share no factor side by side. Any number of
    threads gives the same bits.

    `transform` folds users in: it solves their ridge regression for the fitted items exactly and
    changes nothing. `recommend` takes labels of fitted users or rows of new ones.

    A label that was not fitted, or had no entry, is never answered with an average: `recommend` and
    `similar_items` refuse it by name, `predict_ratings` gives NaN and warns. Items without any
    entry are not recommended.

    References
    ----------
    Y. Koren, R. Bell and C. Volinsky (2009). Matrix factorization techniques for recommender
    systems. Computer 42(8). doi:10.1109/MC.2009.263

    Y. Hu, Y. Koren and C. Volinsky (2008). Collaborative filtering for implicit feedback datasets.
    ICDM. doi:10.1109/ICDM.2008.22

    G. Takács, I. Pilászy and D. Tikk (2011). Applications of the conjugate gradient method for
    implicit feedback collaborative filtering. RecSys. doi:10.1145/2043932.2043987

    R. Gemulla, E. Nijkamp, P. J. Haas and Y. Sismanis (2011). Large-scale matrix factorization with
    distributed stochastic gradient descent. KDD. doi:10.1145/2020408.2020426

    Examples
    --------
    >>> from panlearn.latent import MatrixFactorization, Ratings
    >>> who = ["ann", "ann", "bob", "bob", "cid", "cid", "dee"]
    >>> what = ["tea", "rye", "tea", "rye", "jam", "oat", "jam"]
    >>> bought = Ratings.from_table(who, what)
    >>> model = MatrixFactorization(2, feedback="implicit", random_state=0).fit(bought)
    >>> model.recommend(["dee"], 1).items
    array([['oat']], dtype='<U3')
    """

    learned = shapes(
        user_factors_="(n_users, n_components)",
        item_factors_="(n_items, n_components)",
        user_bias_="(n_users,)",
        item_bias_="(n_items,)",
    )

    capabilities = Capabilities(missing=True, sparse=True)

    n_components: Positive[int] = 32
    _: KW_ONLY
    feedback: Literal["explicit", "implicit"] = "explicit"
    solver: Literal["als-cg", "als", "sgd"] = "als-cg"
    regularization: NonNegative[float] = 0.05
    alpha: NonNegative[float] = 1.0
    biased: bool = True
    learning_rate: Positive[float] = 0.005
    max_iter: Positive[int] = 100
    tol: NonNegative[float] = 1e-3
    random_state: RandomState = None

    @fitting
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the factors of users and items.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_users, n_items), or Ratings
            What was observed: the stored entries, or of a dense X the entries that are not NaN.
        y : object, default=None
            Ignored.

        Returns
        -------
        MatrixFactorization
            The model itself.
        """
        given, X = X, observed(self, X, reset=True)
        if not X.nnz:
            raise ValueError("X holds no rating: no entry is stored, or every entry is NaN")
        implicit, exact = self.feedback == "implicit", self.solver == "als"
        if implicit and self.solver == "sgd":
            raise ValueError("solver='sgd' walks ratings; for feedback='implicit' use 'als-cg'")
        self.global_mean_ = 0.0 if implicit or not self.biased else float(X.data.mean(dtype=float))
        loss, rng = self._loss(), generator(self.random_state)
        k = min(int(self.n_components), *X.shape)
        with threads() as share, np.errstate(over="ignore", invalid="ignore"):
            sides: Alternation | Stochastic
            if self.solver == "sgd":
                sides = Stochastic(X, loss, k, rng, self.learning_rate)
            else:
                sides = Alternation(X, loss, k, rng, exact=exact)
            if not np.isfinite(sides.baseline):
                raise ValueError("the squares of X overflow: rescale it")
            self._iterate(sides, share)
            axes = principal_axes(sides.items[:, :k])
            self.user_factors_ = sides.users[:, :k] @ axes
            self.item_factors_ = sides.items[:, :k] @ axes
        self.user_bias_, self.item_bias_ = (
            side[:, k].copy() if side.shape[1] > k else np.zeros(len(side), dtype=side.dtype)
            for side in (sides.users, sides.items)
        )
        self.ratings_ = Ratings(X, *labels_of(given, X.shape))
        return self

    def _iterate(self, sides: Alternation | Stochastic, share: OrderedMap) -> None:
        previous = sides.baseline
        with Iterations(self, max_iter=self.max_iter, tol=self.tol) as loop:
            for _ in loop:
                objective = sides.iterate(share)
                if not np.isfinite(objective):
                    remedy = "lower learning_rate" if self.solver == "sgd" else "rescale X"
                    raise ValueError(f"the factors grew beyond the floats; {remedy}")
                drop = abs(previous - objective)
                loop.record(
                    objective=objective, change=drop / sides.baseline if sides.baseline else 0.0
                )
                previous = objective

    def transform(self, X: Any) -> np.ndarray:
        """Give the factors of users, new or old, from their ratings: fold them in.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_users, n_items), or Ratings
            Their ratings of the items that were fitted. A user without any gets zeros.

        Returns
        -------
        ndarray of shape (n_users, n_components)
        """
        self._require_fitted()
        return self._folded(observed(self, X, reset=False))[0]

    def recommend(self, users: Any, n_items: int = 10, *, exclude_seen: bool = True) -> Any:
        """Give the best items for users.

        Parameters
        ----------
        users : array-like of labels, or ratings as for `transform`
            Users that were fitted, by their labels, or rows of ratings of new users.
        n_items : int, default=10
            How many items to give for each.
        exclude_seen : bool, default=True
            Whether to pass over the items that a user has an entry for.

        Returns
        -------
        items : ndarray of shape (n_users, n_items)
            Labels of the items, the best first.
        scores : ndarray of shape (n_users, n_items)
            Estimated ratings, or preferences of implicit feedback. NaN marks an item that was
            passed over and fills a row for which fewer than `n_items` are left.
        """
        self._require_fitted()
        if isinstance(users, Ratings) or sparse.issparse(users) or np.ndim(users) == 2:
            seen = observed(self, users, reset=False)
            factors, bias = self._folded(seen)
            if empty := int((np.diff(seen.indptr) == 0).sum()):
                warn(
                    f"{empty} users have no entry: what they get is what suits everybody",
                    UserWarning,
                )
        else:
            rows = self._known("users", users, np.diff(self.ratings_.matrix.indptr))
            factors, bias = self.user_factors_[rows], self.user_bias_[rows]
            seen = self.ratings_.matrix[rows]
        if not exclude_seen:
            seen = sparse.csr_array(seen.shape, dtype=seen.dtype)
        offset = self.item_bias_ + self.item_bias_.dtype.type(self.global_mean_)
        offset[self._item_counts() == 0] = -np.inf
        found = self._best(factors, self.item_factors_, offset, seen, n_items)
        return Recommendations(found.items, found.scores + bias[:, None])

    def similar_items(self, items: Any, n_items: int = 10) -> Any:
        """Give the items whose factors point in the most similar direction.

        Parameters
        ----------
        items : array-like of labels
            Items that were fitted.
        n_items : int, default=10
            How many others to give for each.

        Returns
        -------
        items : ndarray of shape (n_asked, n_items)
            Labels of the other items, the most similar first.
        scores : ndarray of shape (n_asked, n_items)
            Cosines of the angles between their factors; NaN where no other item is left.
        """
        self._require_fitted()
        counts = self._item_counts()
        at = self._known("items", items, counts)
        norms = np.linalg.norm(self.item_factors_, axis=1, keepdims=True)
        units = self.item_factors_ / np.where(norms > 0, norms, 1)
        itself = sparse.csr_array(
            (np.ones(len(at)), at, np.arange(len(at) + 1)), shape=(len(at), len(units))
        )
        offset = np.where(counts == 0, -np.inf, 0).astype(units.dtype)
        return self._best(units[at], units, offset, itself, n_items)

    def predict_ratings(self, users: Any, items: Any) -> np.ndarray:
        """Estimate the ratings of pairs.

        Parameters
        ----------
        users : array-like of shape (n_pairs,)
            Labels of users.
        items : array-like of shape (n_pairs,)
            Labels of items.

        Returns
        -------
        ndarray of shape (n_pairs,)
            NaN, with a warning, where the user or the item was not fitted or had no entry.
        """
        self._require_fitted()
        ratings = self.ratings_
        at, of = positions(ratings.users, users), positions(ratings.items, items)
        if at.shape != of.shape:
            raise ValueError(f"users and items must go in pairs; got {len(at)} and {len(of)}")
        known = (at >= 0) & (of >= 0)
        known &= (np.diff(ratings.matrix.indptr)[at] > 0) & (self._item_counts()[of] > 0)
        if not known.all():
            warn(
                f"{int((~known).sum())} of {len(at)} pairs have a user or an item that was not "
                "fitted: their ratings are NaN",
                UserWarning,
            )
        estimate = self.global_mean_ + self.user_bias_[at] + self.item_bias_[of]
        for start in range(0, len(at), 1 << 16):  # the factors of all pairs may be many
            part = slice(start, start + (1 << 16))
            pair = self.user_factors_[at[part]], self.item_factors_[of[part]]
            estimate[part] += np.einsum("ij,ij->i", *pair)
        return np.where(known, estimate, np.nan).astype(self.item_factors_.dtype, copy=False)

    def _folded(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """The factors and biases of the rows of a CSR matrix, for the fitted items."""
        loss, items = self._loss(), self.item_factors_.astype(X.dtype, copy=False)
        if loss.biased:
            items = np.c_[items, self.item_bias_.astype(X.dtype, copy=False)]
        out = np.zeros((X.shape[0], items.shape[1]), dtype=X.dtype)
        with threads() as share:
            solve_side(loss.entries(X), *loss.fixed(items), out, share, exact=True)
        k = self.item_factors_.shape[1]
        bias = out[:, k] if loss.biased else np.zeros(len(out), dtype=X.dtype)
        return np.ascontiguousarray(out[:, :k]), bias

    def _best(
        self, users: np.ndarray, items: np.ndarray, offset: np.ndarray, hidden: Any, n: int
    ) -> Recommendations:
        if not 1 <= n <= len(items):
            raise ValueError(f"n_items must be from 1 to the {len(items)} items; got {n}")
        users = np.ascontiguousarray(users)
        with threads() as share:
            top, scores = best_items(users, items.astype(users.dtype), offset, hidden, n, share)
        return Recommendations(self.ratings_.items[top], scores)

    def _known(self, what: str, asked: Any, counts: np.ndarray) -> np.ndarray:
        """Where the labels stand; one that was not fitted or had no entry is refused."""
        at = positions(getattr(self.ratings_, what), asked)
        unknown = (at < 0) | (counts[at] == 0)
        if unknown.any():
            names = np.asarray(asked).ravel()[unknown][:5].tolist()
            raise ValueError(
                f"{int(unknown.sum())} {what} were not fitted or had no entry, such as {names}; "
                f"{_REMEDY[what]}"
            )
        return at

    def _item_counts(self) -> np.ndarray:
        return np.bincount(self.ratings_.matrix.indices, minlength=self.n_features_in_)

    def _loss(self) -> Loss:
        implicit = self.feedback == "implicit"
        biased = self.biased and not implicit
        return Loss(implicit, self.regularization, self.alpha, self.global_mean_, biased)

    @property
    def _n_features_out(self) -> int:
        return self.item_factors_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


_REMEDY = {
    "users": "give their ratings in the place of their labels, to fold them in",
    "items": "fit again with ratings of them",
}
