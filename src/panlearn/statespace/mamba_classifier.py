"""A network of blocks of Mamba that gives each sequence a label."""

from __future__ import annotations

from dataclasses import dataclass

from panlearn.neural._sequence_estimator import SequenceClassifier
from panlearn.statespace._mamba_estimator import MambaEstimator


@dataclass(eq=False, repr=False)
class MambaClassifier(MambaEstimator, SequenceClassifier):
    r"""Selective state spaces that read sequences, keep what matters, and tell their labels.

    .. math::
        h_t = e^{\Delta_t A} h_{t-1} + \Delta_t B_t u_t, \qquad y_t = C_t h_t + D u_t, \qquad
        p(y \mid x_{1:T}) = \operatorname{softmax}\Bigl(V \frac1T \sum_t
        \operatorname{norm}(z_t) + c\Bigr)

    with z what comes out of the last block. Sizes of steps :math:`\Delta_t`, :math:`B_t` and
    :math:`C_t` depend on the input, see `Mamba`.

    Notes
    -----
    X is a list of sequences of any lengths: arrays of shape (T, d), or lists of symbols. A batch is
    padded to its longest sequence. No block looks ahead and the mean is over true steps, so a batch
    gives what its sequences give one by one. Cost and memory are linear in the length. A step of
    training costs :math:`O(B T (P + L E N))`, with the letters of `Mamba`.

    References
    ----------
    Gu, A. and Dao, T. (2023). Mamba: linear-time sequence modeling with selective state spaces.
    https://arxiv.org/abs/2312.00752

    Examples
    --------
    Does a word have more a than b?

    >>> import numpy as np
    >>> from panlearn.statespace import MambaClassifier
    >>> rng = np.random.default_rng(0)
    >>> words = [rng.choice(["a", "b"], size=rng.integers(1, 9)) for _ in range(100)]
    >>> more = [int((w == "a").sum() > (w == "b").sum()) for w in words]
    >>> model = MambaClassifier(8, n_layers=1, batch_size=10, random_state=0).fit(words, more)
    >>> model.predict([list("aab"), list("abbb"), list("aaaabb")])
    array([1, 0, 1])
    """
