"""SimCLR, BYOL, VICReg: losses against plain sums, what is kept, collapse, probes."""

import numpy as np
import pytest
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.neighbors import KNeighborsClassifier

import panlearn
from panlearn.neural._draws import Share
from panlearn.neural._processes import Processes
from panlearn.neural._step import Step
from panlearn.representation import BYOL, SimCLR, VICReg
from panlearn.representation._base import BatchNorm
from panlearn.representation._objectives import (
    contrastive_losses,
    covariance_penalty,
    guess_losses,
    paired_losses,
    spread_and_rank,
    variance_penalty,
)

MODELS = (SimCLR, BYOL, VICReg)


def whole(rows):
    device = torch.device("cpu")
    share = Share(0, rows, rows)
    return Step(share, 0, 0, device, epoch=0, processes=Processes("ddp", device))


def spots(rng, n=60):
    """Images with a spot in one of two corners, and noise."""
    y = np.arange(n) % 2
    X = 0.3 * rng.normal(size=(n, 6, 6))
    X[y == 0, :2, :2] += 2
    X[y == 1, 4:, 4:] += 2
    return X, np.array(["low", "high"])[y]


def jitter(x, draws):
    return x + 0.2 * draws.normal(x.shape[1], dtype=x.dtype)


def test_contrastive_losses_are_the_sums_of_the_formula(rng):
    n, temperature = 5, 0.3
    views = rng.normal(size=(2, n, 4))
    losses = contrastive_losses(*torch.tensor(views), temperature, whole(n)).numpy()
    unit = (views / np.linalg.norm(views, axis=2, keepdims=True)).reshape(2 * n, 4)
    expected = np.zeros(2 * n)
    for v in range(2 * n):
        scores = unit @ unit[v] / temperature
        others = [u for u in range(2 * n) if u != v]
        expected[v] = np.log(np.exp(scores[others]).sum()) - scores[(v + n) % (2 * n)]
    np.testing.assert_allclose(losses, (expected[:n] + expected[n:]) / 2, rtol=1e-12)


def test_paired_losses_are_cross_entropies_both_ways(rng):
    one, other = rng.normal(size=(2, 4, 3))
    scale = 7.0
    found = paired_losses(*map(torch.tensor, (one, other)), torch.tensor(np.log(scale)), whole(4))
    unit = [v / np.linalg.norm(v, axis=1, keepdims=True) for v in (one, other)]
    table = scale * unit[0] @ unit[1].T
    right = np.diag(table)
    rows = np.log(np.exp(table).sum(axis=1)) - right
    columns = np.log(np.exp(table).sum(axis=0)) - right
    np.testing.assert_allclose(found, (rows + columns) / 2, rtol=1e-12)
    back = paired_losses(*map(torch.tensor, (other, one)), torch.tensor(np.log(scale)), whole(4))
    np.testing.assert_allclose(found, back, rtol=1e-12)


def test_penalties_are_those_of_plain_sums(rng):
    rows = 0.4 * rng.normal(size=(9, 3)) @ rng.normal(size=(3, 3))
    deviation = np.sqrt(rows.var(axis=0, ddof=1) + 1e-4)
    hinge = np.maximum(0, 1 - deviation).mean()
    np.testing.assert_allclose(variance_penalty(torch.tensor(rows)), hinge, rtol=1e-12)
    cov = np.cov(rows.T)
    off = sum(cov[j, k] ** 2 for j in range(3) for k in range(3) if j != k) / 3
    np.testing.assert_allclose(covariance_penalty(torch.tensor(rows)), off, rtol=1e-12)


def test_a_guess_is_held_to_the_squared_distance_of_unit_vectors(rng):
    one, other = rng.normal(size=(5, 3)), rng.normal(size=(5, 3))
    unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (one, other)]
    found = guess_losses(torch.tensor(one), torch.tensor(other))
    np.testing.assert_allclose(found, ((unit[0] - unit[1]) ** 2).sum(axis=1), rtol=1e-10)


def test_penalties_of_one_row_and_of_two():
    row = torch.tensor([[3.0, -1.0]], dtype=torch.float64)
    assert variance_penalty(row) == pytest.approx(1 - np.sqrt(1e-4))
    assert covariance_penalty(row) == 0
    assert covariance_penalty(torch.tensor([[1.0, 1.0], [-1.0, -1.0]])) == 4  # 2^2 twice, over two


def test_spread_and_rank_tell_a_point_from_a_sphere():
    point = torch.ones(20, 4, dtype=torch.float64)
    spread, _ = spread_and_rank(point)
    assert spread < 1e-7
    axes = torch.cat([torch.eye(4), -torch.eye(4)]).double()
    spread, rank = spread_and_rank(3 * axes)
    np.testing.assert_allclose([spread, rank], [1, 4], rtol=1e-12)
    line = torch.tensor([[1.0, 0], [-1, 0]]).double()
    np.testing.assert_allclose(spread_and_rank(line)[1], 1, rtol=1e-12)


@pytest.mark.parametrize("shape", [(30, 4), (4, 30)])
def test_the_rank_is_that_of_the_eigenvalues(shape, rng):
    """The square of their sum over the sum of their squares, whichever matrix is the smaller."""
    rows = rng.normal(size=shape) * np.linspace(0.2, 3, shape[1])
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    values = np.linalg.eigvalsh(np.cov(unit.T, ddof=0))
    spread, rank = spread_and_rank(torch.tensor(rows))
    np.testing.assert_allclose(rank, values.sum() ** 2 / (values**2).sum(), rtol=1e-12)
    np.testing.assert_allclose(spread, np.sqrt(values.sum()), rtol=1e-12)


def test_the_norm_over_a_batch_is_pytorchs(rng):
    x = torch.tensor(rng.normal(size=(12, 3)))
    ours, theirs = BatchNorm(3).double(), torch.nn.BatchNorm1d(3).double()
    torch.testing.assert_close(ours(x), theirs(x))
    ours.eval(), theirs.eval()
    # PyTorch keeps the unbiased variance in its running average
    torch.testing.assert_close(ours(x), theirs(x), rtol=0.01, atol=0.01)


@pytest.mark.parametrize("cls", MODELS)
def test_what_is_learned_helps_where_labels_are_few(cls, rng):
    X, y = spots(rng)
    model = cls(n_components=8, batch_size=30, max_epochs=8, random_state=0).fit(X)
    found = model.transform(X)
    assert found.shape == (60, 8)
    assert found.dtype == X.dtype
    probe = model.classifier(X[:4], y[:4])
    assert probe.score(X[4:], y[4:]) > 0.9
    near = model.classifier(X[:4], y[:4], KNeighborsClassifier(1))
    assert near.score(X[4:], y[4:]) > 0.9
    np.testing.assert_array_equal(model.transform(X), found)  # a probe leaves it as it is
    assert len(model.history_["spread"]) == len(model.history_["rank"]) == 8
    assert model.get_feature_names_out()[0] == f"{cls.__name__.lower()}0"


@pytest.mark.parametrize("cls", MODELS)
def test_rows_of_a_table_and_a_change_of_ones_own(cls, rng, tmp_path):
    X = rng.normal(size=(40, 5))
    model = cls(n_components=4, augment=jitter, batch_size=20, max_epochs=2, random_state=0)
    found = model.fit(X).transform(X)
    assert found.dtype == np.float64
    again = cls(**model.get_params()).fit(X).transform(X)
    np.testing.assert_array_equal(found, again)
    images = cls(n_components=4, max_epochs=1, random_state=0).fit(X.reshape(40, 1, 5))
    panlearn.save(images, tmp_path / "model")
    loaded = panlearn.load(tmp_path / "model")
    np.testing.assert_array_equal(
        loaded.transform(X.reshape(40, 1, 5)), images.transform(X.reshape(40, 1, 5))
    )


@pytest.mark.parametrize("cls", MODELS)
def test_collapse_is_told(cls, rng):
    X, _ = spots(rng)
    blind = cls(augment=lambda x, draws: 0 * x, max_epochs=1, random_state=0)  # all views are alike
    with pytest.warns(UserWarning, match="has collapsed: the spread"):
        blind.fit(X)
    assert blind.history_["spread"][-1] < 1e-3


@pytest.mark.parametrize("cls", MODELS)
def test_pieces_of_a_batch_change_nothing(cls, rng):
    X, _ = spots(rng, 24)
    settings = dict(n_components=4, batch_size=12, max_epochs=2, random_state=0)
    whole = cls(**settings).fit(X).transform(X)
    pieces = cls(**settings, accumulate=3).fit(X).transform(X)
    np.testing.assert_allclose(pieces, whole, rtol=0, atol=1e-5)  # float32


def test_texts_as_rows_with_words_left_out(rng):
    subjects = ["ship sea wind sail mast", "root leaf tree sap bark"]
    y = np.arange(60) % 2
    texts = [" ".join(rng.choice([*subjects[i].split(), "the", "of"], 8)) for i in y]
    X = TfidfVectorizer().fit_transform(texts).toarray()

    def leave_out(x, draws):
        return x * (draws.uniform(x.shape[1], dtype=x.dtype) < 0.6)

    model = SimCLR(8, augment=leave_out, batch_size=30, max_epochs=10, random_state=0).fit(X)
    probe = model.classifier(X[:6], y[:6])
    assert probe.score(X[6:], y[6:]) > 0.9


@pytest.mark.parametrize(
    ("augment", "says"),
    [
        (lambda x, draws: x[:, :2], r"must give a tensor of \(20, 5\)"),
        (lambda x, draws: x.numpy(), "got ndarray"),
        (lambda x, draws: x @ x, "augment failed on examples of"),
    ],
)
def test_a_change_that_cannot_be_is_named(rng, augment, says):
    model = SimCLR(4, augment=augment, batch_size=20, max_epochs=1)
    with pytest.raises(ValueError, match=says):
        model.fit(rng.normal(size=(20, 5)))


@pytest.mark.parametrize("cls", MODELS)
def test_the_history_is_that_of_the_whole_batch(cls, rng):
    X, _ = spots(rng, 24)
    settings = dict(n_components=4, batch_size=24, max_epochs=1, random_state=0)
    whole = cls(**settings).fit(X).history_
    pieces = cls(**settings, accumulate=3).fit(X).history_
    for name in ("spread", "rank"):
        assert pieces[name] == pytest.approx(whole[name], rel=1e-5)
