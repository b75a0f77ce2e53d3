"""CLIP: images and texts in one space."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from torch import nn

from panlearn.core.estimator import fitting
from panlearn.core.parameters import Count, NonNegative, Positive
from panlearn.core.random import generator
from panlearn.neural._estimator import DeepEstimator
from panlearn.neural._images import read_images
from panlearn.neural._scaling import deviations
from panlearn.representation import _clip_files
from panlearn.representation._clip import MOST, Tower, Towers, pair_losses
from panlearn.representation._preparation import Preparation
from panlearn.representation.clip_tokenizer import CLIPTokenizer

_ROWS = 64  # images or texts that are encoded at a time


class _Learned:
    """What `fit` sets."""

    tokenizer_: CLIPTokenizer
    preparation_: Preparation
    mean_: np.ndarray
    scale_: np.ndarray
    n_tokens_: int
    n_features_in_: int


@dataclass(eq=False, repr=False)
class CLIP(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DeepEstimator, _Learned):
    r"""Images and texts as unit vectors, an image near the text that belongs to it.

    .. math::
        \min\ -\frac{1}{2n} \sum_i \Bigl(\log \frac{e^{s_{ii}}}{\sum_j e^{s_{ij}}}
        + \log \frac{e^{s_{ii}}}{\sum_j e^{s_{ji}}}\Bigr), \qquad
        s_{ij} = e^{\tau} \cos\bigl(f(\text{image}_i), g(\text{text}_j)\bigr)

    over the pairs of a batch; f is a vision transformer, g a causal transformer, and the scale
    :math:`e^{\tau}` is learned with them.

    Parameters
    ----------
    n_components : int, default=32
        Numbers of the common space.
    vision, text : Tower, default=None
        The shapes of the two encoders; two layers of width 64 if None.
    patch_size : int, default=2
        Pixels along each side of a patch.
    context : int, default=32
        The most tokens of a text, its two marks included; the end of a longer one is not seen.
    tokenizer : CLIPTokenizer, default=None
        None learns one of 8000 tokens at most from the texts.
    image_size : int, default=None
        Side of the square that images are brought to: resized until the shorter side fits, and the
        middle cut out. None takes the images as they are, all of one size.
    temperature : float, default=0.07
        What :math:`e^{-\tau}` begins with.

    Attributes
    ----------
    weights_ : dict of {str: ndarray}
        What was learned.
    tokenizer_ : CLIPTokenizer
        Text to tokens.
    preparation_ : Preparation
        How images of other sizes are resized and cut.
    mean_, scale_ : ndarray of shape (channels,)
        What is taken from the pixels of each channel, and what they are divided by.
    n_tokens_ : int
        Rows of the table of tokens.
    history_ : dict
        ``loss``, ``scale`` and, of the images' vectors, how far they are from collapse: ``spread``,
        from 0 to 1, and ``rank``, the number of directions that they use.
    n_iter_ : int
        Epochs.
    converged_ : bool
        False if training was interrupted.
    n_features_in_ : int
        Pixels of an image, over all channels.

    Notes
    -----
    Other pairs of the batch, over all processes, are the wrong answers: where many images share a
    text, some of those are right, and the loss does not reach zero. The scale is held at 100 or
    below. A step costs that of both towers and :math:`O(n^2 d)` for the table of cosines.

    An image is an array of shape (h, w), (c, h, w) or (h, w, c) with pixels from 0 to 255, or
    whatever it was in `fit`; images of other sizes than the model's are resized, by averages of
    pixels if they shrink, and cut to the middle. Grey ones become three equal channels where the
    model knows three.

    References
    ----------
    A. Radford et al. (2021). Learning transferable visual models from natural language
    supervision. ICML. arXiv:2103.00020

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.representation import CLIP
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 6, 6))
    >>> X[::2, :3] += 3
    >>> X[1::2, 3:] += 3
    >>> texts = ["bright above", "bright below"] * 40
    >>> model = CLIP(max_epochs=5, batch_size=20, random_state=0).fit(X, texts)
    >>> model.similarity(X[:2], ["bright above", "bright below"]).argmax(axis=1)
    array([0, 1])
    >>> model.transform(X).shape, model.encode_text(["bright"]).shape
    ((80, 32), (1, 32))
    """

    n_components: Count = 32
    _: KW_ONLY
    vision: Tower | None = None
    text: Tower | None = None
    patch_size: Count = 2
    context: Count = 32
    tokenizer: CLIPTokenizer | None = None
    image_size: Count | None = None
    temperature: Positive[float] = 0.07
    batch_size: Count = 64
    max_epochs: Count | None = 20
    learning_rate: Positive[float] = 1e-3
    schedule: str | Callable = "warmup_cosine"
    weight_decay: NonNegative[float] = 0.01
    clip_norm: Positive[float] | None = 1.0

    @fitting
    def fit(self, X: Any, y: Any) -> Self:
        """Learn from images and their texts.

        Parameters
        ----------
        X : array-like of shape (n, h, w), (n, c, h, w) or (n, n_features), or list of images
            The images.
        y : list of str
            The text of each.

        Returns
        -------
        CLIP
            The model itself.
        """
        if y is None:
            raise ValueError("CLIP requires y to be passed, the texts of the images; it is None")
        if self.batch_size < 2 or self.context < 2:
            raise ValueError(
                f"batch_size={self.batch_size} and context={self.context} must be at least 2: "
                "pairs are compared within a batch, and a text has two marks"
            )
        known = self.warm_start and "weights_" in vars(self)
        images = self._read(X, reset=not known)
        texts = read_texts(y, "y")
        if len(texts) != len(images) or len(texts) < 2:
            raise ValueError(
                f"X has {len(images)} images and y {len(texts)} texts; as many of each are needed, "
                "and two at least"
            )
        if not known:
            self.tokenizer_ = self.tokenizer or CLIPTokenizer.learn(texts)
            self.n_tokens_ = self.tokenizer_.n_tokens
            self.mean_, self.scale_ = deviations(
                np.moveaxis(images, 1, -1).reshape(len(images), -1, images.shape[1])
            )
        rng = generator(self.random_state)
        data = (self._scaled(images), *self._tokens(texts))
        self._learn(self._initial(rng), pair_losses, data, rng)
        return self

    def _build(self) -> nn.Module:
        return Towers.of(
            image_shape=self.image_shape_,
            n_tokens=self.n_tokens_,
            **self._fields(),
            temperature=self.temperature,
        )

    def _fields(self) -> dict[str, Any]:
        given = {name: getattr(self, name) for name in ("n_components", "patch_size", "context")}
        return given | {"vision": self.vision or Tower(), "text": self.text or Tower()}

    @property
    def image_shape_(self) -> tuple[int, int, int]:
        """Channels, height and width of the images that the encoder sees."""
        made = self.preparation_
        return made.channels, made.height, made.width

    @property
    def _n_features_out(self) -> int:
        self._require_fitted()
        return self.n_components

    # -- images and texts ------------------------------------------------------------------------

    def _read(self, X: Any, reset: bool) -> np.ndarray:
        """Validate images, and bring those of other sizes to that of the model."""
        prepare = None if reset else self.preparation_
        if reset and self.image_size is not None:
            side = self.image_size
            prepare = Preparation(_channels(X), side, side, side)
        if prepare is not None and is_images(X):
            X = prepare(X)
        images, _, shape = read_images(self, X, reset=reset)
        if reset:
            short = min(shape[1:])
            self.preparation_ = prepare or Preparation(*shape, short)
        return images

    def _scaled(self, images: np.ndarray) -> np.ndarray:
        scale = np.where(self.scale_ > 0, self.scale_, 1.0)
        wide = np.subtract(images, self.mean_[:, None, None], dtype=np.float64)
        wide /= scale[:, None, None]
        return wide.astype(np.float32)

    def _tokens(self, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Ids of texts, filled up to one length, and the place of the last of each."""
        rows = [self.tokenizer_.encode(text, self.context) for text in texts]
        last = np.array([len(row) - 1 for row in rows])
        ids = np.full((len(rows), last.max() + 1), rows[0][-1], dtype=np.int64)
        for row, found in zip(ids, rows, strict=True):
            row[: len(found)] = found
        return ids, last

    def _encoded(self, encode: Callable[..., torch.Tensor], *arrays: np.ndarray) -> np.ndarray:
        """Unit vectors of rows, some at a time."""
        device, parts = next(self.module_.parameters()).device, []
        for low in range(0, len(arrays[0]), _ROWS):
            rows = [torch.from_numpy(a[low : low + _ROWS]).to(device) for a in arrays]
            with torch.inference_mode():
                parts.append(nn.functional.normalize(encode(*rows)).cpu().numpy())
        return np.concatenate(parts)

    def transform(self, X: Any) -> np.ndarray:
        """Give the unit vectors of images: the same as `encode_image`.

        Parameters
        ----------
        X : array-like of shape (n, h, w), (n, c, h, w) or (n, n_features), or list of images
            The images.

        Returns
        -------
        ndarray of shape (n, n_components)
        """
        self._require_fitted()
        module: Any = self.module_
        return self._encoded(module.image, self._scaled(self._read(X, reset=False)))

    def encode_image(self, X: Any) -> np.ndarray:
        """Give the unit vectors of images.

        Parameters
        ----------
        X : array-like of shape (n, h, w), (n, c, h, w) or (n, n_features), or list of images
            The images.

        Returns
        -------
        ndarray of shape (n, n_components)
        """
        return self.transform(X)

    def encode_text(self, texts: Any) -> np.ndarray:
        """Give the unit vectors of texts.

        Parameters
        ----------
        texts : list of str
            Any texts.

        Returns
        -------
        ndarray of shape (n, n_components)
        """
        self._require_fitted()
        module: Any = self.module_
        return self._encoded(module.text, *self._tokens(read_texts(texts, "texts")))

    def similarity(self, X: Any, texts: Any) -> np.ndarray:
        r"""Give :math:`s_{ij}`, the scaled cosines of images and texts.

        Parameters
        ----------
        X : array-like of shape (n, h, w), (n, c, h, w) or (n, n_features), or list of images
            The images.
        texts : list of str
            The texts.

        Returns
        -------
        ndarray of shape (n_images, n_texts)
            The softmax of a row is the probability of each text for the image.
        """
        return self.logit_scale_ * self.transform(X) @ self.encode_text(texts).T

    @property
    def logit_scale_(self) -> float:
        r"""The factor :math:`e^{\tau}` of the cosines, as it was learned."""
        self._require_fitted()
        return float(np.exp(min(float(self.weights_["log_scale"]), MOST)))

    # -- files -------------------------------------------------------------------------------------

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str], *, device: str = "cpu") -> Self:
        """Read a CLIP from a folder of Hugging Face: safetensors, never pickle.

        The model has ``warm_start=True``: `fit` goes on from the weights and keeps the tokenizer.

        Parameters
        ----------
        folder : path
            Holds ``config.json``, ``model.safetensors`` or its shards with their index, the
            tokenizer (``tokenizer.json``, or ``vocab.json`` and ``merges.txt``), and
            ``preprocessor_config.json`` if images are not prepared as in the first model.
        device : str, default="cpu"
            Where the encoders compute.

        Returns
        -------
        CLIP
            As if it were fitted. Pixels are numbers from 0 to 255.
        """
        found = _clip_files.read(folder)
        side = found["image_shape"][1]
        model = cls(**found["fields"], image_size=side, device=device, warm_start=True)
        model.tokenizer_, model.preparation_ = model.tokenizer, found["preparation"]  # type: ignore
        model.mean_, model.scale_ = found["mean"], found["scale"]
        model.n_tokens_, model.weights_ = found["n_tokens"], found["weights"]
        model.n_features_in_ = int(np.prod(found["image_shape"]))
        return model

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Write a folder that the transformers package and `from_pretrained` read.

        Parameters
        ----------
        folder : path
            Is made if need be.
        """
        self._require_fitted()
        pixels = (self.mean_, self.scale_)
        _clip_files.write(
            *(folder, self._fields(), self.weights_),
            *(self.tokenizer_, self.preparation_, pixels),
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.target_tags.required = True
        return tags


def is_images(X: Any) -> bool:
    """Whether these are images, and not flat rows."""
    if isinstance(X, list | tuple):
        return bool(len(X)) and np.ndim(X[0]) > 1
    return getattr(X, "ndim", 2) > 2


def _channels(X: Any) -> int:
    """How many channels the first of some images has: 1, or 3."""
    if not is_images(X):
        return 1
    shape = np.shape(X[0])
    return 1 if len(shape) == 2 or 1 in (shape[0], shape[-1]) else 3


def read_texts(texts: Any, name: str) -> list[str]:
    """Read a list of texts, and name the row that is none."""
    if isinstance(texts, str | bytes | dict | set) or not hasattr(texts, "__iter__"):
        raise ValueError(f"{name} must be a list of str; got a {type(texts).__name__}")
    found = list(texts)
    for i, text in enumerate(found):
        if not isinstance(text, str):
            raise ValueError(f"{name} must be a list of str; row {i} is {text!r:.60}")
    if not found:
        raise ValueError(f"{name} has no text")
    return [str(text) for text in found]
