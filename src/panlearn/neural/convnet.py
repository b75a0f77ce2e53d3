"""Convolutional networks that classify images."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
import torch
from sklearn.utils.validation import column_or_1d
from torch import nn
from torch.nn import functional as F

from panlearn.core.estimator import fitting
from panlearn.core.labels import require_two_classes
from panlearn.core.parameters import BelowOne, Count, Positive
from panlearn.core.random import generator
from panlearn.neural import layers as _layers
from panlearn.neural._estimator import to_arrays, to_tensors
from panlearn.neural._image_classifier import ImageClassifier
from panlearn.neural._images import read_images
from panlearn.neural._run import Run


@dataclass(eq=False, repr=False)
class ConvNetClassifier(ImageClassifier):
    r"""A stack of convolutions and other layers, and a softmax over the classes.

    .. math::
        p(y = k \mid x) = \operatorname{softmax}_k\bigl(W\, f_L \circ \cdots \circ f_1(x) + b\bigr),
        \qquad \min\ -\sum_i w_i \log p(y_i \mid x_i) \Big/ \sum_i w_i

    Parameters
    ----------
    layers : {"small", "lenet", "alexnet", "resnet"} or list, default="small"
        The layers :math:`f_1, \ldots, f_L`: words and values of `neural.layers`, such as
        ``[Conv(32, 3), "relu", Pool(2), "flatten", Linear(100), "relu"]``, or a stack by name. The
        last linear layer, to the classes, is added.
    image_shape : tuple of int or None, default=None
        The image (h, w) or (c, h, w) in a flat row. If it is not given, a row is a square image,
        or a line of pixels if their number is no square.
    augment : Augmentation or None, default=None
        How training images are changed each time that they are seen.
    label_smoothing : float, default=0.05
        The share of the target that is spread over all classes, below one; 0 for the likelihood
        alone.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    image_shape_ : tuple of (int, int, int)
        Channels, height and width of an image.
    mean_, scale_ : ndarray of shape (channels,)
        Mean and deviation of the pixels of each channel; images are centred and scaled by them.
    weights_ : dict of {str: ndarray}
        The weights of each layer, by its place in the stack.
    optimizer_state_ : dict
        From which `partial_fit` goes on.
    history_ : dict
        The mean loss of each epoch, and more.
    n_iter_ : int
        Epochs.
    converged_ : bool
        Whether all epochs were walked.
    n_features_in_ : int
        Pixels of an image, over all channels.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X was a frame of flat rows.

    Notes
    -----
    Images are arrays of shape (n, h, w) or (n, c, h, w), channels first, of any kind of number, or
    flat rows. The network computes in float32 and starts with He's weights. "lenet" is for images
    of 32 by 32, "alexnet" and "resnet" (of 18 layers) for three channels of 224 by 224; others
    work as long as the maps do not vanish. Weights of images scale their losses; those of weight
    zero are left out. The defaults were chosen on digits in their given order, where the last
    writers are others than those learned from. A convolution costs :math:`O(m c \, a^2 n^2)` an
    image, for m kernels of a by a pixels and c channels and maps of n by n.

    References
    ----------
    Y. LeCun, L. Bottou, Y. Bengio and P. Haffner (1998). Gradient-based learning applied to
    document recognition. Proceedings of the IEEE 86(11). doi:10.1109/5.726791

    K. Simonyan, A. Vedaldi and A. Zisserman (2014). Deep inside convolutional networks:
    visualising image classification models and saliency maps. ICLR Workshop. arXiv:1312.6034

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.neural import ConvNetClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 6, 6)), np.array(["no", "yes"] * 100)
    >>> X[1::2, 2:4, 2:4] += 2  # a bright spot in the middle
    >>> model = ConvNetClassifier(random_state=0).fit(X[:150], y[:150])
    >>> bool(model.score(X[150:], y[150:]) > 0.9)
    True
    >>> model.feature_maps(X[:1], layer=0).shape, model.saliency(X[:1]).shape
    ((1, 16, 6, 6), (1, 6, 6))
    """

    layers: Literal["small", "lenet", "alexnet", "resnet"] | list | tuple = "small"
    _: KW_ONLY
    label_smoothing: BelowOne = 0.05
    max_epochs: Count | None = 20
    learning_rate: Positive[float] = 3e-3
    schedule: str | Callable = "warmup_cosine"

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from labelled images.

        Parameters
        ----------
        X : array-like of shape (n, h, w), (n, c, h, w) or (n, n_features)
            The images.
        y : array-like of shape (n,)
            Their labels.
        sample_weight : array-like of shape (n,), default=None
            Weights of the images.

        Returns
        -------
        ConvNetClassifier
            The classifier itself.
        """
        images, y, weight = self._begin(X, y, None, sample_weight)
        rng = generator(self.random_state)
        self._set_fitted(self._train(self._initial(rng), images, y, weight, rng))
        return self

    @fitting
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Walk once over further images, in their order of batches.

        Parameters
        ----------
        X : array-like of shape (n, h, w), (n, c, h, w) or (n, n_features)
            The images.
        y : array-like of shape (n,)
            Their labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that may come; needed in the first call.
        sample_weight : array-like of shape (n,), default=None
            Weights of the images.

        Returns
        -------
        ConvNetClassifier
            The classifier itself.
        """
        first = not self.__sklearn_is_fitted__()
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit")
        if not first and classes is not None and not np.array_equal(classes, self.classes_):
            raise ValueError(f"classes={classes!r} is not the same as on the first call")
        images, y, weight = self._begin(X, y, classes, sample_weight, reset=first)
        rng = generator(self.random_state)
        module = self._initial(rng) if first else self._with_weights()
        state = to_tensors(self.optimizer_state_) if not first else None
        more: dict[str, Any] = {"max_epochs": 1, "schedule": "constant", "whole": True}
        run = self._train(module, images, y, weight, rng, optimizer_state=state, **more)
        self._set_fitted(run)
        return self

    def _begin(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, reset: bool = True
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Images, codes of their labels, and weights; what can be known of them is kept."""
        images, y, weight, shape = self._read_labelled(X, y, sample_weight, reset)
        found = np.unique(y if classes is None else classes)
        if reset:
            require_two_classes(found)
            self.classes_, self.image_shape_ = found, shape
            _layers.shapes(self._stack(), shape)
        if unknown := sorted(set(y.tolist()) - set(self.classes_.tolist())):
            raise ValueError(f"y has labels {unknown[:5]} that are not among classes")
        kept = weight > 0
        images, y, weight = images[kept], y[kept], weight[kept]
        if reset and not (self.warm_start and "mean_" in vars(self)):
            self._learn_scale(images, weight)
        return images, np.searchsorted(self.classes_, y), weight

    def _set_fitted(self, run: Run) -> None:
        self.optimizer_state_ = to_arrays(run.players[""].optimizer.state_dict())

    def _stack(self) -> list[Any]:
        return _layers.network(self.layers) if isinstance(self.layers, str) else list(self.layers)

    def _build(self) -> nn.Module:
        return _layers.stack(self._stack(), self.image_shape_, len(self.classes_))

    def feature_maps(self, X: Any, layer: int = 0) -> np.ndarray:
        """Give what a layer makes of images.

        Parameters
        ----------
        X : array-like of shape (n, h, w), (n, c, h, w) or (n, n_features)
            The images.
        layer : int, default=0
            Its place in the list of layers.

        Returns
        -------
        ndarray of shape (n, channels, height, width), or (n, units) after flattening
        """
        self._require_fitted()
        depth = len(self._stack())
        if not 0 <= layer < depth:
            raise ValueError(f"layer must be from 0 to {depth - 1}, a place in layers; got {layer}")
        images, _, _ = read_images(self, X, reset=False)
        part: Any = self.module_[: layer + 1]  # type: ignore[index]
        with torch.inference_mode():
            return part(torch.from_numpy(self._scaled(images))).numpy()

    def saliency(self, X: Any, y: Any = None) -> np.ndarray:
        r"""Give the slope of a label in pixels, :math:`\max_c |\partial \log p / \partial x_c|`.

        Parameters
        ----------
        X : array-like of shape (n, h, w), (n, c, h, w) or (n, n_features)
            The images.
        y : array-like of shape (n,), default=None
            The labels whose probability it is; by default those that are predicted.

        Returns
        -------
        ndarray of shape (n, h, w)
        """
        self._require_fitted()
        images, _, _ = read_images(self, X, reset=False)
        labels = self.predict(images) if y is None else column_or_1d(y)
        if len(labels) != len(images) or not np.isin(labels, self.classes_).all():
            raise ValueError("y must hold one of the labels of classes_ for each image")
        codes = torch.from_numpy(np.searchsorted(self.classes_, labels))
        pixels = torch.from_numpy(self._scaled(images)).requires_grad_()
        chosen = F.log_softmax(self.module_(pixels), dim=1)[torch.arange(len(codes)), codes]
        (slope,) = torch.autograd.grad(chosen.sum(), pixels)
        return np.abs(slope.numpy() / self.scale_[:, None, None]).max(axis=1)
