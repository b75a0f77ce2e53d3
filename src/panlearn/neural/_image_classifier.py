"""What classifiers of images share: reading, scaling, training with augmentation, prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d
from torch import nn

from panlearn.core.parameters import BelowOne
from panlearn.core.softmax import SoftmaxClassifier
from panlearn.core.sources import ArrayRows
from panlearn.neural._estimator import DeepEstimator
from panlearn.neural._images import Shape, read_images
from panlearn.neural._objectives import softmax_loss
from panlearn.neural._run import Run
from panlearn.neural._scaling import moments
from panlearn.neural._step import Step
from panlearn.neural.augmentation import Augmentation


class _Learned:
    """What `fit` sets; here, and not among the fields."""

    classes_: np.ndarray
    image_shape_: Shape
    mean_: np.ndarray
    scale_: np.ndarray


@dataclass(eq=False, repr=False, kw_only=True)
class ImageClassifier(SoftmaxClassifier, _Learned, DeepEstimator):
    """A network from images to the scores of classes; abstract.

    Parameters
    ----------
    image_shape : tuple of int or None, default=None
        The image (h, w) or (c, h, w) in a flat row. If it is not given, a row is a square image,
        or a line of pixels if their number is no square.
    augment : Augmentation or None, default=None
        How training images are changed each time that they are seen.
    label_smoothing : float, default=0.0
        The share of the target that is spread over all classes, below one.
    """

    image_shape: tuple | list | None = None
    augment: Augmentation | None = None
    label_smoothing: BelowOne = 0.0

    def _read_labelled(
        self, X: Any, y: Any, sample_weight: Any, reset: bool = True
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, Shape]:
        """Images (n, c, h, w), their labels and weights, and the shape of one."""
        if y is None:
            name = type(self).__name__
            raise ValueError(f"{name} requires y to be passed, but the target y is None")
        images, y, shape = read_images(
            self, X, column_or_1d(y, warn=True), given=self.image_shape, reset=reset
        )
        check_classification_targets(y)
        weight = _check_sample_weight(
            sample_weight, images[:, 0, 0], dtype=images.dtype, ensure_non_negative=True
        )
        return images, y, weight, shape

    def _learn_scale(self, images: np.ndarray, weight: np.ndarray) -> None:
        """Keep the mean and the deviation of the pixels of each channel."""
        pixels = np.moveaxis(images, 1, -1).reshape(len(images), -1, images.shape[1])
        mean, scale = moments(pixels, weight)
        self.mean_, self.scale_ = mean.astype(images.dtype), scale.astype(images.dtype)

    def _train(
        self,
        module: nn.Module,
        images: np.ndarray,
        codes: np.ndarray,
        weight: np.ndarray,
        rng: np.random.Generator,
        **settings: Any,
    ) -> Run:
        losses = softmax_loss(self.label_smoothing)

        def objective(module: nn.Module, batch: Any, step: Step) -> Any:
            pixels, *rest = batch
            if step.training and self.augment is not None:
                pixels = self.augment(pixels, step)
            return losses(module, (pixels, *rest))

        share = weight / weight.max()  # the loss is a mean: only ratios count, and float32 is short
        data = (self._scaled(images), codes, share.astype(np.float32))
        rows = ArrayRows(images, self.classes_[codes], weight)
        return self._learn(module, objective, data, rng, rows=rows, strata=codes, **settings)

    def _scaled(self, images: np.ndarray) -> np.ndarray:
        mean, scale = (a[:, None, None].astype(images.dtype) for a in (self.mean_, self.scale_))
        return np.asarray((images - mean) / scale, dtype=np.float32)

    def _scores(self, X: Any) -> np.ndarray:
        self._require_fitted()
        images, _, _ = read_images(self, X, reset=False)
        return self._outputs(self._scaled(images), size=256).astype(images.dtype)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags
