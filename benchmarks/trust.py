"""Attacks, fairness and curves against their peers."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.harness import Workload
from panlearn.evaluate.rates import bootstrap_roc
from panlearn.trust import FairPostprocessor, attacks, fairness


def decisions(n=1_000_000, groups=20):
    rng = np.random.default_rng(0)
    a, y = rng.integers(groups, size=n), rng.integers(2, size=n)
    return y, (rng.random(n) < 0.3 + 0.3 * y + 0.01 * a).astype(int), a


def fairlearn_gaps(data):
    from fairlearn.metrics import demographic_parity_difference, equalized_odds_difference

    y, d, a = data
    return {
        "independence": demographic_parity_difference(y, d, sensitive_features=a),
        "separation": equalized_odds_difference(y, d, sensitive_features=a),
    }


def people(n=50_000):
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    group = rng.integers(4, size=n)
    X = rng.normal(size=(n, 3)) + 0.3 * group[:, None]
    y = (X[:, 0] + rng.normal(size=n) > 0.7).astype(int)
    return X, y, group, LogisticRegression().fit(X, y)


def ours_odds(data):
    from sklearn.frozen import FrozenEstimator

    X, y, group, scorer = data
    model = FairPostprocessor(FrozenEstimator(scorer)).fit(X, y, sensitive_features=group)
    return model.decision_probability(X, group)


def fairlearn_odds(data):
    from fairlearn.postprocessing import ThresholdOptimizer

    X, y, group, scorer = data
    model = ThresholdOptimizer(
        estimator=scorer, constraints="equalized_odds", prefit=True, predict_method="predict_proba"
    ).fit(X, y, sensitive_features=group)
    return model._pmf_predict(X, sensitive_features=group)[:, 1]


def odds_quality(data, q):
    _, y, group, _ = data
    rates = [[q[(y == k) & (group == g)].mean() for g in range(4)] for k in (0, 1)]
    return {"gap": max(np.ptp(r) for r in rates), "error": np.mean(np.where(y == 1, 1 - q, q))}


def images(n=256):
    import torch

    rng = np.random.default_rng(0)
    torch.random.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(1, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(16, 32, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Flatten(), torch.nn.Linear(32 * 49, 10),
    ).eval()  # fmt: skip
    X = rng.random(size=(n, 1, 28, 28)).astype(np.float32)
    with torch.no_grad():
        y = net(torch.from_numpy(X)).argmax(1).numpy()
    return net, X, y


def ours_pgd(data):
    net, X, y = data
    return attacks.pgd(net, X, y, 0.02, bounds=(0, 1), steps=40, random_start=False).success.mean()


def foolbox_pgd(data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import foolbox
    import torch

    net, X, y = data
    model = foolbox.PyTorchModel(net, bounds=(0, 1))
    attack = foolbox.attacks.LinfPGD(rel_stepsize=2.5 / 40, steps=40, random_start=False)
    _, _, success = attack(model, torch.from_numpy(X), torch.from_numpy(y), epsilons=0.02)
    return float(success.float().mean())


def scored(n=100_000):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=n)
    return y, y + rng.normal(size=n)


def workloads():
    yield Workload(
        "gaps of 1e6 rows in 20 groups",
        "trust.fairness",
        decisions,
        {
            "panlearn": lambda data: fairness.group_rates(*data).gaps,
            "fairlearn": fairlearn_gaps,
        },
        lambda data, gaps: {k: gaps[k] for k in ("independence", "separation")},
        bar=10.0,
    )
    yield Workload(
        "equalised odds, 5e4 rows",
        "trust.FairPostprocessor",
        people,
        {"panlearn": ours_odds, "fairlearn": fairlearn_odds},
        odds_quality,
        bar=5.0,
    )
    yield Workload(
        "PGD-40 on a convolutional network",
        "trust.attacks",
        images,
        {"panlearn": ours_pgd, "foolbox": foolbox_pgd},
        lambda data, rate: {"success": rate},
        bar=1.2,
    )
    yield Workload(
        "bootstrap ROC, 1e5 rows, 1000 draws",
        "evaluate.rates",
        scored,
        {"panlearn": lambda data: bootstrap_roc(*data, n_draws=1000, random_state=0).auroc},
        lambda data, ends: {"low": ends[0], "high": ends[1]},
    )
