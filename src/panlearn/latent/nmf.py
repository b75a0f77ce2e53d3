"""Non-negative matrix factorisation."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import (
    _check_sample_weight,
    check_array,
    check_non_negative,
)

from panlearn.core.boundary import LEAST_TOTAL, check_weights
from panlearn.core.capabilities import Capabilities, require_source
from panlearn.core.estimator import Estimator, fitting
from panlearn.core.learned import shapes
from panlearn.core.parameters import Fraction, NonNegative, Positive, RandomState
from panlearn.core.progress import Iterations, Iterative
from panlearn.core.random import generator
from panlearn.core.sources import ArrayRows
from panlearn.core.threads import threads
from panlearn.core.validation import FLOATS, reject_hidden
from panlearn.latent._beta_divergence import BetaDivergence
from panlearn.latent._extremes import checked_rows, floats
from panlearn.latent._nonnegative import (
    Penalty,
    Problem,
    blocks_of,
    descend,
    frobenius_loss,
    frobenius_step,
    kullback_leibler_loss,
    kullback_leibler_step,
    multiply_by_gram,
    solve_frobenius,
    solve_kullback_leibler,
)
from panlearn.latent._nonnegative_starts import nndsvd, random_start

BETAS = {"frobenius": 2.0, "kullback-leibler": 1.0, "itakura-saito": 0.0}


@dataclass(eq=False, repr=False)
class NMF(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Iterative, Estimator):
    r"""Non-negative parts whose non-negative sums give the rows.

    .. math::
        \min_{W, H \ge 0} \; \tfrac{1}{2} \|X - W H\|_F^2
        + \alpha_W d \left(\rho \|W\|_1 + \tfrac{1 - \rho}{2} \|W\|_F^2\right)
        + \alpha_H n \left(\rho \|H\|_1 + \tfrac{1 - \rho}{2} \|H\|_F^2\right)

    for n rows of d features; the first term may be the Kullback-Leibler divergence
    :math:`\sum x \log(x / \hat x) - x + \hat x` of :math:`\hat X = W H`, the log-likelihood of
    Poisson counts, or another beta-divergence.

    Parameters
    ----------
    n_components : int or None, default=None
        The number of parts; None is one a feature.
    init : {"random", "nndsvd", "nndsvda", "custom"} or None, default=None
        The first factors: random; from the singular vectors, with zeros or with the zeros filled
        by a typical value; or those given to `fit`. None is "nndsvda", or "random" if there are
        more parts than rows or features.
    solver : {"cd", "mu"}, default="cd"
        Coordinate descent, or multiplicative updates.
    beta_loss : float or str, default="frobenius"
        What is minimised: "frobenius", "kullback-leibler", "itakura-saito", or the beta-divergence
        of a number, of which these are 2, 1 and 0. All but the first need solver "mu", at 0 and
        below X must be positive, and other numbers than 1 and 2 need a dense X.
    tol : float, default=1e-06
        The loop ends when an iteration lowers the objective by no more than this share of
        :math:`\tfrac{1}{2} \|X\|_F^2`, of :math:`\sum x`, or of the first divergence.
    max_iter : int, default=200
        The most iterations.
    random_state : int, Generator, RandomState or None, default=None
        Seeds the start.
    alpha_W : float, default=0.0
        The strength of the penalty of W.
    alpha_H : float or "same", default="same"
        The strength of the penalty of H.
    l1_ratio : float, default=0.0
        The share :math:`\rho` of absolute values in the penalties.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        The parts H.
    n_components_ : int
        How many there are.
    reconstruction_err_ : float
        :math:`\|X - W H\|_F` at the W of the last iteration, or the root of twice the divergence.
    n_iter_ : int
        Iterations done.
    converged_ : bool
        Whether the loop met its tolerance.
    history_ : dict
        ``objective`` and ``change`` of each iteration; the objective never rises.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if X had names.

    Notes
    -----
    "cd" updates one coordinate after the other with the others fixed, from Gram matrices, and twice
    over each factor an iteration if many features make the product with X cost far more, four times
    if X is small;
    :math:`O(n d k)` an iteration, or with the stored entries in place of :math:`n d` for sparse X,
    which is never made dense. "mu" multiplies each factor by a ratio of non-negative matrices; it
    needs more iterations and a start without zeros. A block of rows is read once an iteration and
    blocks are shared by the threads; any number of threads gives the same bits.

    `transform` solves the problem of each row for the fixed parts by itself, so that a row's
    result does not depend on the other rows; ``fit_transform(X)`` is ``fit(X).transform(X)``. It is
    convex for a beta from 1 to 2. Rows that coordinate descent does not bring to the end, because
    the parts are nearly dependent, are solved by an active set; those of a divergence stop after
    1000 multiplications.

    References
    ----------
    D. D. Lee and H. S. Seung (2001). Algorithms for non-negative matrix factorization. NIPS 13.

    A. Cichocki and A.-H. Phan (2009). Fast local algorithms for large scale nonnegative matrix and
    tensor factorizations. IEICE Transactions E92-A(3). doi:10.1587/transfun.E92.A.708

    N. Gillis and F. Glineur (2012). Accelerated multiplicative updates and hierarchical ALS
    algorithms for nonnegative matrix factorization. Neural Computation 24(4).
    doi:10.1162/NECO_a_00256

    C. L. Lawson and R. J. Hanson (1974). Solving least squares problems. Prentice-Hall.
    doi:10.1137/1.9781611971217

    C. Févotte and J. Idier (2011). Algorithms for nonnegative matrix factorization with the
    beta-divergence. Neural Computation 23(9). doi:10.1162/NECO_a_00168

    C. Boutsidis and E. Gallopoulos (2008). SVD based initialization: a head start for nonnegative
    matrix factorization. Pattern Recognition 41(4). doi:10.1016/j.patcog.2007.09.010

    Examples
    --------
    >>> from panlearn.latent import NMF
    >>> X = [[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [2.0, 3.0, 4.0]]
    >>> model = NMF(2, random_state=0).fit(X)
    >>> model.inverse_transform(model.transform(X)).round(1) + 0.0
    array([[1., 0., 2.],
           [0., 3., 0.],
           [2., 3., 4.]])
    """

    learned = shapes(
        components_="(n_components, n_features)",
    )

    capabilities = Capabilities(sparse=True)

    n_components: Positive[int] | None = None
    _: KW_ONLY
    init: Literal["random", "nndsvd", "nndsvda", "custom"] | None = None
    solver: Literal["cd", "mu"] = "cd"
    beta_loss: Literal["frobenius", "kullback-leibler", "itakura-saito"] | float = "frobenius"
    tol: NonNegative[float] = 1e-6
    max_iter: Positive[int] = 200
    random_state: RandomState = None
    alpha_W: NonNegative[float] = 0.0
    alpha_H: NonNegative[float] | Literal["same"] = "same"
    l1_ratio: Fraction[float] = 0.0

    @fitting
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, W: Any = None, H: Any = None
    ) -> Self:
        """Find the parts of training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows, without negative entries.
        y : object, default=None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; an integer weight is a repeated row.
        W, H : array-like, default=None
            The first factors of init "custom", of shapes (n_samples, n_components) and
            (n_components, n_features).

        Returns
        -------
        NMF
            The model itself.
        """
        X = self._check(X, reset=True)
        beta = self._beta(X)
        check_weights(sample_weight, LEAST_TOTAL)
        weight = _check_sample_weight(sample_weight, X, dtype=X.dtype, ensure_non_negative=True)
        alpha_H = self.alpha_W if self.alpha_H == "same" else self.alpha_H
        penalties = (
            self._penalty(self.alpha_W * X.shape[1]),
            self._penalty(alpha_H * float(weight.sum())),
        )
        with threads() as share, np.errstate(over="ignore", under="ignore"):
            problem = Problem(X, weight, *penalties, share)
            if not np.isfinite(problem.squares):
                raise ValueError("the squares of X overflow: rescale it")
            factors = self._start(problem, W, H)
            self._iterate(problem, *factors, rows=ArrayRows(X, None, None), beta=beta)
            loss = BetaDivergence(beta).loss
            if beta in (1, 2):
                loss = frobenius_loss if beta == 2 else kullback_leibler_loss
            self.reconstruction_err_ = float(np.sqrt(2 * loss(problem, *factors)))
        self.components_ = np.ascontiguousarray(factors[1].T)
        self.n_components_ = len(self.components_)
        return self

    def _beta(self, X: Any) -> float:
        """The number of the divergence, refused where X or the solver does not go with it."""
        beta = BETAS[self.beta_loss] if isinstance(self.beta_loss, str) else float(self.beta_loss)
        if beta != 2 and self.solver == "cd":
            raise ValueError(
                f"beta_loss={self.beta_loss!r} has no coordinate descent; use solver='mu'"
            )
        if beta not in (1, 2) and sparse.issparse(X):
            raise ValueError(
                f"beta_loss={self.beta_loss!r} does not take sparse X; give X.toarray()"
            )
        if beta <= 0 and X.min() <= 0:
            raise ValueError(
                f"beta_loss={self.beta_loss!r} is infinite where X is 0; add a small number to X, "
                "or use a beta_loss above 0"
            )
        return beta

    def _iterate(
        self, problem: Problem, W: np.ndarray, Ht: np.ndarray, rows: ArrayRows, beta: float
    ) -> None:
        if beta == 2:
            update: Callable[..., None] = multiply_by_gram
            if self.solver == "cd":
                update = functools.partial(descend, sweeps=problem.sweeps(W.shape[1]))
            step: Callable[..., float] = functools.partial(frobenius_step, update=update)
            scale = 0.5 * problem.squares
        elif beta == 1:
            step, scale = kullback_leibler_step, problem.total
        else:
            divergence = BetaDivergence(beta)
            step, scale = divergence.step, divergence.loss(problem, W, Ht)
        previous = scale
        with Iterations(self, max_iter=self.max_iter, tol=self.tol, rows=rows) as loop:
            for _ in loop:
                objective = step(problem, W, Ht)
                loop.record(
                    objective=objective,
                    change=abs(previous - objective) / scale if scale > 0 else 0.0,
                    attributes=lambda: {"components_": Ht.T.copy()},
                )
                previous = objective

    def _start(self, problem: Problem, W: Any, H: Any) -> tuple[np.ndarray, np.ndarray]:
        """The first W and the transpose of the first H."""
        n, d = problem.shape
        k = d if self.n_components is None else int(self.n_components)
        if k > max(n, d):
            raise ValueError(
                f"n_components={k} is more than n_samples={n} and n_features={d}, and as many as "
                "the lesser of them give X exactly; ask for fewer"
            )
        if self.init == "custom":
            H = _given(H, (k, d), "H", problem.dtype)
            return _given(W, (n, k), "W", problem.dtype), np.ascontiguousarray(H.T)
        rng = generator(self.random_state)
        init = self.init or ("nndsvda" if k <= min(n, d) else "random")
        if init == "random":
            return random_start(problem, k, rng)
        if k > min(n, d):
            raise ValueError(
                f"init={init!r} has at most min(n_samples, n_features)={min(n, d)} parts, and "
                f"n_components={k}; use init='random'"
            )
        return nndsvd(problem, k, rng, fill=init == "nndsvda")

    def transform(self, X: Any) -> np.ndarray:
        """Give the share of each part in each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows, without negative entries.

        Returns
        -------
        ndarray of shape (n_samples, n_components_)
        """
        self._require_fitted()
        X = self._check(X, reset=False)
        Ht = np.ascontiguousarray(self.components_.T, dtype=X.dtype)
        beta = self._beta(X)
        solve = BetaDivergence(beta).solve
        if beta in (1, 2):
            solve = solve_frobenius if beta == 2 else solve_kullback_leibler
        penalty = self._penalty(self.alpha_W * X.shape[1])
        with threads() as share, np.errstate(over="ignore", under="ignore"):
            shares = list(share(lambda block: solve(block[1], Ht, penalty), blocks_of(X)))
        return floats(np.concatenate(shares), X.dtype, "the shares of the parts")

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Give the rows that shares of the parts sum up to.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components_)
            The shares.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        self._require_fitted()
        shares = check_array(X, dtype=FLOATS)
        if shares.shape[1] != self.n_components_:
            raise ValueError(
                f"X must have shape (n_samples, {self.n_components_}); got {shares.shape}"
            )
        return shares @ self.components_.astype(shares.dtype, copy=False)

    def _penalty(self, strength: float) -> Penalty:
        return Penalty(strength * self.l1_ratio, strength * (1 - self.l1_ratio))

    def _check(self, X: Any, *, reset: bool) -> Any:
        require_source(self, X)
        reject_hidden(X=X)
        X = checked_rows(self, X, reset=reset, accept_sparse="csr", order="C")
        if sparse.issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()  # an entry is stored once, so that it is squared as a whole
        check_non_negative(X, type(self).__name__)
        return X

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _given(factor: Any, shape: tuple[int, int], name: str, dtype: np.dtype) -> np.ndarray:
    """A copy of a first factor that was given."""
    if factor is None:
        raise ValueError(f"init='custom' needs W and H, and {name} is None; give both to fit")
    factor = check_array(factor, dtype=dtype, copy=True, order="C", input_name=name)
    check_non_negative(factor, f"NMF ({name})")
    if factor.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, for n_components; got {factor.shape}")
    return factor
