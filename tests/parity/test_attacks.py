"""Attacks beside foolbox's on one network."""

import warnings

import numpy as np
import pytest
import torch

from panlearn.neural._random import seeded
from panlearn.trust import attacks

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it imports a name that SciPy is about to drop
    import foolbox


@pytest.fixture
def setting(rng):
    with seeded(0):
        net = torch.nn.Sequential(
            torch.nn.Linear(10, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4)
        ).eval()
    X = rng.random(size=(100, 10)).astype(np.float32)
    with torch.no_grad():  # no class rules
        net[2].bias -= net(torch.from_numpy(X)).mean(dim=0)
    y = net(torch.from_numpy(X)).argmax(1)
    return net, X, y, foolbox.PyTorchModel(net, bounds=(0, 1))


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_one_step_is_the_same(setting, norm):
    net, X, y, peer = setting
    attack = {"linf": foolbox.attacks.FGSM(), "l2": foolbox.attacks.FGM()}[norm]
    ours = {"linf": attacks.fgsm, "l2": attacks.l2_step}[norm]
    _, theirs, _ = attack(peer, torch.from_numpy(X), y, epsilons=0.1)
    found = ours(net, X, y.numpy(), 0.1, bounds=(0, 1))
    np.testing.assert_allclose(found.adversarial, theirs.numpy(), atol=1e-6)


@pytest.mark.parametrize(("norm", "eps"), [("linf", 0.05), ("l2", 0.15)])
def test_many_steps_succeed_no_less_often(setting, norm, eps):
    net, X, y, peer = setting
    attack = {"linf": foolbox.attacks.LinfPGD, "l2": foolbox.attacks.L2PGD}[norm]
    options = {"rel_stepsize": 2.5 / 40, "steps": 40, "random_start": False}
    _, _, success = attack(**options)(peer, torch.from_numpy(X), y, epsilons=eps)
    found = attacks.pgd(
        net, X, y.numpy(), eps, bounds=(0, 1), norm=norm, steps=40, random_start=False
    )
    assert 0.1 < found.success_rate < 0.95
    assert found.success_rate >= float(success.float().mean()) - 1e-9
