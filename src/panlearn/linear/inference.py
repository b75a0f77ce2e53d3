r"""How sure one can be of coefficients: standard errors, tests and intervals.

.. math:: \frac{\hat w_j}{\mathrm{se}_j} \sim t_{n - p} \text{ or } N(0, 1), \qquad
    \hat w_j \pm q \, \mathrm{se}_j

`summary` of LinearRegression, LogisticRegression and HuberRegressor gives a `Summary`. It is of a
fit without a penalty: a penalty biases coefficients, and classical errors do not know it. An
integer weight is a repeated row here too. That of BayesianLinearRegression is of its posterior, in
which a prior has its place; with a flat one and a known noise the numbers are the same.

A summary costs a pass over the rows, :math:`O(n d^2)`, and a matrix that is inverted,
:math:`O(d^3)`.

References
----------
G. A. F. Seber and A. J. Lee (2003). Linear Regression Analysis. Wiley.
doi:10.1002/9780471722199

P. J. Huber (1981). Robust Statistics, chapter 7. Wiley. doi:10.1002/0471725250

Examples
--------
>>> import numpy as np
>>> from panlearn.linear import LinearRegression
>>> x = np.arange(6.0)[:, None]
>>> y = 2 * x[:, 0] + [0.1, -0.1, 0.2, -0.2, 0.1, -0.1]
>>> LinearRegression().fit(x, y).summary(x, y)
             coef std err      t  p-value   0.025  0.975
intercept 0.05714  0.1205 0.4743     0.66 -0.2774 0.3917
x0          1.977  0.0398  49.68 9.82e-07   1.867  2.088
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, stats
from scipy.special import expit

__all__ = ["Summary"]


@dataclass(frozen=True, eq=False)
class Summary:
    r"""Coefficients with their standard errors, :math:`\sqrt{\operatorname{diag} \Sigma}`.

    Parameters
    ----------
    names : list of str
        "intercept", if there is one, and the features.
    coef : ndarray of shape (p,)
        The coefficients, the intercept first.
    covariance : ndarray of shape (p, p)
        :math:`\Sigma`, that of the estimates.
    dof : float
        Degrees of freedom of the t distribution; infinite for the normal one.
    scale : float
        The standard deviation of the noise, one for a classifier.
    confidence : float
        Of the intervals.
    """

    names: list[str]
    coef: np.ndarray
    covariance: np.ndarray
    dof: float
    scale: float
    confidence: float = 0.95

    @property
    def std_err(self) -> np.ndarray:
        """The standard errors."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def statistic(self) -> np.ndarray:
        """The coefficients in units of their errors."""
        return self.coef / self.std_err

    @property
    def p_value(self) -> np.ndarray:
        """How often chance makes a statistic as large, of either sign, where the truth is 0."""
        return 2 * stats.t(self.dof).sf(np.abs(self.statistic))

    @property
    def interval(self) -> np.ndarray:
        """The ends of the interval of each coefficient, of shape (p, 2)."""
        half = stats.t(self.dof).ppf((1 + self.confidence) / 2) * self.std_err
        return np.column_stack([self.coef - half, self.coef + half])

    def __repr__(self) -> str:
        low = (1 - self.confidence) / 2
        head = ["coef", "std err", "z" if np.isinf(self.dof) else "t", "p-value"]
        head += [f"{low:.3g}", f"{1 - low:.3g}"]
        table = np.column_stack(
            [self.coef, self.std_err, self.statistic, self.p_value, self.interval]
        )
        cells = [head]
        cells += [[f"{v:.3g}" if k == 3 else f"{v:.4g}" for k, v in enumerate(r)] for r in table]
        names = ["", *self.names]
        width = max(map(len, names))
        sizes = [max(len(row[k]) for row in cells) for k in range(len(head))]
        return "\n".join(
            " ".join([f"{name:<{width}}", *(f"{c:>{s}}" for c, s in zip(row, sizes, strict=True))])
            for name, row in zip(names, cells, strict=True)
        )


def least_squares(model: Any, X: Any, y: Any, weight: Any, root: Any, confidence: float) -> Summary:
    r"""Of least squares: :math:`\Sigma = \hat\sigma^2 (X^\top R^{-1} X)^{-1}`."""
    design, names, coef = _design(model, X)
    target = _target(y, len(design)).astype(float)
    left = target - design @ coef
    if root is not None:
        design = linalg.solve_triangular(root, design, lower=True)
        left = linalg.solve_triangular(root, left, lower=True)
    weight = _weights(weight, len(design))
    dof = weight.sum() - design.shape[1]
    if not dof > 0:
        raise ValueError(
            f"{weight.sum():g} rows for {design.shape[1]} coefficients leave nothing to judge the "
            "noise by"
        )
    variance = float(weight @ left**2 / dof)
    return Summary(
        names, coef, variance * _inverse(design, weight), dof, float(np.sqrt(variance)), confidence
    )


def logistic(model: Any, X: Any, y: Any, weight: Any, confidence: float) -> Summary:
    r"""Of logistic regression: :math:`\Sigma^{-1} = X^\top \operatorname{diag}(p (1 - p)) X`."""
    design, names, coef = _design(model, X)
    _target(y, len(design))
    p = expit(design @ coef)
    weight = _weights(weight, len(design)) * p * (1 - p)
    return Summary(names, coef, _inverse(design, weight), np.inf, 1.0, confidence)


def huber(model: Any, X: Any, y: Any, weight: Any, confidence: float) -> Summary:
    r"""Of Huber's regression, his first estimate, with the correction k for few rows.

    .. math:: \Sigma = k^2 \hat\sigma^2 \frac{\sum_i \psi_i^2 / (n - p)}{(\sum_i \psi_i' / n)^2}
        (X^\top X)^{-1}
    """
    design, names, coef = _design(model, X)
    left = (_target(y, len(design)).astype(float) - design @ coef) / model.scale_
    weight = _weights(weight, len(design))
    n, p = weight.sum(), design.shape[1]
    inside = (np.abs(left) <= model.epsilon).astype(float)
    psi = np.clip(left, -model.epsilon, model.epsilon)
    share = weight @ inside / n
    k = 1 + p / n * (weight @ (inside - share) ** 2 / n) / share**2
    variance = k**2 * model.scale_**2 * (weight @ psi**2 / (n - p)) / share**2
    covariance = variance * _inverse(design, weight)
    return Summary(names, coef, covariance, np.inf, float(model.scale_), confidence)


def posterior(model: Any, confidence: float) -> Summary:
    r"""Of a Gaussian posterior; the intercept, of a flat prior, moves against the weights.

    .. math:: b \mid w \sim \mathcal{N}(\bar y - \bar x^\top w, \; 1 / (\alpha n)), \qquad
        w \sim \mathcal{N}(\mu, \Sigma)
    """
    names, coef = _names(model), np.asarray(model.coef_, dtype=float)
    covariance = model.sigma_
    noise = 1 / np.sqrt(model.alpha_)
    if model.fit_intercept:
        moments = model.statistic_
        mean = moments.mean[:-1]
        against = -covariance @ mean
        own = mean @ covariance @ mean + noise**2 / moments.weight
        covariance = np.block([[np.array([[own]]), against[None]], [against[:, None], covariance]])
        names, coef = ["intercept", *names], np.append(model.intercept_, coef)
    return Summary(names, coef, covariance, np.inf, float(noise), confidence)


def _names(model: Any) -> list[str]:
    given = getattr(model, "feature_names_in_", None)
    return (
        [f"x{j}" for j in range(model.n_features_in_)] if given is None else list(map(str, given))
    )


def _design(model: Any, X: Any) -> tuple[np.ndarray, list[str], np.ndarray]:
    """The columns, a one before them if there is an intercept, their names and coefficients."""
    rows = np.asarray(X, dtype=float)
    if rows.ndim != 2 or rows.shape[1] != model.n_features_in_:
        raise ValueError(f"X must have {model.n_features_in_} columns; its shape is {rows.shape}")
    coef = np.atleast_2d(model.coef_)
    if len(coef) > 1:
        raise ValueError(f"a summary is of one target or two classes; there are {len(coef)} sets")
    names = _names(model)
    if not model.fit_intercept:
        return rows, names, coef[0].astype(float)
    whole = np.concatenate([np.ravel(model.intercept_), coef[0]]).astype(float)
    return np.column_stack([np.ones(len(rows)), rows]), ["intercept", *names], whole


def _target(y: Any, n: int) -> np.ndarray:
    target = np.asarray(y).reshape(-1) if np.ndim(y) == 2 and np.shape(y)[1] == 1 else np.asarray(y)
    if target.shape != (n,):
        raise ValueError(f"y must hold {n} values, those of the fit; its shape is {target.shape}")
    return target


def _weights(weight: Any, n: int) -> np.ndarray:
    given = np.ones(n) if weight is None else np.asarray(weight, dtype=float)
    if given.shape != (n,) or (given < 0).any():
        raise ValueError(f"sample_weight must hold {n} numbers, none below zero")
    return given


def _inverse(design: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The inverse of X' W X from the triangle of its root, refused where X has not full rank."""
    scale = np.linalg.norm(design, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    _, root = np.linalg.qr(np.sqrt(weight)[:, None] * (design / scale))
    values = np.linalg.svd(root, compute_uv=False)
    if len(design) < design.shape[1] or values[-1] <= values[0] * len(design) * np.finfo(float).eps:
        raise ValueError(
            "the columns of X depend on each other, so that coefficients are not determined; drop "
            "constant or repeated columns"
        )
    back = linalg.solve_triangular(root, np.eye(len(root))) / scale[:, None]
    return back @ back.T
