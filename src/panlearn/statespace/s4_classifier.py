"""A network of S4 layers that gives each sequence a label."""

from __future__ import annotations

from dataclasses import dataclass

from panlearn.neural._sequence_estimator import SequenceClassifier
from panlearn.statespace._s4_estimator import S4Estimator


@dataclass(eq=False, repr=False)
class S4Classifier(S4Estimator, SequenceClassifier):
    r"""Linear state spaces that read sequences of thousands of steps, and tell their labels.

    .. math::
        z \leftarrow z + \operatorname{glu}(W \operatorname{gelu}(\bar K * \operatorname{norm}(z) +
        D \operatorname{norm}(z))) \quad (L \text{ times}), \qquad
        p(y \mid x_{1:T}) = \operatorname{softmax}\Bigl(V \frac1T \sum_t \operatorname{norm}(z_t)
        + c\Bigr)

    Notes
    -----
    X is a list of sequences of any lengths: arrays of shape (T, d), or lists of symbols. A batch is
    padded to its longest sequence. No layer looks ahead and the mean is over true steps, so a batch
    gives what its sequences give one by one. All steps are computed at once, by convolution in
    :math:`O(T \log T)`, where a recurrent network takes one after the other; see `S4`.

    References
    ----------
    Gu, A., Goel, K. and Re, C. (2022). Efficiently modeling long sequences with structured state
    spaces. ICLR. https://arxiv.org/abs/2111.00396

    Examples
    --------
    Was there a flash in the first steps of a long and noisy signal?

    >>> import numpy as np
    >>> from panlearn.statespace import S4Classifier
    >>> rng = np.random.default_rng(0)
    >>> X = [rng.normal(scale=0.1, size=(100, 1)) for _ in range(60)]
    >>> y = np.arange(60) % 2
    >>> for x, flash in zip(X, y):
    ...     x[:5] += flash
    >>> model = S4Classifier(8, n_layers=1, pooling="last", batch_size=6, random_state=0)
    >>> float(model.fit(X, y).score(X, y))
    1.0
    """
