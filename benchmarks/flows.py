"""Normalising flows against zuko and nflows: steps of training, sampling, densities learned."""

import functools

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
    return {"log density": model.score(X), "weights": weights}


def sampling(d):
    X = rows(d)
    return (
        ours(X, MaskedAutoregressiveFlow, transforms=3),
        of_zuko(X, zuko.flows.MAF, transforms=3),
    )


def spread(_, made):
    return {"standard deviation": float(np.std(made))}


def shapes(name, n=5000):
    """Rows to learn from, and as many new ones to be judged by."""
    rng = np.random.default_rng(1)
    if name == "moons":
        X = make_moons(2 * n, noise=0.05, random_state=1)[0]
    elif name == "eight Gaussians":
        angle = rng.integers(8, size=2 * n) * np.pi / 4
        X = 2 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.2 * rng.normal(size=(2 * n, 2))
    else:
        across = rng.uniform(-2, 2, size=2 * n)
        up = rng.uniform(size=2 * n) - 2 * rng.integers(2, size=2 * n) + np.floor(across) % 2
        X = np.column_stack([across, up])
    X = ((X - X.mean(0)) / X.std(0)).astype(np.float32)
    return X[:n], X[n:]


DENSITY = {"steps": 400, "rate": 4e-3}
OTHERS = {  # with as many layers as give about the 22026 weights of three layers of splines
    "MAF": (zuko.flows.MAF, {"transforms": 5}),
    "SOSPF": (zuko.flows.SOSPF, {"transforms": 3}),
    "BPF": (zuko.flows.BPF, {"transforms": 3}),
    "NAF": (zuko.flows.NAF, {"transforms": 2, "network": {"hidden_features": (32, 32)}}),
}


@functools.cache
def best_of_zuko(name):
    """The best log density of new rows that zuko's other flows learn from the same steps."""
    learned, new = shapes(name)
    found = [of_zuko(learned, kind, **DENSITY, **options) for kind, options in OTHERS.values()]
    return max(likelihood(new, flow)["log density"] for flow in found)


def of_new_rows(name):
    """The bar is on the density: within 0.02 of the best that zuko's flows reach."""
    return lambda data, model: {
        **likelihood(data[1], model),
        "best of zuko's other flows": best_of_zuko(name),
    }


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
        yield Workload(
            f"density of {name}, splines, {DENSITY['steps']} steps",
            "generative.MaskedAutoregressiveFlow",
            lambda name=name: shapes(name),
            {
                "panlearn": lambda data: ours(
                    data[0],
                    MaskedAutoregressiveFlow,
                    univariate=SplineTransform(),
                    transforms=3,
                    **DENSITY,
                ),
                "zuko": lambda data: of_zuko(data[0], zuko.flows.NSF, transforms=3, **DENSITY),
            },
            of_new_rows(name),
        )
