"""Learned differential equations: as a layer, as a classifier, as a model of trajectories."""

import numpy as np
import pytest
import torch
from scipy.linalg import expm
from sklearn.datasets import make_circles
from torch.nn.functional import cross_entropy

import panlearn
from panlearn.generative import NeuralODE, ODELayer
from panlearn.neural import train

A = np.array([[-0.2, 1.0], [-1.0, -0.2]])


def spirals(rng, n=6):
    """Trajectories of dy/dt = A y, of many lengths, at times of their own, in odd units."""
    X, times = [], []
    for _ in range(n):
        t = np.sort(rng.uniform(0, 8, size=rng.integers(10, 25)))
        start = rng.normal(size=2)
        X.append(np.stack([expm(A * (s - t[0])) @ start for s in t]) * [100.0, 0.01] + [5.0, 1.0])
        times.append(60 * t)
    return X, times


@pytest.fixture(scope="module")
def fitted():
    X, times = spirals(np.random.default_rng(0), 12)
    model = NeuralODE(
        16, window=3, batch_size=256, max_epochs=120, learning_rate=0.03, random_state=0
    )
    return model.fit(X, times=times)


def test_irregular_trajectories(fitted):
    X, times = spirals(np.random.default_rng(1))
    assert fitted.score(X, times=times) > 0.97


def test_field_is_that_of_the_data(fitted):
    """In the units of the data the velocity is A y / 60."""
    module = fitted.module_
    y = np.array([0.5, -0.3]) * [100.0, 0.01] + [5.0, 1.0]
    with torch.no_grad():
        velocity = module(torch.tensor((y - fitted.mean_) / fitted.scale_)[None])[0].numpy()
    velocity = velocity * fitted.scale_ / fitted.time_scale_
    expected = A @ [0.5, -0.3] * [100.0, 0.01] / 60
    np.testing.assert_allclose(velocity / expected, 1.0, atol=0.15)


def test_trajectories_do_not_depend_on_their_company(fitted):
    X, times = spirals(np.random.default_rng(2), 3)
    together = fitted.predict(X, times)
    assert [len(x) for x in together] == [len(x) for x in X]
    for i in range(3):
        np.testing.assert_array_equal(together[i][0], X[i][0])
        np.testing.assert_allclose(fitted.predict(X[i], times[i]), together[i], rtol=5e-3)


def test_saved_and_loaded(fitted, tmp_path):
    X, times = spirals(np.random.default_rng(2), 2)
    panlearn.save(fitted, tmp_path / "ode")
    again = panlearn.load(tmp_path / "ode")
    for a, b in zip(again.predict(X, times), fitted.predict(X, times), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("options", [{"method": "dopri5"}, {"gradient": "adjoint"}])
def test_other_ways(options, rng):
    X, times = spirals(rng, 3)
    model = NeuralODE(8, max_epochs=4, learning_rate=0.03, random_state=0, **options)
    losses = model.fit(X, times=times).history_["loss"]
    assert losses[-1] < 0.7 * losses[0]


def test_without_times_and_in_float32(rng):
    X = np.cumsum(rng.normal(size=(30, 2)), axis=0).astype(np.float32)
    model = NeuralODE(8, max_epochs=2, random_state=0).fit(X)
    found = model.predict(X)
    assert (found.shape, found.dtype, model.time_scale_) == ((30, 2), np.float32, 1.0)


@pytest.mark.parametrize(
    ("X", "times", "told"),
    [
        ([np.ones((1, 2))], None, "two observations"),
        ([np.ones((3, 2))], [[0, 1]], "one time for each"),
        ([np.eye(2)], [[1, 1]], "rise"),
        ([np.eye(2)], [[0, np.nan]], "finite"),
    ],
)
def test_refused(X, times, told):
    with pytest.raises(ValueError, match=told):
        NeuralODE().fit(X, times=times)


def test_layer_of_a_linear_field_is_a_matrix_exponential():
    field = torch.nn.Linear(2, 2, bias=False).double()
    with torch.no_grad():
        field.weight.copy_(torch.tensor(A))
    layer = ODELayer(field, 2.0, rtol=1e-9, atol=1e-11)
    x = torch.randn(4, 2, dtype=torch.float64)
    np.testing.assert_allclose(layer(x).detach(), x.numpy() @ expm(2 * A).T, rtol=1e-6, atol=1e-8)
    residual = ODELayer(field, method="euler")
    torch.testing.assert_close(residual(x), x + field(x))


@pytest.mark.parametrize("gradient", ["plain", "adjoint"])
def test_layer_inside_a_classifier(gradient):
    """Two circles, which no line divides, by a layer in a network that the one loop trains."""
    X, y = make_circles(300, noise=0.05, factor=0.4, random_state=0)
    made = torch.random.fork_rng()
    with made:
        torch.manual_seed(0)
        field = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))
        network = torch.nn.Sequential(
            torch.nn.ConstantPad1d((0, 1), 0.0),
            ODELayer(field, method="rk4", step_size=0.5, gradient=gradient),
            torch.nn.Linear(3, 2),
        )

    def objective(module, batch):
        return cross_entropy(module(batch[0]), batch[1], reduction="none")

    data = (X.astype(np.float32), y)
    train(
        network, objective, data, max_epochs=40, batch_size=100, learning_rate=0.03, random_state=0
    )
    with torch.no_grad():
        right = network(torch.tensor(data[0])).argmax(dim=1).numpy() == y
    assert right.mean() > 0.97
