"""The vision transformer as a classifier of images."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
import torch
from torch import nn

from panlearn.core.estimator import fitting
from panlearn.core.labels import require_two_classes
from panlearn.core.parameters import BelowOne, Count, NonNegative, Positive
from panlearn.core.random import generator
from panlearn.neural._image_classifier import ImageClassifier
from panlearn.neural._images import Shape, read_images
from panlearn.transformer import _vit_files
from panlearn.transformer._vit import VisionEncoder, resized


@dataclass(eq=False, repr=False)
class ViTClassifier(ImageClassifier):
    r"""An image cut into patches that look at each other, and a token that tells the class.

    .. math::
        x = [c;\, E p_1; \ldots; E p_N] + E_{\text{position}}, \qquad
        p(y = k \mid x) = \operatorname{softmax}_k\bigl(W \operatorname{norm}(f_L \circ \cdots
        \circ f_1(x))_{\text{first}} + b\bigr)

    Parameters
    ----------
    patch_size : int, default=2
        Pixels along each side of a patch. A side of the image that is shorter is one patch; what is
        left over at the lower and right border is not seen.
    n_layers : int, default=2
        Blocks L, each of attention and a feed-forward layer.
    width : int, default=32
        Coordinates of a patch.
    n_heads : int, default=2
        Heads of attention.
    hidden : int, default=None
        Width of the feed-forward layers; four times the width if None.
    dropout : float, default=0.0
        The share of values that are left out in training, below one.
    norm_epsilon : float, default=1e-12
        Is added to the variance in a norm.
    activation : {"gelu", "gelu_tanh", "relu"}, default="gelu"
        Of the feed-forward layers.
    image_shape : tuple of int or None, default=None
        The image (h, w) or (c, h, w) in a flat row. If it is not given, a row is a square image,
        or a line of pixels if their number is no square.
    augment : Augmentation or None, default=None
        How training images are changed each time that they are seen.
    label_smoothing : float, default=0.0
        The share of the target that is spread over all classes, below one.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    image_shape_ : tuple of (int, int, int)
        Channels, height and width of an image.
    mean_, scale_ : ndarray of shape (channels,)
        Mean and deviation of the pixels of each channel; images are centred and scaled by them.
    weights_ : dict of {str: ndarray}
        What was learned.
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
    A step costs :math:`O(N (P + L N d))` an image, P parameters. Positions are learned; those of a
    model that is read are resized for images of another size, bicubically, as the paper does for
    fine-tuning. Weights of images scale their losses; those of weight zero are left out. With
    ``warm_start=True`` `fit` goes on from what was learned or read, and keeps mean and scale; if
    the labels are others, the head starts anew. Positions start larger than in the paper, which
    helps where images are few.

    References
    ----------
    A. Dosovitskiy et al. (2021). An image is worth 16x16 words: transformers for image recognition
    at scale. ICLR. arXiv:2010.11929

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.transformer import ViTClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 6, 6)), np.array(["no", "yes"] * 100)
    >>> X[1::2, 2:4, 2:4] += 2  # a bright spot in the middle
    >>> model = ViTClassifier(random_state=0).fit(X[:150], y[:150])
    >>> bool(model.score(X[150:], y[150:]) > 0.9)
    True
    >>> model.attention_maps(X[:1]).shape  # layers, images, heads, places, places
    (2, 1, 2, 10, 10)
    """

    patch_size: Count = 2
    _: KW_ONLY
    n_layers: Count = 2
    width: Count = 32
    n_heads: Count = 2
    hidden: Count | None = None
    dropout: BelowOne = 0.0
    norm_epsilon: Positive[float] = 1e-12
    activation: Literal["gelu", "gelu_tanh", "relu"] = "gelu"
    learning_rate: Positive[float] = 3e-3
    schedule: str | Callable = "warmup_cosine"
    weight_decay: NonNegative[float] = 0.01
    clip_norm: Positive[float] | None = 1.0

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
        ViTClassifier
            The classifier itself.
        """
        if self.width % self.n_heads:
            raise ValueError(f"width={self.width} is not a multiple of n_heads={self.n_heads}")
        known = self.warm_start and "weights_" in vars(self)
        images, labels, weight, shape = self._read_labelled(X, y, sample_weight)
        classes = np.unique(labels)
        require_two_classes(classes)
        if known:
            self._adapt(shape, classes)
        else:
            self.classes_, self.image_shape_ = classes, shape
        kept = weight > 0
        images, labels, weight = images[kept], labels[kept], weight[kept]
        if not known:
            self._learn_scale(images, weight)
        rng = generator(self.random_state)
        codes = np.searchsorted(self.classes_, labels)
        self._train(self._initial(rng), images, codes, weight, rng)
        return self

    def _adapt(self, shape: Shape, classes: np.ndarray) -> None:
        """Make what is known fit images of another size and other labels."""
        if shape[0] != self.image_shape_[0]:
            raise ValueError(
                f"X has images of {shape[0]} channels; the model knows {self.image_shape_[0]}"
            )
        weights = dict(self.weights_)
        old, new = (_grid(s, self._patch(s)) for s in (self.image_shape_, shape))
        table = torch.tensor(weights["positions"])
        weights["positions"] = resized(table, old, new).numpy()
        if not np.isin(classes, self.classes_).all():
            rows = (len(classes), self.width)
            weights |= {"head.weight": np.zeros(rows, np.float32)}
            weights |= {"head.bias": np.zeros(len(classes), np.float32)}
            self.classes_ = classes
        self.image_shape_, self.weights_ = shape, weights

    def _patch(self, shape: Shape) -> tuple[int, int]:
        return min(self.patch_size, shape[1]), min(self.patch_size, shape[2])

    def _build(self) -> nn.Module:
        return VisionEncoder(
            *(self.image_shape_, self._patch(self.image_shape_), len(self.classes_)),
            n_layers=self.n_layers,
            width=self.width,
            n_heads=self.n_heads,
            hidden=self.hidden or 4 * self.width,
            dropout=self.dropout,
            norm_epsilon=self.norm_epsilon,
            activation=self.activation,
        )

    def attention_maps(self, X: Any) -> np.ndarray:
        """Say which patch looks at which.

        Parameters
        ----------
        X : array-like of shape (n, h, w), (n, c, h, w) or (n, n_features)
            The images.

        Returns
        -------
        ndarray of shape (n_layers, n, n_heads, 1 + n_patches, 1 + n_patches)
            Rows sum to one. The first place is that of the class, then come the patches, row by
            row: ``maps[-1, i, :, 0, 1:]`` is what the class of image i looks at in the end.
        """
        self._require_fitted()
        images, _, _ = read_images(self, X, reset=False)
        module: Any = self.module_
        pixels = torch.from_numpy(self._scaled(images)).to(next(module.parameters()).device)
        with torch.inference_mode():
            return module.attention_maps(pixels).cpu().numpy()

    @classmethod
    def from_pretrained(
        cls,
        folder: str | os.PathLike[str],
        *,
        image_size: tuple[int, int] | None = None,
        device: str = "cpu",
    ) -> Self:
        """Read a classifier of images from a folder of Hugging Face: safetensors, never pickle.

        The model has ``warm_start=True``: `fit` goes on from the weights.

        Parameters
        ----------
        folder : path
            Holds ``config.json`` of a ViT, ``model.safetensors`` or its shards with their index,
            and ``preprocessor_config.json`` if pixels are not centred by 0.5 of 255.
        image_size : tuple of (int, int), default=None
            Height and width of the images that are to come; those of the folder if None. Positions
            are resized for others.
        device : str, default="cpu"
            Where the encoder computes.

        Returns
        -------
        ViTClassifier
            As if it were fitted. Pixels are numbers from 0 to 255, channels first.
        """
        found = _vit_files.read(folder)
        model = cls(**found["fields"], device=device, warm_start=True)
        model.weights_, model.classes_ = found["weights"], found["classes"]
        model.mean_, model.scale_ = found["mean"], found["scale"]
        model.image_shape_ = found["image_shape"]
        if image_size is not None:
            model._adapt((model.image_shape_[0], *image_size), model.classes_)
        model.n_features_in_ = int(np.prod(model.image_shape_))
        return model

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Write a folder that the transformers package and `from_pretrained` read.

        Labels are written as text.

        Parameters
        ----------
        folder : path
            Is made if need be.
        """
        self._require_fitted()
        names = ("patch_size", "n_layers", "width", "n_heads", "dropout", "norm_epsilon")
        fields = {name: getattr(self, name) for name in (*names, "activation")}
        _vit_files.write(
            folder,
            self.weights_,
            self.classes_,
            self.image_shape_,
            self.mean_,
            self.scale_,
            fields | {"hidden": self.hidden or 4 * self.width},
        )


def _grid(shape: Shape, patch: tuple[int, int]) -> tuple[int, int]:
    """Rows and columns of patches."""
    return shape[1] // patch[0], shape[2] // patch[1]
