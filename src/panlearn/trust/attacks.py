r"""Adversarial examples: rows that are moved a little so that a model errs, and what forbids them.

.. math:: \max_{\|\delta\| \le \epsilon} \ell\bigl(f(x + \delta), y\bigr)

With gradients: `fgsm`, `l2_step`, `pgd`, on torch modules, panlearn's networks and linear models;
on any other classifier or pipeline by differences of its scores. With labels alone: `boundary`.
Without the model: `steal` a surrogate, attack that, and `transfer`. From the other side,
`linear_radius` and `smoothed_radius` promise distances within which nothing can be found.

`fgsm` and `l2_step` cost one gradient a row, `pgd` :math:`O(s)` of them for s steps, and a gradient
by differences :math:`O(d)` scores.

References
----------
Goodfellow, Shlens, Szegedy (2015). Explaining and harnessing adversarial examples. arXiv:1412.6572

Madry, Makelov, Schmidt, Tsipras, Vladu (2018). Towards deep learning models resistant to
adversarial attacks. arXiv:1706.06083

Dong, Liao, Pang, Su, Zhu, Hu, Li (2018). Boosting adversarial attacks with momentum.
arXiv:1710.06081

Chen, Jordan, Wainwright (2020). HopSkipJumpAttack: a query-efficient decision-based attack.
arXiv:1904.02144

Tramèr, Zhang, Juels, Reiter, Ristenpart (2016). Stealing machine learning models via prediction
APIs. arXiv:1609.02943

Cohen, Rosenfeld, Kolter (2019). Certified adversarial robustness via randomized smoothing.
arXiv:1902.02918

Examples
--------
>>> import numpy as np
>>> from sklearn.datasets import load_digits
>>> from sklearn.linear_model import LogisticRegression
>>> from panlearn.trust import attacks
>>> X, y = load_digits(return_X_y=True)
>>> X = X / 16
>>> model = LogisticRegression(max_iter=200).fit(X, y)
>>> found = attacks.pgd(model, X[:200], y[:200], 0.15, bounds=(0, 1), random_state=0)
>>> found.success_rate > 0.5, bool(found.linf.max() <= 0.15 + 1e-9)
(True, True)
>>> safe = attacks.linear_radius(model, X[:200], y[:200]) > 0.15
>>> bool(found.success[safe].any())
False
"""

from panlearn.trust._balls import AttackResult
from panlearn.trust._certified import (
    RobustCurve,
    Smoothed,
    linear_margin,
    linear_radius,
    robust_accuracy_curve,
    smoothed_radius,
)
from panlearn.trust._gradient_attacks import fgsm, l2_step, pgd
from panlearn.trust._query_attacks import (
    bisect,
    boundary,
    boundary_normal,
    score_gradient,
    steal,
    steal_affine,
    transfer,
)

__all__ = [
    "AttackResult",
    "RobustCurve",
    "Smoothed",
    "bisect",
    "boundary",
    "boundary_normal",
    "fgsm",
    "l2_step",
    "linear_margin",
    "linear_radius",
    "pgd",
    "robust_accuracy_curve",
    "score_gradient",
    "smoothed_radius",
    "steal",
    "steal_affine",
    "transfer",
]
