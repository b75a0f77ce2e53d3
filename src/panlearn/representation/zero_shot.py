"""Classifiers on an encoder that stays as it is: from texts alone, or from a few examples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from panlearn.core.estimator import fitting
from panlearn.core.parameters import Positive
from panlearn.core.validation import FLOATS, reject_hidden
from panlearn.representation._prototypes import PrototypeClassifier, unit
from panlearn.representation.clip import read_texts


@dataclass(eq=False, repr=False)
class ZeroShotClassifier(PrototypeClassifier):
    r"""Images by the nearest text of a class, without a labelled example.

    .. math::
        \hat y(x) = \arg\max_c\ \cos(f(x), v_c), \qquad
        v_c = \frac{1}{|P_c|} \sum_{p \in P_c} \frac{g(p)}{\lVert g(p) \rVert}, \qquad
        p(c \mid x) \propto \exp(e^{\tau} \cos(f(x), v_c))

    with the texts :math:`P_c` that describe class c.

    Parameters
    ----------
    prompts : dict, str or list of str, default=None
        The text of each label, or several: ``{"cat": ["a cat", "a photo of a cat"], ...}``. Or one
        template or several, such as ``"a photo of a {}"``, for the labels that `fit` is given.
    model : CLIP, default=None
        One that was fitted or read. It is not changed, and a clone of the classifier shares it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    prototypes_ : ndarray of shape (n_classes, n_components)
        The unit vector :math:`v_c` of each.

    Notes
    -----
    `fit` encodes the texts and learns nothing; a new class is a new text. Several texts of a class
    count as their mean, as in the paper. An image costs a pass of its tower and :math:`O(k d)` for
    k classes.

    References
    ----------
    A. Radford et al. (2021). Learning transferable visual models from natural language
    supervision. ICML. arXiv:2103.00020

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.representation import CLIP, ZeroShotClassifier
    >>> X = np.random.default_rng(0).normal(size=(80, 6, 6))
    >>> X[::2, :3] += 3
    >>> X[1::2, 3:] += 3
    >>> texts = ["bright above", "bright below"] * 40
    >>> clip = CLIP(max_epochs=5, batch_size=20, random_state=0).fit(X, texts)
    >>> model = ZeroShotClassifier({"sky": "bright above", "snow": "bright below"}, clip).fit()
    >>> print(*model.predict(X[:4]))
    sky snow sky snow
    """

    prompts: dict | str | list | None = None
    model: Any = None

    @fitting
    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Encode the texts of the classes.

        Parameters
        ----------
        X : object, default=None
            Ignored.
        y : array-like of shape (n_samples,), default=None
            Labels, which are asked for where `prompts` are templates, and else ignored.

        Returns
        -------
        ZeroShotClassifier
            The classifier itself.
        """
        if not hasattr(self.model, "encode_text"):
            raise ValueError(
                f"model must be a CLIP that was fitted or read; got {self.model!r:.60}"
            )
        check_is_fitted(self.model)
        texts = self._texts(y)
        if len({type(label) for label in texts}) > 1:
            raise ValueError(f"the labels of prompts must be of one type; got {list(texts)!r:.80}")
        self.classes_ = np.unique(np.array(list(texts)))
        by_name = {str(label): found for label, found in texts.items()}
        means = [
            self.model.encode_text(by_name[str(label)]).mean(axis=0) for label in self.classes_
        ]
        self.prototypes_ = unit(np.stack(means))
        return self

    def _texts(self, y: Any) -> dict[Any, list[str]]:
        """The texts of each label."""
        given = self.prompts
        if isinstance(given, Mapping):
            made = {}
            for label, texts in given.items():
                texts = [texts] if isinstance(texts, str) else texts
                made[label] = read_texts(texts, f"prompts[{label!r}]")
            if len(made) < 2:
                raise ValueError(f"prompts must have two labels or more; got {list(made)}")
            return made
        templates = [given] if isinstance(given, str) else given
        if not templates or not all(isinstance(t, str) and "{}" in t for t in templates):
            raise ValueError(
                "prompts must be a dict from labels to texts, or templates that hold '{}' for the "
                f"label; got {given!r:.80}"
            )
        if y is None:
            raise ValueError("prompts are templates: fit needs y, the labels, or give a dict")
        labels = np.unique(column_or_1d(y))
        if len(labels) < 2:
            raise ValueError(f"y has one label, {labels[0]!r}; two or more are needed")
        return {label: [t.replace("{}", str(label)) for t in templates] for label in labels}

    def _vectors(self, X: Any) -> np.ndarray:
        return self.model.transform(X)

    @property
    def _scale(self) -> float:
        return self.model.logit_scale_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.target_tags.required = False
        return tags


@dataclass(eq=False, repr=False)
class FewShotClassifier(PrototypeClassifier):
    r"""Examples by the nearest mean of a class, in the space of an encoder.

    .. math::
        \hat y(x) = \arg\max_c\ \cos(f(x), m_c), \qquad
        m_c = \sum_{i : y_i = c} w_i \frac{f(x_i)}{\lVert f(x_i) \rVert}, \qquad
        p(c \mid x) \propto \exp(s \cos(f(x), m_c))

    Parameters
    ----------
    model : transformer, default=None
        The encoder f: a `CLIP`, `SimCLR` or whatever has ``transform``, fitted. It is not changed,
        and a clone of the classifier shares it. None takes rows as they are.
    scale : float, default=10.0
        The factor s, which tells how sure probabilities are.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    prototypes_ : ndarray of shape (n_classes, n_components)
        The unit vector of each.
    n_features_in_ : int
        Columns of X, where there is no encoder.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    A new class needs its examples and no training: `fit` costs one pass of the encoder. A class
    whose examples cancel each other has a vector of zeros, and all cosines with it are zero. An
    example costs a pass of the encoder and :math:`O(k d)` for k classes.

    References
    ----------
    J. Snell, K. Swersky and R. Zemel (2017). Prototypical networks for few-shot learning. NeurIPS.
    arXiv:1703.05175

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.representation import FewShotClassifier
    >>> X = np.array([[1.0, 0.1], [2.0, -0.3], [0.1, 1.0], [-0.2, 3.0]])
    >>> model = FewShotClassifier().fit(X, ["right", "right", "up", "up"])
    >>> print(*model.predict([[5.0, 1.0], [0.5, 0.9]]))
    right up
    """

    model: Any = None
    _: KW_ONLY
    scale: Positive[float] = 10.0

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Average the vectors of labelled examples.

        Parameters
        ----------
        X : array-like
            Examples, such as the encoder takes.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the examples.

        Returns
        -------
        FewShotClassifier
            The classifier itself.
        """
        if self.model is not None and not hasattr(self.model, "transform"):
            raise ValueError(
                f"model must have transform, as CLIP and SimCLR do, or be None; got "
                f"{self.model!r:.60}"
            )
        if self.model is None:
            reject_hidden(X=X, y=y, sample_weight=sample_weight)
            vectors, y = validate_data(self, X, y, dtype=FLOATS)
        elif y is None:
            raise ValueError("FewShotClassifier requires y to be passed, but the target y is None")
        else:
            vectors, y = self._vectors(X), column_or_1d(y, warn=True)
            if len(vectors) != len(y):
                raise ValueError(f"X has {len(vectors)} examples and y {len(y)} labels")
        check_classification_targets(y)
        weight = _check_sample_weight(
            sample_weight, vectors, dtype=vectors.dtype, ensure_non_negative=True
        )
        there = weight > 0
        self.classes_, codes = np.unique(y[there], return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y has one class, {self.classes_!r}; two or more are needed")
        chosen = (codes[:, None] == np.arange(len(self.classes_))) * weight[there][:, None]
        self.prototypes_ = unit(chosen.T @ unit(vectors[there])).astype(vectors.dtype)
        return self

    def _vectors(self, X: Any) -> np.ndarray:
        if self.model is not None:
            return np.asarray(self.model.transform(X))
        return validate_data(self, X, dtype=FLOATS, reset=False)

    @property
    def _scale(self) -> float:
        return self.scale
