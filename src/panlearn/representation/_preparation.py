"""Images of any size, brought to the one that an encoder sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from panlearn.core.parameters import Positive, check_parameters
from panlearn.core.value import Value


@dataclass(frozen=True)
class Preparation(Value):
    """Resize an image until its shorter side has so many pixels, and cut out the middle.

    Parameters
    ----------
    channels, height, width : int
        Of what comes out.
    shortest : int
        Pixels of the shorter side before the middle is cut out.
    resample : {"bicubic", "bilinear"}
        How pixels are interpolated; those that become one are averaged.
    """

    channels: Positive[int]
    height: Positive[int]
    width: Positive[int]
    shortest: Positive[int]
    resample: Literal["bicubic", "bilinear"] = "bicubic"

    def __post_init__(self) -> None:
        check_parameters(self)

    def __call__(self, images: Any) -> np.ndarray:
        """Give images of one shape, (n, channels, height, width).

        Parameters
        ----------
        images : iterable of array-like of shape (h, w), (c, h, w) or (h, w, c)
            Of any sizes; of images of whole numbers the result is rounded to those from 0 to 255.
        """
        return np.stack([self._one(i, np.asarray(image)) for i, image in enumerate(images)])

    def _one(self, number: int, image: np.ndarray) -> np.ndarray:
        first = self._channels_first(number, image)
        if first.shape[1:] == (self.height, self.width):
            return first
        high, wide = first.shape[1:]
        short = min(high, wide)
        size = [int(self.shortest * side / short) for side in (high, wide)]
        made = first.astype(np.float64)
        for axis in (2, 1):  # along rows first, as Pillow mostly does
            weights = _weights(first.shape[axis], size[axis - 1], self.resample)
            made = np.moveaxis(np.tensordot(weights, made, (1, axis)), 0, axis)
            if first.dtype.kind in "iub":
                made = np.floor(made.clip(0, 255) + 0.5)
        top, left = (size[0] - self.height) // 2, (size[1] - self.width) // 2
        if top < 0 or left < 0:
            raise ValueError(
                f"image {number} of {high} x {wide} pixels becomes {size[0]} x {size[1]}, which is "
                f"less than {self.height} x {self.width}"
            )
        middle = made[:, top : top + self.height, left : left + self.width]
        return middle.astype(first.dtype)

    def _channels_first(self, number: int, image: np.ndarray) -> np.ndarray:
        if image.ndim == 2:
            image = image[None]
        if image.ndim != 3 or 0 in image.shape or image.dtype.kind not in "iubf":
            raise ValueError(
                f"image {number} has shape {image.shape} and dtype {image.dtype}; an image is an "
                "array of numbers of shape (h, w), (c, h, w) or (h, w, c)"
            )
        if image.shape[0] not in (1, 3, 4) and image.shape[2] in (1, 3, 4):
            image = np.moveaxis(image, 2, 0)
        if image.shape[0] == 4:  # opacity is not seen
            image = image[:3]
        if len(image) == 1 and self.channels == 3:
            image = np.repeat(image, 3, axis=0)
        if len(image) != self.channels:
            raise ValueError(
                f"image {number} has {len(image)} channels; the model knows {self.channels}"
            )
        return image


def _weights(n_old: int, n_new: int, resample: str) -> np.ndarray:
    r"""What each new pixel takes of the old ones, shape (n_new, n_old).

    A kernel stands at the centre of the new pixel, as wide as that is if it is wider than an old
    one: Keys' cubic with a = -1/2, or a triangle.
    """
    step = n_old / n_new
    wide = max(step, 1.0)
    centre = (np.arange(n_new) + 0.5)[:, None] * step
    x = np.abs(np.arange(n_old) + 0.5 - centre) / wide
    if resample == "bilinear":
        weights = np.maximum(1 - x, 0)
    else:
        near, far = (1.5 * x - 2.5) * x * x + 1, ((2.5 - 0.5 * x) * x - 4) * x + 2
        weights = np.where(x < 1, near, np.where(x < 2, far, 0))
    return weights / weights.sum(axis=1, keepdims=True)
