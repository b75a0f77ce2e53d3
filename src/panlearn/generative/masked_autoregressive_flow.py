"""Flows of masked autoregressive layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import nn

from panlearn.generative._normalizing_flow import NormalizingFlow
from panlearn.generative._univariate import AffineTransform, SplineTransform


@dataclass(eq=False, repr=False)
class MaskedAutoregressiveFlow(NormalizingFlow):
    r"""A normalising flow in which each column is mapped by what those before it say.

    .. math::
        z_i = e^{\alpha_i(x_{<i})}\, x_i + \mu_i(x_{<i}), \qquad
        \log p(x) = \log N(z \mid 0, I) + \sum_l \sum_i \alpha_{li}

    Parameters
    ----------
    univariate : AffineTransform or SplineTransform, default=None
        What is done to a number; None is ``AffineTransform()``. A ``SplineTransform()`` makes it an
        autoregressive neural spline flow.

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
    One layer with affine maps makes each column Gaussian given those before it. A density costs one
    pass through the networks. Sampling goes column by column, but works out each hidden unit only
    once, when the columns that it sees are known: d short steps that together multiply as many
    numbers as one pass. The inverse is exact up to rounding. Masks and defaults are those of zuko's
    ``MAF``. Density and draw are :math:`O(P)` a row for P weights.

    References
    ----------
    Papamakarios, Pavlakou, Murray (2017). Masked autoregressive flow for density estimation.
    NeurIPS. arXiv:1705.07057

    Germain, Gregor, Murray, Larochelle (2015). MADE: masked autoencoder for distribution
    estimation. ICML. arXiv:1502.03509

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.generative import MaskedAutoregressiveFlow
    >>> rng = np.random.default_rng(0)
    >>> a = rng.normal(size=300)
    >>> X = np.column_stack([a, a**2 + rng.normal(size=300)])
    >>> model = MaskedAutoregressiveFlow(max_epochs=10, random_state=0).fit(X)
    >>> bool(model.score(X) > np.log(1 / (2 * np.pi)) - 1.2)  # the truth is 1 below the first term
    True
    """

    univariate: AffineTransform | SplineTransform | None = None

    def _layers(self, features: int, context: int, number: int) -> Sequence[nn.Module]:
        univariate = self.univariate or AffineTransform()
        return [self._autoregressive(features, context, number, univariate)]
