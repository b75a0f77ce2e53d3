"""Diffusion against diffusers' schedulers around the same network."""

import numpy as np
import torch
from diffusers import DDIMScheduler, DDPMScheduler
from sklearn.datasets import load_digits

from benchmarks.harness import Workload
from panlearn.generative import DiffusionModel

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
    network = model._network()  # with first weights, as ours begins
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
