"""Images at the boundary: what the user gives becomes rows of pixels and the shape of an image."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from panlearn.core.validation import FLOATS, reject_hidden

Shape = tuple[int, int, int]


def read_images(
    estimator: Any, X: Any, y: Any = None, *, given: Any = None, reset: bool = True
) -> tuple[np.ndarray, Any, Shape]:
    """Validate images and remember their pixels on the estimator.

    Parameters
    ----------
    estimator : Estimator
        Receives ``n_features_in_``, and ``feature_names_in_`` of a frame.
    X : array-like
        Of shape (n, h, w) or (n, c, h, w), or flat rows of shape (n, c h w).
    y : array-like, default=None
        Labels, if there are any.
    given : tuple, default=None
        The shape of the image in a row: (h, w) or (c, h, w).
    reset : bool, default=True
        False when a fitted model sees more images, which must be like the first.

    Returns
    -------
    tuple of ndarray of shape (n, c, h, w), labels, and shape (c, h, w)
    """
    reject_hidden(X=X)
    axes = np.ndim(X) if isinstance(X, list | tuple) else getattr(X, "ndim", 2)
    shape = None
    if axes in (3, 4):
        X = np.asarray(X)
        shape = _of_images(X)
        X = X.reshape(len(X), math.prod(shape))
    elif axes > 4:
        raise ValueError(
            f"X has {axes} dimensions; images are of shape (n, h, w) or (n, c, h, w), or flat rows"
        )
    options = {"dtype": FLOATS, "reset": reset, "ensure_all_finite": True}
    if y is None:
        X = validate_data(estimator, X, **options)
    else:
        X, y = validate_data(estimator, X, y, **options)
    if not reset:
        fitted = estimator.image_shape_
        if shape not in (None, fitted):
            raise ValueError(
                f"X has images of {_by(shape)}; this {type(estimator).__name__} was fitted on "
                f"images of {_by(fitted)}"
            )
        shape = fitted
    elif shape is None:
        shape = _of_rows(X.shape[1], given)
    return X.reshape(len(X), *shape), y, shape


def _of_images(X: np.ndarray) -> Shape:
    if X.ndim == 3:
        return (1, *X.shape[1:])
    channels, high, wide = X.shape[1:]
    if channels == high != wide and wide in (1, 3, 4):
        raise ValueError(
            f"X has shape {X.shape}, with the channels last; they come first, (n, c, h, w): give "
            "np.moveaxis(X, -1, 1)"
        )
    return channels, high, wide


def _of_rows(n_pixels: int, given: Any) -> Shape:
    """The image in a flat row: as given, else square, else a line of pixels."""
    if given is None:
        side = math.isqrt(n_pixels)
        return (1, side, side) if side * side == n_pixels else (1, 1, n_pixels)
    shape = tuple(given) if len(given) == 3 else (1, *given)
    counts = all(isinstance(n, int) and n > 0 for n in shape)
    if len(shape) != 3 or not counts or math.prod(shape) != n_pixels:
        raise ValueError(
            f"image_shape={given!r} is to be (h, w) or (c, h, w) with the {n_pixels} pixels of a "
            "row of X"
        )
    return shape


def _by(shape: Any) -> str:
    return " x ".join(map(str, shape))
