"""The functions whose growth is measured, each with the data of a size; see `growth`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from panlearn import (
    bayes,
    evaluate,
    kernel,
    latent,
    linear,
    montecarlo,
    optimize,
    preprocessing,
    retrieval,
    sequence,
    text,
    theory,
    tree,
    trust,
)

Sized = Callable[[int], Callable[[], Any]]
WORDS = np.array([a + b + c for a in "bdfgklm" for b in "aeiou" for c in "lnrst"])


def rows(n: int, d: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Make a table and a target that depends on it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, X @ np.linspace(1, -2, d) + rng.normal(size=n)


def documents(n: int, length: int = 10) -> list[str]:
    """Make texts of words that are drawn by their rank."""
    chance = 1 / np.arange(1, len(WORDS) + 1)
    drawn = np.random.default_rng(0).choice(WORDS, (n, length), p=chance / chance.sum())
    return [" ".join(line) + "." for line in drawn]


def letters(n: int, seed: int = 0) -> str:
    """Make a string of four letters."""
    return "".join(np.random.default_rng(seed).choice(list("acgt"), n))


def sized_calls() -> dict[str, Sized]:
    """Return every function by its name and what its size counts."""
    return {**_optimisers(), **_samplers(), **_texts(), **_statistics(), **_networks()}


def _optimisers() -> dict[str, Sized]:
    def descent(method: Any, **options: Any) -> Sized:
        def call(d: int) -> Callable[[], Any]:
            scale = np.linspace(1, 2, d)
            return lambda: method(
                lambda x: float(scale @ x**2), np.ones(d), jac=lambda x: 2 * scale * x, **options
            )

        return call

    def stochastic(n: int) -> Callable[[], Any]:
        X, y = rows(n)
        return lambda: optimize.stochastic_gradient_descent(
            lambda w, i: float(((X[i] @ w - y[i]) ** 2).mean()),
            np.zeros(X.shape[1]),
            jac=lambda w, i: 2 * (X[i] @ w - y[i]) @ X[i] / len(X[i]),
            **{"n_samples": n, "batch_size": 8, "epochs": 1, "step": 0.01, "random_state": 0},
        )

    def newton(d: int) -> Callable[[], Any]:
        A = np.eye(d) + np.outer(np.ones(d), np.ones(d)) / d
        return lambda: optimize.newton(
            lambda x: float(x @ A @ x), np.ones(d), jac=lambda x: 2 * A @ x, hess=lambda x: 2 * A
        )

    few = {"maxiter": 20, "tol": 0.0}
    found = {
        f"optimize.{method.__name__} in variables": descent(method, **few)
        for method in (optimize.gradient_descent, optimize.adagrad, optimize.rmsprop, optimize.adam)
    }
    return found | {
        "optimize.stochastic_gradient_descent in rows": stochastic,
        "optimize.newton in variables": newton,
        "optimize.projections in variables": lambda d: partial(
            optimize.projections.simplex(), np.linspace(-1, 1, d)
        ),
        "optimize.schedules in steps": lambda n: partial(
            optimize.schedules.inverse_sqrt(), np.arange(n)
        ),
    }


def _samplers() -> dict[str, Sized]:
    def log_density(x: np.ndarray) -> np.ndarray:
        return -(x**2).sum(axis=-1) / 2

    def score(x: np.ndarray) -> np.ndarray:
        return -x

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        return 1.5 * rng.normal(size=(n, 1))

    def wide(x: np.ndarray) -> np.ndarray:
        return -(x**2).sum(axis=-1) / 4.5

    start = np.random.default_rng(0).normal(size=(4, 2))
    warm = {"n_warmup": 200, "random_state": 0}
    conditionals = [lambda rng, x, j=j: rng.normal(0.5 * x[:, 1 - j]) for j in range(2)]
    calls: dict[str, Callable[[int], Any]] = {
        "inverse_transform": lambda n: montecarlo.inverse_transform(np.log, n_draws=n),
        "rejection": lambda n: montecarlo.rejection(
            log_density, draw, wide, log_bound=0, n_draws=n
        ),
        "importance": lambda n: montecarlo.importance(log_density, draw, wide, n_draws=n),
        "metropolis_hastings": lambda n: montecarlo.metropolis_hastings(
            log_density, start, n_draws=n, **warm
        ),
        "gibbs": lambda n: montecarlo.gibbs(conditionals, start, n_draws=n, **warm),
        "langevin": lambda n: montecarlo.langevin(score, start, step_size=0.1, n_draws=n, **warm),
        "hamiltonian": lambda n: montecarlo.hamiltonian(
            log_density, score, start, n_draws=n, **warm
        ),
    }
    found: dict[str, Sized] = {
        f"montecarlo.{name} in draws": lambda n, call=call: lambda: call(n)
        for name, call in calls.items()
    }

    def diagnostics(n: int) -> Callable[[], Any]:
        chains = np.random.default_rng(0).normal(size=(4, n))
        return lambda: montecarlo.diagnostics.ess_bulk(chains)

    return found | {"montecarlo.diagnostics in draws": diagnostics}


def _texts() -> dict[str, Sized]:
    def strings(call: Callable[[str, str], Any]) -> Sized:
        return lambda n: partial(call, letters(n), letters(n, 1))

    def texts(call: Callable[[list[str]], Any]) -> Sized:
        return lambda n: partial(call, documents(n))

    def graph(n: int) -> Callable[[], Any]:
        from scipy import sparse

        links = sparse.random_array((n, n), density=min(1, 8 / n), rng=0, format="csr")
        return lambda: text.pagerank(links)

    words = documents(200, length=2)
    return {
        "text.edit_distance in letters": strings(text.edit_distance),
        "text.edit_operations in letters": strings(text.edit_operations),
        "text.distance in letters": strings(text.distance.Levenshtein.distance),
        "text.fuzz in letters": strings(text.fuzz.ratio),
        "text.edit_distances in strings": texts(lambda X: text.edit_distances(X[:50], X)),
        "text.process in choices": texts(lambda X: text.process.extract(words[0], X)),
        "text.cooccurrence in documents": texts(text.cooccurrence),
        "text.WordTokenizer in documents": texts(lambda X: [*map(text.WordTokenizer(), X)]),
        "text.TextRank in sentences": texts(lambda X: text.TextRank().keywords(" ".join(X))),
        "text.pagerank in nodes": graph,
        "retrieval.reciprocal_rank_fusion in places": lambda n: (
            lambda: retrieval.reciprocal_rank_fusion([range(n), range(n - 1, -1, -1)])
        ),
    }


def _statistics() -> dict[str, Sized]:
    def table(call: Callable[[np.ndarray, np.ndarray], Any]) -> Sized:
        return lambda n: partial(call, *rows(n))

    def filtered(method: Any) -> Sized:
        def call(n: int) -> Callable[[], Any]:
            X, unit = rows(n, 1)[0], np.eye(2)
            return lambda: method(X, np.sin, lambda x: x[:1] ** 2, unit, [[1.0]], [0.0, 1.0], unit)

        return call

    def summary(X: np.ndarray, y: np.ndarray) -> Any:
        return linear.LinearRegression().fit(X, y).summary(X, y)

    def grown(X: np.ndarray, y: np.ndarray) -> Any:
        return tree.export_text(tree.DecisionTreeRegressor(max_depth=4).fit(X, y))

    def rated(X: np.ndarray, y: np.ndarray) -> Any:
        return latent.Ratings.from_table(np.arange(len(X)), X[:, 0].round(), y)

    def pipeline(X: np.ndarray, y: np.ndarray) -> Any:
        steps = preprocessing.StandardScaler(), linear.Ridge()
        return preprocessing.make_pipeline(*steps).fit(X, y)

    def normal(d: int) -> Callable[[], Any]:
        law = theory.probability.MultivariateNormal(np.zeros(d), np.eye(d))
        return lambda: law.conditional(np.arange(d // 2), 0.0)

    return {
        "linear.lasso_path in rows": table(lambda X, y: linear.lasso_path(X, y, alphas=10)),
        "linear.inference in rows": table(summary),
        "bayes.maximum_likelihood in numbers": table(
            lambda X, y: bayes.maximum_likelihood(y, "normal")
        ),
        "kernel.kernels in rows": table(lambda X, y: kernel.kernels.RBF()(X)),
        "tree.export_text in rows": table(grown),
        "latent.Ratings in ratings": table(rated),
        "preprocessing.make_pipeline in rows": table(pipeline),
        "preprocessing.Pipeline in rows": table(pipeline),
        "sequence.extended_kalman_filter in steps": filtered(sequence.extended_kalman_filter),
        "sequence.unscented_kalman_filter in steps": filtered(sequence.unscented_kalman_filter),
        "theory.fourier in numbers": table(lambda X, y: theory.fourier.fft(y)),
        "theory.probability in coordinates": normal,
        "theory.information in rows": table(lambda X, y: theory.information.mmd(X, X + 1)),
        "theory.convexity in rows": table(lambda X, y: theory.convexity.ridge(X)),
        "evaluate.rates in rows": table(lambda X, y: evaluate.rates.rate_curve(y > 0, X[:, 0])),
        "evaluate.calibration in rows": table(
            lambda X, y: evaluate.calibration.calibration_error(y > 0, 1 / (1 + np.exp(-X[:, 0])))
        ),
        "evaluate.comparison in rows": table(
            lambda X, y: evaluate.comparison.mcnemar(y > 0, X[:, 0] > 0, X[:, 1] > 0)
        ),
        "evaluate.sample_quality in rows": table(
            lambda X, y: evaluate.sample_quality.precision_recall(X, X + 0.1)
        ),
        "trust.fairness in rows": table(
            lambda X, y: trust.fairness.group_rates(y > 0, X[:, 0] > 0, X[:, 1] > 0)
        ),
        "trust.generalization in rows": table(
            lambda X, y: trust.generalization.group_errors(y > 0, X[:, 0] > 0, X[:, 1] > 0)
        ),
    }


def _networks() -> dict[str, Sized]:
    import torch

    from panlearn import generative, neural, statespace, transformer

    def tensor(call: Callable[[Any], Any], d: int = 16) -> Sized:
        def prepare(n: int) -> Callable[[], Any]:
            x = torch.randn(n, d, generator=torch.Generator().manual_seed(0))
            return lambda: call(x)

        return prepare

    def attend(x: Any) -> Any:
        return transformer.attention.attention(x[None, None], x[None, None], x[None, None])

    def solved(n: int) -> Callable[[], Any]:
        times, start = torch.linspace(0, 1, n + 1), torch.ones(4)
        return lambda: generative.odeint(lambda t, y: -y, start, times, method="rk4")

    latent_sizes = transformer.LatentConfig(8, 8, 8, 4, 8)
    layer = transformer.LatentAttention(16, 2, latent_sizes)
    experts = transformer.MixtureOfExperts(16, transformer.ExpertsConfig(4, 2, 16))
    space = statespace.S4(16, state_size=8)
    spline = generative.SplineTransform()
    return {
        "transformer.attention in tokens": tensor(attend),
        "transformer.LatentAttention in tokens": tensor(lambda x: layer(x[None])),
        "transformer.MixtureOfExperts in tokens": tensor(lambda x: experts(x[None])),
        "statespace.S4 in steps": tensor(lambda x: space(x[None])),
        "statespace.hippo in steps": lambda n: lambda: statespace.hippo.remember(np.ones(n), 8),
        "generative.odeint in steps": solved,
        "generative.SplineTransform in numbers": tensor(
            lambda x: spline.forward(x[:, 0], x[:, [0]].expand(-1, spline.n_parameters))
        ),
        "neural.Augmentation in images": tensor(
            lambda x: neural.Augmentation(rotate=10.0)(x.reshape(-1, 1, 8, 8)), 64
        ),
        "generative.AffineTransform in numbers": tensor(
            lambda x: generative.AffineTransform().forward(x[:, 0], x[:, :2])
        ),
    }
