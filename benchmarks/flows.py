"""Normalising flows against zuko and nflows: steps of training, sampling, densities learned."""

import numpy as np
import torch
import zuko
from nflows.flows.realnvp import SimpleRealNVP
from sklearn.datasets import make_moons

from benchmarks.harness import Workload
from panlearn.generative import MaskedAutoregressiveFlow, RealNVP, SplineTransform

STEPS, SIZE, HIDDEN = 30, 256, (64, 64)


def rows(d=8, n=4000):
    """Columns that depend on each other, standardised."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    X[:, 1:] += X[:, :-1] ** 2
    return ((X - X.mean(0)) / X.std(0)).astype(np.float32)


def loop(flow, log_density, X, steps=STEPS, rate=1e-3):
    """What a careful person writes."""
    X = torch.tensor(X)
    optimizer = torch.optim.AdamW(flow.parameters(), lr=rate, weight_decay=0.0, fused=True)
    generator = torch.Generator().manual_seed(0)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    step = 0
    while step < steps:
        for chosen in torch.randperm(len(X), generator=generator).split(SIZE):
            loss = -log_density(flow, X[chosen]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            step += 1
            if step == steps:
                break
    return flow


def ours(X, kind, steps=STEPS, rate=1e-3, **options):
    settings = {"max_steps": steps, "batch_size": SIZE, "learning_rate": rate, "random_state": 0}
    return kind(hidden_layer_sizes=HIDDEN, schedule="cosine", **settings, **options).fit(X)


def of_zuko(X, kind, steps=STEPS, rate=1e-3, **options):
    torch.manual_seed(0)
    flow = kind(X.shape[1], 0, hidden_features=HIDDEN, **options)
    return loop(flow, lambda flow, x: flow().log_prob(x), X, steps, rate)


def of_nflows(X):
    """Blocks of two layers: as many matrix products as ours, and a few weights more."""
    torch.manual_seed(0)
    flow = SimpleRealNVP(X.shape[1], HIDDEN[0], num_layers=6, num_blocks_per_layer=1)
    return loop(flow, lambda flow, x: flow.log_prob(x), X)


def likelihood(X, model):
    if isinstance(model, torch.nn.Module):
        with torch.no_grad():
            x = torch.tensor(X)
            log = model.log_prob(x) if hasattr(model, "log_prob") else model().log_prob(x)
        weights = sum(p.numel() for p in model.parameters() if p.requires_grad)
        return {"log density": float(log.mean()), "weights": weights}
    weights = sum(p.numel() for p in model.module_.parameters())
    standard = float(np.log(X.std(0)).sum())
    return {"log density": model.score(X) + standard, "weights": weights}


def sampling(d):
    X = rows(d)
    return (
        ours(X, MaskedAutoregressiveFlow, transforms=3),
        of_zuko(X, zuko.flows.MAF, transforms=3),
    )


def spread(_, made):
    return {"standard deviation": float(np.std(made))}


def shapes(name, n=5000):
    rng = np.random.default_rng(1)
    if name == "moons":
        X = make_moons(n, noise=0.05, random_state=1)[0]
    elif name == "eight Gaussians":
        angle = rng.integers(8, size=n) * np.pi / 4
        X = 2 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.2 * rng.normal(size=(n, 2))
    else:
        across = rng.uniform(-2, 2, size=n)
        up = rng.uniform(size=n) - 2 * rng.integers(2, size=n) + np.floor(across) % 2
        X = np.column_stack([across, up])
    return ((X - X.mean(0)) / X.std(0)).astype(np.float32)


def workloads():
    yield Workload(
        f"masked autoregressive flow, {STEPS} steps",
        "generative.MaskedAutoregressiveFlow",
        rows,
        {
            "panlearn": lambda X: ours(X, MaskedAutoregressiveFlow, transforms=3),
            "zuko": lambda X: of_zuko(X, zuko.flows.MAF, transforms=3),
        },
        likelihood,
    )
    for d in (2, 8, 32):
        yield Workload(
            f"masked autoregressive flow, 10000 samples of {d} columns",
            "generative.MaskedAutoregressiveFlow",
            lambda d=d: sampling(d),
            {
                "panlearn": lambda pair: pair[0].sample(10_000, random_state=0),
                "zuko": lambda pair: pair[1]().sample((10_000,)).numpy(),
            },
            spread,
        )
    yield Workload(
        f"RealNVP, {STEPS} steps",
        "generative.RealNVP",
        rows,
        {
            "panlearn": lambda X: ours(X, RealNVP, transforms=6),
            "nflows": of_nflows,
            "zuko": lambda X: of_zuko(X, zuko.flows.NICE, transforms=6),
        },
        likelihood,
        bar=1.2,
    )
    for name in ("moons", "eight Gaussians", "checkerboard"):
        training = {"steps": 400, "rate": 4e-3, "transforms": 3}
        yield Workload(
            f"density of {name}, splines, 400 steps",
            "generative.MaskedAutoregressiveFlow",
            lambda name=name: shapes(name),
            {
                "panlearn": lambda X, training=training: ours(
                    X, MaskedAutoregressiveFlow, univariate=SplineTransform(), **training
                ),
                "zuko": lambda X, training=training: of_zuko(X, zuko.flows.NSF, **training),
            },
            likelihood,
        )
