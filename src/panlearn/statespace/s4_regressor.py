"""A network of S4 layers that gives each sequence a number."""

from __future__ import annotations

from dataclasses import dataclass

from panlearn.neural._sequence_estimator import SequenceRegressor
from panlearn.statespace._s4_estimator import S4Estimator


@dataclass(eq=False, repr=False)
class S4Regressor(S4Estimator, SequenceRegressor):
    r"""Linear state spaces that read sequences of thousands of steps, and tell a number of each.

    .. math::
        \min \; \frac1n \sum_i \tfrac12 \lVert f(x^{(i)}_{1:T_i}) - y_i \rVert^2, \qquad
        f(x_{1:T}) = V \frac1T \sum_t \operatorname{norm}(z_t) + c

    with z as in `S4Classifier`.

    Notes
    -----
    As `S4Classifier`; predictions are in the unit of y. A sequence costs :math:`O(T \log T)` a
    channel.

    References
    ----------
    Gu, A., Goel, K. and Re, C. (2022). Efficiently modeling long sequences with structured state
    spaces. ICLR. https://arxiv.org/abs/2111.00396

    Examples
    --------
    The mean of the last ten steps.

    >>> import numpy as np
    >>> from panlearn.statespace import S4Regressor
    >>> rng = np.random.default_rng(0)
    >>> X = [rng.normal(size=(rng.integers(20, 40), 1)) for _ in range(100)]
    >>> y = [x[-10:].mean() for x in X]
    >>> model = S4Regressor(8, n_layers=1, pooling="last", batch_size=10, max_epochs=20)
    >>> bool(model.set_params(random_state=0).fit(X, y).score(X, y) > 0.8)
    True
    """
