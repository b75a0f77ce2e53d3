"""Flows of autoregressive layers whose maps are integrals of squared polynomials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated

from torch import nn

from panlearn.core.parameters import Bounds, Count
from panlearn.generative._normalizing_flow import NormalizingFlow
from panlearn.generative._univariate import SumOfSquaresTransform


@dataclass(eq=False, repr=False)
class SumOfSquaresFlow(NormalizingFlow):
    r"""A normalising flow that maps each column by the integral of a sum of squared polynomials.

    .. math::
        z_i = c_i + \int_0^{x_i} \frac1K \sum_{k=1}^{K} \Bigl(1 + \sum_{l=0}^{L}
        a_{ikl} \bigl(\tfrac{u}{10}\bigr)^{l}\Bigr)^{2} + 10^{-3} \; du, \qquad
        \log p(x) = \log N(z \mid 0, I) + \sum_i \log \frac{\partial z_i}{\partial x_i}

    with :math:`a_i` and :math:`c_i` functions of the columns before.

    Parameters
    ----------
    degree : int, default=4
        :math:`L`.
    polynomials : int, default=3
        :math:`K`.

    Attributes
    ----------
    weights_ : dict of {str: ndarray}
        The weights by name.
    image_shape_ : tuple of int or None
        Channels, height and width of images.
    conditions_ : Conditions or None
        What is known of y, if `fit` was given it.

    Notes
    -----
    The integral is exact: a quadratic form in the coefficients with a Hilbert matrix. Beyond ten
    deviations the map is straight, so that powers of far rows stay finite and every noise has its
    row; zuko's ``SOSPF`` squashes the numbers between layers, and cannot be inverted there. The
    inverse is found by bisection to the last digits of the floats. A density costs :math:`O(P)` a
    row for P weights.

    References
    ----------
    Jaini, Selby, Yu (2019). Sum-of-squares polynomial flow. ICML. arXiv:1905.02325

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.generative import SumOfSquaresFlow
    >>> X = np.random.default_rng(0).exponential(size=(200, 1))
    >>> model = SumOfSquaresFlow(transforms=1, max_epochs=5, random_state=0).fit(X)
    >>> bool(np.allclose(model.from_noise(model.to_noise(X)), X))
    True
    """

    degree: Annotated[int, Bounds(0, 100, closed_low=True, closed_high=True)] = 4
    _: KW_ONLY
    polynomials: Count = 3

    def _layers(self, features: int, context: int, number: int) -> Sequence[nn.Module]:
        univariate = SumOfSquaresTransform(self.polynomials, self.degree)
        return [self._autoregressive(features, context, number, univariate)]
