"""Flows of autoregressive layers whose maps are monotone networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

from torch import nn

from panlearn.core.parameters import Count
from panlearn.generative._flow_layers import MonotoneNetwork
from panlearn.generative._normalizing_flow import NormalizingFlow
from panlearn.generative._sizes import Sizes, hidden_sizes


@dataclass(eq=False, repr=False)
class NeuralAutoregressiveFlow(NormalizingFlow):
    r"""A normalising flow that maps each column by an increasing network, steered by those before.

    .. math::
        z_i = f_i(x_i, s_i(x_{<i})), \quad \frac{\partial f_i}{\partial x_i} > 0, \qquad
        \log p(x) = \log N(z \mid 0, I) + \sum_l \sum_i \log \frac{\partial f_{li}}{\partial x_i}

    with :math:`f_i` a network of positive weights.

    Parameters
    ----------
    signal : int, default=16
        Numbers :math:`s_i` that steer the network of a column.
    network_layer_sizes : int or tuple of int, default=(64, 64)
        Units of its hidden layers, even numbers.

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
    The slope is worked out beside the value, layer by layer, with no second pass of automatic
    differentiation. A column is inverted by bisection to the last digits of the floats: some 40
    evaluations in float32 and 70 in float64, so that a sample costs as many densities. The
    interval is widened until it holds the answer; no value of a column is too far out. As in zuko's
    ``NAF``, and not in the paper, the network of a column has weights of its own and sees signals
    as inputs. Unlike there, no layer squashes its inputs. A density costs :math:`O(P)` a row for P
    weights.

    References
    ----------
    Huang, Krueger, Lacoste, Courville (2018). Neural autoregressive flows. ICML. arXiv:1804.00779

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.generative import NeuralAutoregressiveFlow
    >>> X = np.random.default_rng(0).exponential(size=(200, 1))
    >>> options = {"signal": 4, "network_layer_sizes": 8, "max_epochs": 5, "random_state": 0}
    >>> model = NeuralAutoregressiveFlow(transforms=1, **options).fit(X)
    >>> bool(np.allclose(model.from_noise(model.to_noise(X)), X))
    True
    """

    signal: Count = 16
    _: KW_ONLY
    network_layer_sizes: Sizes = (64, 64)

    def _layers(self, features: int, context: int, number: int) -> Sequence[nn.Module]:
        sizes = hidden_sizes(self.network_layer_sizes)
        if any(size % 2 for size in sizes):
            raise ValueError(
                f"network_layer_sizes={self.network_layer_sizes!r} must be even: half of the units "
                "of a layer bend upwards, half of them downwards"
            )
        univariate = MonotoneNetwork(features, self.signal, sizes)
        return [self._autoregressive(features, context, number, univariate)]
