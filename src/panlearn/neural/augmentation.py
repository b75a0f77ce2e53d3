"""Training images, changed a little each time that they are seen."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch.nn import functional as F

from panlearn.core.value import Value
from panlearn.neural._draws import Draws, fresh


@dataclass(frozen=True)
class Augmentation(Value):
    r"""Random shifts, turns and flips of images, and noise on them.

    .. math::
        \tilde x(u) = x\bigl(R_\theta\, S\, u + t\bigr) + \sigma \varepsilon, \qquad
        \theta \sim U(-\rho, \rho), \quad t \sim U\{-s, \ldots, s\}^2, \quad
        S \in \{1, \operatorname{diag}(-1, 1)\}

    Parameters
    ----------
    shift : int, default=0
        The most pixels s that an image moves along each axis.
    rotate : float, default=0.0
        The largest angle :math:`\rho`, in degrees.
    flip : bool, default=False
        Whether left and right change places, half of the time.
    noise : float, default=0.0
        The deviation :math:`\sigma` of what is added to each pixel, in deviations of the pixels of
        the batch.

    Notes
    -----
    Each image of a batch gets its own numbers. Values between pixels are interpolated, and beyond
    the border the image goes on as at the border. A shift alone moves whole pixels. An image of c
    channels costs :math:`O(c h w)`.

    References
    ----------
    P. Y. Simard, D. Steinkraus and J. C. Platt (2003). Best practices for convolutional neural
    networks applied to visual document analysis. ICDAR. doi:10.1109/ICDAR.2003.1227801

    Examples
    --------
    >>> from panlearn.neural import Augmentation, ConvNetClassifier
    >>> model = ConvNetClassifier(augment=Augmentation(shift=1, rotate=10))
    """

    shift: int = 0
    rotate: float = 0.0
    flip: bool = False
    noise: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.shift, int) or self.shift < 0:
            raise ValueError(f"shift must be an int of at least 0; got {self.shift!r}")
        for name in ("rotate", "noise"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be at least 0; got {getattr(self, name)!r}")

    def __call__(self, images: torch.Tensor, draws: Draws | None = None) -> torch.Tensor:
        """Give other images of shape (n, c, h, w), by the noise of a step of a run.

        Parameters
        ----------
        images : torch.Tensor of shape (n, c, h, w)
            The images.
        draws : Step, default=None
            Where the noise comes from; PyTorch's generator if None.

        Returns
        -------
        torch.Tensor of shape (n, c, h, w)
        """
        if draws is None:
            draws = fresh(len(images), images.device)
        if self.shift or self.rotate or self.flip:
            images = self._moved(images, draws)
        if self.noise:
            noise = draws.normal(*images.shape[1:], dtype=images.dtype)
            spread = images.flatten(1).std(dim=1)[:, None, None, None]
            images = images + self.noise * spread * noise
        return images

    def _moved(self, images: torch.Tensor, draws: Draws) -> torch.Tensor:
        _, _, high, wide = images.shape
        angle = math.radians(self.rotate) * (2 * draws.uniform(dtype=images.dtype) - 1)
        shift = draws.integers(2 * self.shift + 1, 2).to(images.dtype) - self.shift
        sign = 1 - 2 * draws.integers(2 if self.flip else 1).to(images.dtype)
        cosine, sine = angle.cos(), angle.sin()
        # affine_grid measures each axis from -1 to 1: an angle is one of pixels, not of these
        across = torch.stack([sign * cosine, -sine * high / wide, 2 * shift[:, 0] / wide], dim=1)
        down = torch.stack([sign * sine * wide / high, cosine, 2 * shift[:, 1] / high], dim=1)
        grid = F.affine_grid(
            torch.stack([across, down], dim=1).to(images.dtype),
            list(images.shape),
            align_corners=False,
        )
        return F.grid_sample(images, grid, padding_mode="border", align_corners=False)
