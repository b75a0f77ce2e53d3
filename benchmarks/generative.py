"""Diffusion against diffusers' schedulers around the same network; adversarial nets on a grid."""

import copy

import numpy as np
import torch
from diffusers import DDIMScheduler, DDPMScheduler
from sklearn.datasets import load_digits

from benchmarks.harness import Workload
from panlearn.generative import GAN, MMDGAN, DiffusionModel, InfoGAN, WassersteinGAN

EPOCHS, STEPS, RATE = 3, 1000, 2e-3


def digits():
    """Images of 8 by 8 and a model of them that has learned little."""
    X, _ = load_digits(return_X_y=True)
    X = X.reshape(-1, 8, 8).astype(np.float32)
    model = DiffusionModel(
        (24, 48), STEPS, noise_schedule="linear", sampler="ddim", n_sampling_steps=50, clip=False,
        ema_decay=None, optimizer="adam", learning_rate=RATE, max_epochs=EPOCHS, random_state=0,
    )  # fmt: skip
    return X, model.fit(X)


def fit_ours(data):
    X, model = data
    return DiffusionModel(**model.get_params()).fit(X).history_["loss"][-1]


def fit_peer(data):
    X, model = data
    network = copy.deepcopy(model.module_).train()
    scheduler = DDPMScheduler(STEPS, clip_sample=False)
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE)
    rows = torch.as_tensor((X - model.mean_[0]) / model.scale_[0])[:, None]
    random = torch.Generator().manual_seed(0)
    for _ in range(EPOCHS):
        losses = []
        for batch in torch.randperm(len(rows), generator=random).split(model.batch_size):
            x = rows[batch]
            noise = torch.randn(x.shape, generator=random)
            t = torch.randint(0, STEPS, (len(x),), generator=random)
            said, _ = network(scheduler.add_noise(x, noise, t), t)
            loss = (said - noise).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return float(np.mean(losses))


def sample_ours(data):
    return data[1].sample(256, random_state=0)


@torch.no_grad()
def sample_peer(data):
    _, model = data
    scheduler = DDIMScheduler(STEPS, clip_sample=False, timestep_spacing="trailing")
    scheduler.set_timesteps(50)
    x = torch.randn(256, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    for t in scheduler.timesteps:
        said, _ = model.module_(x, torch.full((len(x),), int(t)))
        x = scheduler.step(said, t, x).prev_sample
    return x[:, 0].numpy() * model.scale_[0] + model.mean_[0]


def spread(data, drawn):
    return {"deviation of pixels": float(np.std(drawn)), "of the digits": float(np.std(data[0]))}


def grid():
    """25 Gaussians, and their centres."""
    rng = np.random.default_rng(0)
    side = 2.0 * np.arange(-2, 3)
    centres = np.stack(np.meshgrid(side, side), axis=-1).reshape(25, 2)
    X = centres[rng.integers(25, size=5000)] + 0.1 * rng.normal(size=(5000, 2))
    return X.astype(np.float32), centres


def modes(data, drawn):
    """Centres with at least 1 in 250 samples within four deviations, and samples so near to one."""
    away = np.linalg.norm(drawn[:, None] - data[1], axis=-1)
    good = away.min(axis=1) < 0.4
    counts = np.bincount(away.argmin(axis=1)[good], minlength=25)
    found = float((counts >= len(drawn) / 250).sum())
    return {"modes of 25": found, "share of good samples": float(good.mean())}


COMMON = dict(
    max_epochs=None, schedule="linear", learning_rate=1e-3, ema_decay=0.99, random_state=0
)
GRID = {
    "GAN": GAN(2, max_steps=3000, **COMMON),
    "WassersteinGAN": WassersteinGAN(2, max_steps=3000, n_critic=3, **COMMON),
    "InfoGAN": InfoGAN(2, n_clusters=25, max_steps=3000, **COMMON),
    "MMDGAN": MMDGAN(2, max_steps=1500, **COMMON),
}


def workloads():
    yield Workload(
        f"digits, U-Net, {EPOCHS} epochs of DDPM",
        "generative.DiffusionModel",
        digits,
        {"panlearn": fit_ours, "diffusers": fit_peer},
        lambda data, loss: {"loss of the last epoch": loss},
    )
    yield Workload(
        "digits, U-Net, 256 samples in 50 steps of DDIM",
        "generative.DiffusionModel",
        digits,
        {"panlearn": sample_ours, "diffusers": sample_peer},
        spread,
    )
    for name, model in GRID.items():
        yield Workload(
            f"grid of 25 Gaussians, {name}",
            f"generative.{name}",
            grid,
            {"panlearn": lambda data, m=model: m.fit(data[0]).sample(2500, random_state=0)},
            modes,
        )
