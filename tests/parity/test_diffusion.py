"""Steps of a diffusion, forwards and backwards, against diffusers' schedulers."""

import numpy as np
import pytest
import torch

from panlearn.generative._diffusion import NoiseSchedule

diffusers = pytest.importorskip("diffusers")

KINDS = {"linear": "linear", "cosine": "squaredcos_cap_v2"}
PREDICTIONS = {"noise": "epsilon", "sample": "sample", "velocity": "v_prediction"}


def scheduler(cls, kind, prediction="noise", **more):
    made = cls(
        num_train_timesteps=1000,
        beta_schedule=KINDS[kind],
        prediction_type=PREDICTIONS[prediction],
        clip_sample=False,
        **more,
    )
    # which they keep in single precision: steps are compared to more digits than these have
    left = NoiseSchedule(kind, 1000).left
    np.testing.assert_allclose(left, made.alphas_cumprod, atol=1e-6)
    made.alphas_cumprod = left
    return made


def tensors(rng, n=3):
    return [torch.as_tensor(rng.normal(size=(4, 2, 3, 3)), dtype=torch.float64) for _ in range(n)]


@pytest.mark.parametrize("kind", KINDS)
def test_noise_is_added_alike(kind, rng):
    theirs, ours = scheduler(diffusers.DDPMScheduler, kind), NoiseSchedule(kind, 1000)
    np.testing.assert_allclose(ours.betas, theirs.betas, atol=1e-6)
    x, noise, _ = tensors(rng)
    t = torch.tensor([0, 10, 500, 999])
    np.testing.assert_allclose(
        ours.noised(x, noise, t), theirs.add_noise(x, noise, t), rtol=0, atol=1e-6
    )
    np.testing.assert_allclose(
        ours.target("velocity", x, noise, t), theirs.get_velocity(x, noise, t), rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("prediction", PREDICTIONS)
@pytest.mark.parametrize("variance", ["small", "large", "learned"])
def test_ancestral_steps_are_alike(kind, prediction, variance, rng):
    name = {"small": "fixed_small", "large": "fixed_large", "learned": "learned_range"}[variance]
    theirs = scheduler(diffusers.DDPMScheduler, kind, prediction, variance_type=name)
    ours = NoiseSchedule(kind, 1000)
    x, said, share = tensors(rng)
    share = share.sigmoid()
    for step in (0, 1, 40, 700):
        t = torch.full((4,), step)
        noise = torch.randn(x.shape, generator=torch.Generator().manual_seed(step), dtype=x.dtype)
        output = torch.cat([said, 2 * share - 1], dim=1) if variance == "learned" else said
        expected = theirs.step(
            output, step, x, generator=torch.Generator().manual_seed(step)
        ).prev_sample
        found = ours.ancestral(
            *(x, ours.origin(prediction, x, said, t), t, t - 1, noise, variance),
            share if variance == "learned" else None,
        )
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("prediction", PREDICTIONS)
@pytest.mark.parametrize("eta", [0.0, 0.6])
def test_ddim_steps_are_alike(kind, prediction, eta, rng):
    theirs = scheduler(diffusers.DDIMScheduler, kind, prediction, timestep_spacing="trailing")
    ours = NoiseSchedule(kind, 1000)
    theirs.set_timesteps(20)
    assert [step for step, _ in ours.path(20)] == theirs.timesteps.tolist()
    x, said, noise = tensors(rng)
    for step, earlier in [ours.path(20)[i] for i in (5, 18, 19)]:
        t, before = torch.full((4,), step), torch.full((4,), earlier)
        expected = theirs.step(said, step, x, eta=eta, variance_noise=noise).prev_sample
        origin = ours.origin(prediction, x, said, t)
        found = ours.ddim(x, origin, t, before, noise, eta)
        if earlier < 0:  # their scheduler adds noise to x_0 itself, with variance zero
            np.testing.assert_allclose(found, origin, rtol=0, atol=1e-6)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
