"""Measures of samples against closed forms, brute force and known failures of a generator."""

import numpy as np
import pytest
from scipy.linalg import sqrtm
from scipy.stats import spearmanr, wasserstein_distance
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression

from panlearn.evaluate import sample_quality
from panlearn.theory import information


@pytest.fixture
def samples(rng):
    return rng.normal(size=(80, 3)), rng.normal(0.5, 1.5, size=(60, 3))


def test_frechet_distance_by_the_matrix_root(samples):
    X, Y = samples
    S1, S2 = np.cov(X.T), np.cov(Y.T)
    shift = X.mean(axis=0) - Y.mean(axis=0)
    expected = shift @ shift + np.trace(S1 + S2 - 2 * sqrtm(S1 @ S2).real)
    assert sample_quality.frechet_distance(X, Y) == pytest.approx(expected, abs=1e-8)
    assert sample_quality.frechet_distance(X, X) == pytest.approx(0, abs=1e-8)


def test_neighbour_measures_by_brute_force(samples):
    X, Y = samples
    k = 4

    def radius(A, i):
        return np.sort(np.linalg.norm(A - A[i], axis=1))[k]

    inside = np.array([[np.linalg.norm(x - y) <= radius(X, i) for y in Y] for i, x in enumerate(X)])
    back = np.array([[np.linalg.norm(x - y) <= radius(Y, j) for j, y in enumerate(Y)] for x in X])
    found = sample_quality.precision_recall(X, Y, k)
    assert found["precision"] == pytest.approx(inside.any(axis=0).mean())
    assert found["recall"] == pytest.approx(back.any(axis=1).mean())
    found = sample_quality.density_coverage(X, Y, k)
    assert found["density"] == pytest.approx(inside.sum() / (k * len(Y)))
    assert found["coverage"] == pytest.approx(inside.any(axis=1).mean())


def test_mmd_statistic_is_that_of_theory(samples):
    X, Y = samples
    found = sample_quality.mmd_test(X, Y, gamma=0.4, n_permutations=99, random_state=0)
    assert found.statistic == pytest.approx(information.mmd(X, Y, gamma=0.4), abs=1e-12)
    assert found.p_value == pytest.approx(0.01)


def test_tests_keep_their_level_under_one_law():
    rejected = {"mmd": 0, "classifier": 0}
    for seed in range(40):
        X, Y = np.random.default_rng(seed).normal(size=(2, 40, 2))
        mmd = sample_quality.mmd_test(X, Y, n_permutations=60, random_state=0)
        rejected["mmd"] += mmd.p_value <= 0.1
        test = sample_quality.classifier_test(X, Y, LogisticRegression(), random_state=0)
        rejected["classifier"] += test.p_value <= 0.1
    assert max(rejected.values()) <= 10  # 4 expected; 10 is beyond 3 standard deviations


def test_classifier_tells_laws_apart(rng):
    X, Y = rng.normal(size=(200, 2)), rng.normal([2, 0], 1, size=(150, 2))
    found = sample_quality.classifier_test(X, Y, LogisticRegression(), random_state=0)
    assert found.statistic > 0.75
    assert found.p_value < 1e-6


def test_marginals(samples):
    X, Y = samples
    found = sample_quality.column_distances(X, Y)
    expected = [wasserstein_distance(a, b) / a.std() for a, b in zip(X.T, Y.T, strict=True)]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    gaps = np.abs(spearmanr(X).statistic - spearmanr(Y).statistic)
    assert sample_quality.pair_distance(X, Y) == pytest.approx(gaps[np.triu_indices(3, 1)].mean())
    flat = np.c_[X[:, 0], np.zeros(80)]
    assert np.isfinite(sample_quality.pair_distance(flat, flat))
    assert np.isfinite(sample_quality.column_distances(flat, flat)).all()
    with pytest.raises(ValueError, match="two columns"):
        sample_quality.pair_distance(X[:, 0], Y[:, 0])


def test_the_table_shows_what_is_wrong(rng):
    real = rng.normal(size=(240, 2)) @ [[1, 0.9], [0, 0.4]]
    alone = np.c_[rng.permutation(real[:, 0]), rng.permutation(real[:, 1])]  # marginals alone
    table = sample_quality.compare_samples(real, alone, random_state=0)
    assert table["column_distance"]["value"] < 0.4
    assert table["pair_distance"]["value"] > 5 * table["pair_distance"]["real"]
    assert table["frechet_distance"]["value"] > 3 * table["frechet_distance"]["real"]
    again = sample_quality.compare_samples(real, alone, random_state=0)
    assert table == again


def test_features_of_a_network_stand_for_images(rng):
    torch = pytest.importorskip("torch")
    real, made = rng.normal(size=(60, 4, 3)), rng.normal(0.5, 2, size=(50, 4, 3))
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 2), torch.nn.Tanh())
    weight, bias = (p.detach().numpy().astype(float) for p in network.parameters())
    rows = [np.tanh(x.reshape(len(x), 12) @ weight.T + bias) for x in (real, made)]
    expected = sample_quality.frechet_distance(*rows)
    for given in (network, lambda x: np.tanh(x.reshape(len(x), 12) @ weight.T + bias)):
        found = sample_quality.frechet_distance(real, made, given)
        assert found == pytest.approx(expected, rel=1e-4)  # the network computes in float32
    table = sample_quality.compare_samples(real, made, random_state=0, features=network)
    again = sample_quality.compare_samples(*rows, random_state=0)
    assert table["coverage"] == again["coverage"]


def test_features_are_trained_on_the_real_rows_if_they_are_not_yet(rng):
    real, made = rng.normal(size=(60, 5)) * [9, 5, 1, 1, 1], rng.normal(size=(60, 5))
    fitted = PCA(2).fit(real)
    expected = sample_quality.frechet_distance(fitted.transform(real), fitted.transform(made))
    fresh = PCA(2)
    for given in (fresh, fitted):
        assert sample_quality.frechet_distance(real, made, given) == pytest.approx(expected)
    assert not hasattr(fresh, "components_")


def test_bad_samples(samples):
    X, Y = samples
    with pytest.raises(ValueError, match="3 columns and generated 2"):
        sample_quality.frechet_distance(X, Y[:, :2])
    with pytest.raises(ValueError, match="n_neighbors=80"):
        sample_quality.precision_recall(X, Y, 80)
    with pytest.raises(ValueError, match="generated must be two finite rows"):
        sample_quality.frechet_distance(X, [[np.nan, 0, 0]] * 3)
