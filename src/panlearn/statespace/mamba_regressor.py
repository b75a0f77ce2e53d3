"""A network of blocks of Mamba that gives each sequence a number."""

from __future__ import annotations

from dataclasses import dataclass

from panlearn.neural._sequence_estimator import SequenceRegressor
from panlearn.statespace._mamba_estimator import MambaEstimator


@dataclass(eq=False, repr=False)
class MambaRegressor(MambaEstimator, SequenceRegressor):
    r"""Selective state spaces that read sequences, keep what matters, and tell a number of each.

    .. math::
        \min \; \frac1n \sum_i \tfrac12 \lVert f(x^{(i)}_{1:T_i}) - y_i \rVert^2, \qquad
        f(x_{1:T}) = V \frac1T \sum_t \operatorname{norm}(z_t) + c

    with z as in `MambaClassifier`.

    Notes
    -----
    As `MambaClassifier`; predictions are in the unit of y. A step of training costs
    :math:`O(B T (P + L E N))`, with the letters of `Mamba`.

    References
    ----------
    Gu, A. and Dao, T. (2023). Mamba: linear-time sequence modeling with selective state spaces.
    https://arxiv.org/abs/2312.00752

    Examples
    --------
    The mean of a column, over the steps where another one is above zero.

    >>> import numpy as np
    >>> from panlearn.statespace import MambaRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = [rng.normal(size=(rng.integers(10, 20), 2)) for _ in range(100)]
    >>> y = [x[x[:, 1] > 0, 0].sum() for x in X]
    >>> model = MambaRegressor(8, n_layers=1, batch_size=10, random_state=0)
    >>> bool(model.fit(X, y).score(X, y) > 0.5)
    True
    """
