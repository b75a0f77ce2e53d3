"""Flows of coupling layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import torch
from torch import nn

from panlearn.core.parameters import Count
from panlearn.generative._flow_layers import Coupling, Permutation
from panlearn.generative._normalizing_flow import NormalizingFlow
from panlearn.generative._univariate import AffineTransform, SplineTransform


@dataclass(eq=False, repr=False)
class RealNVP(NormalizingFlow):
    r"""A normalising flow of couplings: one half of the columns says how to map the other.

    .. math::
        z_a = x_a, \qquad z_b = e^{\alpha(x_a)} \odot x_b + \mu(x_a), \qquad
        \log p(x) = \log N(z \mid 0, I) + \sum_l \sum_j \alpha_{lj}

    Parameters
    ----------
    univariate : AffineTransform or SplineTransform, default=None
        What is done to a number of the mapped half; None is ``AffineTransform()``. A
        ``SplineTransform()`` makes it a neural spline flow.
    transforms : int, default=6
        How many layers; the halves, even and odd columns, take turns.

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
    Density and sampling both cost one pass through the networks, and the inverse is exact up to
    rounding. An affine scale lies between 0.001 and 1000 in a layer. Images are taken as rows of
    pixels. With y the networks see it too, and the density is that of X given y. A table of one
    column has nothing to look at, and its map is one for all rows. Density and draw are
    :math:`O(P)` a row for P weights.

    References
    ----------
    Dinh, Sohl-Dickstein, Bengio (2017). Density estimation using Real NVP. ICLR. arXiv:1605.08803

    Durkan, Bekasov, Murray, Papamakarios (2019). Neural spline flows. NeurIPS. arXiv:1906.04032

    Kingma, Dhariwal (2018). Glow: generative flow with invertible 1x1 convolutions. NeurIPS.
    arXiv:1807.03039

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.generative import RealNVP
    >>> X = np.random.default_rng(0).normal([1.0, 100.0], [1.0, 50.0], size=(200, 2))
    >>> model = RealNVP(transforms=2, hidden_layer_sizes=8, max_epochs=5, random_state=0).fit(X)
    >>> noise = model.to_noise(X)
    >>> bool(np.allclose(model.from_noise(noise), X))
    True
    >>> model.sample(3, random_state=0).shape
    (3, 2)
    """

    univariate: AffineTransform | SplineTransform | None = None
    _: KW_ONLY
    transforms: Count = 6

    def _layers(self, features: int, context: int, number: int) -> Sequence[nn.Module]:
        columns = torch.arange(features)
        halves = torch.cat([columns[::2], columns[1::2]])
        order = self._shuffled(features, number) if self.randperm else halves
        parts = [Permutation(order)] if self.randperm or number == 0 else []
        n_first = (features + 1) // 2 if features > 1 else 0
        turn = number % 2 == 0 or features == 1
        kept = slice(0, n_first) if turn else slice(n_first, features)
        univariate = self.univariate or AffineTransform()
        layer = Coupling(features, context, kept, univariate, self._hidden, self.activation)
        return [*parts, layer]
