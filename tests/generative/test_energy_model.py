"""Energies: slopes against densities on a grid, closed forms of normals, chains that are kept."""

import numpy as np
import pytest
import torch
from torch import nn

import panlearn
from panlearn.generative import EnergyModel
from panlearn.generative._energy import EnergyNetwork, contrastive_losses, langevin
from panlearn.neural import train
from panlearn.neural._draws import Draws, Share
from panlearn.neural._layers import MLP
from panlearn.neural._processes import Processes
from panlearn.neural._step import Step

CPU = torch.device("cpu")
QUICK = dict(max_epochs=2, n_steps=2, n_sampling_steps=3, random_state=0)
WAYS = ["persistent", "contrastive_divergence"]


def step(rows, low=0, whole=None, processes=None, **more):
    processes = processes or Processes("ddp", CPU)
    share = Share(low, rows, whole or rows)
    return Step(share, 3, 0, CPU, epoch=0, processes=processes, **more)


def perceptron(n, chains=None):
    torch.manual_seed(0)
    return EnergyNetwork(MLP((n, 8, 1), "tanh"), chains).double()


# -- the slope ---------------------------------------------------------------------------------


def minus_log_density(module, x, grid):
    """The mean of -log p over rows, with Z summed on a grid, but for the size of its cells."""
    return module(x).mean() + torch.logsumexp(-module(grid), 0)


def exact_draws(module, grid, n):
    """Cells of the grid as often as their probability says, to one part in n."""
    with torch.no_grad():
        cumulative = torch.softmax(-module(grid), 0).cumsum(0)
    return grid[
        torch.searchsorted(cumulative, (torch.arange(n) + 0.5) / n).clamp(max=len(grid) - 1)
    ]


@pytest.mark.parametrize("n_columns", [1, 2])
def test_the_slope_of_the_loss_is_that_of_the_likelihood_if_chains_are_exact(n_columns, rng):
    axis = torch.linspace(-7, 7, 4001 if n_columns == 1 else 141, dtype=torch.float64)
    grid = torch.cartesian_prod(*[axis] * n_columns).reshape(-1, n_columns)
    module, n = perceptron(n_columns), 40_000
    x = torch.as_tensor(rng.normal(0.7, 1.4, size=(500, n_columns)))
    weights = list(module.parameters())
    exact = torch.autograd.grad(minus_log_density(module, x, grid), weights)

    module.chains = exact_draws(module, grid, n)
    objective = contrastive_losses(1, 1e-12, penalty=0.0)  # a move too short to matter
    losses = objective(module, (x.repeat(n // 500, 1),), step(n))
    for found, expected in zip(torch.autograd.grad(losses.mean(), weights), exact, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=2e-4)


def test_the_penalty_is_on_what_the_network_adds(rng):
    module, x = perceptron(2), torch.as_tensor(rng.normal(size=(5, 2)))
    losses = [contrastive_losses(2, 0.1, a)(module, (x,), step(5)) for a in (0.0, 0.5)]
    chain, _ = langevin(module, x, step(5), 2, 0.1)
    added = [module(z) - (z**2).sum(1) / 2 for z in (x, chain)]
    torch.testing.assert_close(losses[0], module(x) - module(chain))
    torch.testing.assert_close(losses[1] - losses[0], 0.5 * (added[0] ** 2 + added[1] ** 2))


def test_long_moves_keep_a_law_and_lead_to_it():
    """Of E = a x^2 / 2 + y^4 / 4, at a length at which moves that are all made have another."""
    n, a, epsilon = 40_000, 2.0, 0.7
    draws = Draws(Share(0, n, n), 0, 0, CPU)
    axis = torch.linspace(-4, 4, 8001, dtype=torch.float64)
    cumulative = torch.softmax(-(axis**4) / 4, 0).cumsum(0)
    quartic = axis[torch.searchsorted(cumulative, (torch.arange(n) + 0.5) / n)]
    exact = torch.stack([draws.normal(dtype=torch.float64) / a**0.5, quartic], dim=1)
    powers = [1 / a, 1.0]  # the means of x^2 and of y^4, both by parts

    def energy(z):
        return a * z[:, 0] ** 2 / 2 + z[:, 1] ** 4 / 4

    kept, share = langevin(energy, exact, draws, 1, epsilon)
    led, _ = langevin(energy, torch.ones_like(exact), draws, 25, epsilon)
    assert 0.5 < share.mean() < 0.95
    assert torch.equal((kept != exact).any(1), share == 1)
    for moved in (kept, led):
        found = [moved[:, 0].square(), moved[:, 1] ** 4]
        for values, expected in zip(found, powers, strict=True):
            error = values.std().item() / n**0.5
            assert values.mean().item() == pytest.approx(expected, abs=4 * error)
        assert moved.mean(0).abs().max() < 4 / n**0.5


def test_a_move_is_made_as_often_as_metropolis_and_hastings_say(rng):
    """The ratio from the densities of the proposals there and back, in so many words."""
    n, epsilon, x = 20_000, 0.9, 1.3
    heights = {1: lambda z: z**4 / 4, 0: lambda z: z**3}  # the energy, and its slope
    centre = x - epsilon / 2 * heights[0](x)
    there = centre + epsilon**0.5 * rng.normal(size=n)
    back = there - epsilon / 2 * heights[0](there)
    log_ratio = heights[1](x) - heights[1](there)
    log_ratio += ((there - centre) ** 2 - (x - back) ** 2) / (2 * epsilon)
    expected = np.exp(np.minimum(log_ratio, 0)).mean()
    start = torch.full((n, 1), x, dtype=torch.float64)
    draws = Draws(Share(0, n, n), 1, 0, CPU)
    _, share = langevin(lambda z: z[:, 0] ** 4 / 4, start, draws, 1, epsilon)
    assert share.mean().item() == pytest.approx(expected, abs=4 * (0.5 / n) ** 0.5)


def test_energies_without_bound_or_number_are_not_entered():
    draws = Draws(Share(0, 200, 200), 0, 0, CPU)
    walls = lambda z: torch.where(z.abs() > 1, torch.nan, z).square().sum(1)  # noqa: E731
    moved, share = langevin(walls, torch.zeros(200, 1), draws, 20, 1.0)
    assert (moved.abs() <= 1).all()
    assert 0 < share.mean() < 1


# -- what is learned ---------------------------------------------------------------------------


@pytest.mark.parametrize("hidden", [(), 8, (8, 6)])
def test_a_model_begins_as_the_standard_normal(hidden, rng):
    X = rng.normal(size=(30, 3)) * [1, 10, 100] + 5
    model = EnergyModel(hidden, learning_rate=1e-12, batch_size=30, **QUICK).fit(X)
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    np.testing.assert_allclose(model.energy(X), (z**2).sum(axis=1) / 2, rtol=1e-8)
    assert model.module_.network(torch.as_tensor(z)).shape == (30, 1)  # one number a row
    chains = model.weights_["chains"]
    assert chains.shape == (30, 3)
    assert abs(chains.mean()) < 5 / 90**0.5
    assert 0.6 < chains.std() < 1.4


class Quadratic(nn.Module):
    """An addition to the energy that is quadratic, so that the model is a normal."""

    def __init__(self):
        super().__init__()
        self.square = nn.Parameter(torch.zeros(2, 2, dtype=torch.float64))
        self.linear = nn.Parameter(torch.zeros(2, dtype=torch.float64))

    def forward(self, x):
        return ((x @ self.square * x).sum(1) / 2 + x @ self.linear)[:, None]


@pytest.mark.parametrize("way", WAYS)
def test_the_best_quadratic_energy_has_the_moments_of_the_data(way, rng):
    covariance, n = np.array([[1.5, 0.6], [0.6, 0.8]]), 1000
    X = rng.normal(size=(n, 2)) @ np.linalg.cholesky(covariance).T + [0.5, -0.3]
    chains = torch.as_tensor(rng.normal(size=(n, 2))) if way == "persistent" else None
    module = EnergyNetwork(Quadratic(), chains)
    objective = contrastive_losses(3, 0.5, penalty=0.0)
    train(module, objective, (X,), batch_size=n, max_epochs=80, optimizer="sgd",
          learning_rate=0.5, schedule="cosine", random_state=0)  # fmt: skip
    square = module.network.square.detach().numpy()
    slope = np.eye(2) + (square + square.T) / 2
    np.testing.assert_allclose(slope @ np.cov(X.T), np.eye(2), atol=0.12)
    mean = -np.linalg.solve(slope, module.network.linear.detach().numpy())
    np.testing.assert_allclose(mean, X.mean(0), atol=0.08)


@pytest.mark.parametrize("way", WAYS)
def test_a_normal_table_is_learned(way, rng):
    scale, mean = np.array([1000.0, 1.0]), np.array([5.0, 7.0])
    X = rng.normal(size=(256, 2)) @ np.linalg.cholesky([[1.3, 0.6], [0.6, 0.7]]).T * scale + mean
    X = np.hstack([X, np.full((256, 1), 4.0)])
    model = EnergyModel(
        16, training=way, batch_size=256, max_epochs=80, n_steps=5, step_size=0.3,
        learning_rate=0.02, schedule="cosine", n_sampling_steps=40, random_state=0,
    ).fit(X)  # fmt: skip
    drawn = model.sample(1000, random_state=0)
    assert (drawn[:, 2] == 4).all()
    ours, real = drawn[:, :2] / scale, X[:, :2] / scale
    np.testing.assert_allclose(ours.mean(0), real.mean(0), atol=0.15)
    np.testing.assert_allclose(np.cov(ours.T), np.cov(real.T), atol=0.25)
    rows = X[:60]
    gap = real[:60] - real.mean(0)
    exact = (gap @ np.linalg.inv(np.cov(real.T)) * gap).sum(1) / 2
    error = model.energy(rows) - exact
    assert np.abs(error - np.median(error)).mean() < 0.3 * np.abs(exact - np.median(exact)).mean()
    assert not hasattr(model, "score_samples")  # whose constant is not known
    assert {"energy", "chain_energy", "acceptance"} <= set(model.history_)


def test_two_narrow_modes_are_learned_and_energies_stay_bounded(rng):
    """The density, with its constant from a grid, is near the true one."""
    X = rng.normal(size=(400, 1)) / 2 + np.repeat([[-2.0], [2.0]], 200, axis=0)
    model = EnergyModel(
        (16, 16), training="contrastive_divergence", batch_size=400, max_epochs=80, n_steps=5,
        learning_rate=0.03, schedule="cosine", random_state=0,
    ).fit(X)  # fmt: skip
    grid = np.linspace(-6, 6, 601)
    energies = model.energy(grid[:, None])
    density = np.exp(energies.min() - energies)
    truth = np.exp(-2 * (grid - 2) ** 2) + np.exp(-2 * (grid + 2) ** 2)
    gap = np.abs(density / density.sum() - truth / truth.sum()).sum() / 2
    assert gap < 0.3  # the normal of the same variance is 0.5 away
    assert np.ptp(energies[np.abs(grid) < 3]) < 10


# -- chains ------------------------------------------------------------------------------------


def test_chains_go_on_where_they_were_and_measuring_leaves_them(rng):
    first = torch.as_tensor(rng.normal(size=(6, 2)))
    module, objective = perceptron(2, first.clone()), contrastive_losses(4, 0.1, 0.0)
    x = torch.as_tensor(rng.normal(size=(4, 2)))
    with torch.no_grad():
        objective(module, (x,), step(4, training=False))
    assert torch.equal(module.chains, first)
    objective(module, (x,), step(4))
    expected, _ = langevin(module, first[:4], step(4), 4, 0.1)
    assert torch.equal(module.chains, torch.cat([expected, first[4:]]))
    # chains that start at the rows are not kept
    fresh = perceptron(2)
    objective(fresh, (x,), step(4))
    assert fresh.chains is None
    assert "chains" not in fresh.state_dict()


def test_processes_share_chains(rng):
    """Each moves those of its rows, and all keep all."""
    first, x = (torch.as_tensor(rng.normal(size=(6, 2))) for _ in range(2))
    objective = contrastive_losses(3, 0.1, 0.1)
    alone = perceptron(2, first.clone())
    losses = objective(alone, (x,), step(6))
    moved = alone.chains.clone()

    class Two:
        world = 2

        def gather(self, rows):
            torch.testing.assert_close(rows, self.mine)
            return moved

    for low, high in ((0, 2), (2, 6), (6, 6)):  # the last one has no row
        two = Two()
        two.mine = moved[low:high]
        module = perceptron(2, first.clone())
        rows = x[low:high] if high > low else torch.zeros(1, 2, dtype=x.dtype)
        part = objective(module, (rows,), step(high - low, low, 6, two))
        if high > low:
            torch.testing.assert_close(part, losses[low:high])
        assert torch.equal(module.chains, moved)


def test_a_process_without_a_row_moves_the_first_chain_and_keeps_none(rng):
    first = torch.as_tensor(rng.normal(size=(1, 2)))

    class Two:
        world = 2

        def gather(self, rows):
            assert len(rows) == 0
            return first + 1  # what the other process moved

    module = perceptron(2, first.clone())
    stands_in = torch.zeros(1, 2, dtype=torch.float64)
    losses = contrastive_losses(2, 0.1, 0.0)(module, (stands_in,), step(0, 1, 1, Two()))
    moved, _ = langevin(module, first, step(0, 1, 1), 2, 0.1)
    torch.testing.assert_close(losses, module(stands_in) - module(moved))
    assert torch.equal(module.chains, first + 1)


@pytest.mark.parametrize("way", WAYS)
def test_pieces_change_nothing_and_a_cut_run_ends_with_the_same_bits(way, rng, tmp_path):
    X = rng.normal(size=(50, 2))  # with a last batch of ten
    options = dict(training=way, batch_size=20, max_epochs=3, n_steps=3, random_state=1)
    whole = EnergyModel(4, **options).fit(X)
    pieces = EnergyModel(4, accumulate=3, **options).fit(X)
    cut = dict(checkpoint=str(tmp_path), resume=True, **options)
    EnergyModel(4, max_steps=4, **cut).fit(X)  # in the middle of an epoch
    resumed = EnergyModel(4, **cut).fit(X)
    assert ("chains" in whole.weights_) == (way == "persistent")
    for name, value in whole.weights_.items():
        np.testing.assert_array_equal(resumed.weights_[name], value)
        np.testing.assert_allclose(pieces.weights_[name], value, rtol=1e-6, atol=1e-9)


def test_a_warm_start_goes_on_with_the_chains(rng):
    X = rng.normal(size=(30, 2))
    model = EnergyModel(4, ema_decay=None, warm_start=True, batch_size=30, **QUICK).fit(X)
    chains = model.weights_["chains"].copy()
    model.set_params(step_size=1e-12).fit(X)
    np.testing.assert_allclose(model.weights_["chains"], chains, atol=1e-4)


# -- what siblings promise ---------------------------------------------------------------------


def test_a_seed_and_a_file_give_the_same_bits(rng, tmp_path):
    X = rng.normal(size=(30, 3)).astype(np.float32)
    model = EnergyModel(4, batch_size=16, **QUICK).fit(X)
    state = torch.get_rng_state()
    drawn = model.sample(40, random_state=5)
    assert torch.equal(torch.get_rng_state(), state)
    panlearn.save(model, tmp_path / "model")
    loaded = panlearn.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.sample(40, random_state=5), drawn)
    np.testing.assert_array_equal(loaded.energy(X), model.energy(X))
    assert drawn.dtype == model.energy(X).dtype == np.float32
    assert not np.allclose(model.sample(40, random_state=6), drawn)
    with pytest.raises(ValueError, match="n_samples="):
        model.sample(0)


def test_images_and_frames_come_back_as_they_were(rng):
    pd = pytest.importorskip("pandas")
    X = rng.normal(size=(12, 2, 3, 4)).astype(np.float32)
    model = EnergyModel(4, validation_fraction=0.25, **QUICK).fit(X)
    assert model.sample(2).shape == (2, 2, 3, 4)
    assert model.energy(X).shape == (12,)
    assert len(model.history_["validation_loss"]) == 2
    frame = pd.DataFrame(rng.normal(size=(9, 2)) * [1e12, 1e-9], columns=["mass", "length"])
    model = EnergyModel((), **QUICK).fit(frame)  # no hidden layer: a normal with a mean
    assert list(model.sample(3).columns) == ["mass", "length"]
    assert np.isfinite(model.energy(frame * 1e6)).all()


@pytest.mark.parametrize(
    "bad",
    [{"training": "cd"}, {"step_size": 0.0}, {"penalty": -1.0}, {"n_steps": 0}],
    ids=str,
)
def test_bad_settings_are_refused_by_name(bad, rng):
    with pytest.raises(ValueError, match=next(iter(bad))):
        EnergyModel(**bad).fit(rng.normal(size=(9, 2)))


def test_energies_are_of_rows_like_those_of_fit(rng):
    model = EnergyModel(4, **QUICK).fit(rng.normal(size=(9, 4)))
    with pytest.raises(ValueError, match=r"3 dimensions.*rows of 4 columns"):
        model.energy(np.zeros((3, 2, 2)))
    with pytest.raises(ValueError, match="expecting 4"):
        model.energy(np.zeros((3, 2)))
