"""What every generative model promises of examples: shapes, units, names, seeds, bad input."""

import numpy as np
import pytest
import torch

import panlearn
from panlearn.generative import (
    GAN,
    MMDGAN,
    VAE,
    Autoencoder,
    ConditionalVAE,
    ContinuousNormalizingFlow,
    DiffusionModel,
    EnergyModel,
    ImportanceWeightedVAE,
    InfoGAN,
    MaskedAutoregressiveFlow,
    NeuralAutoregressiveFlow,
    RealNVP,
    ScoreModel,
    SumOfSquaresFlow,
    VaDE,
    WassersteinGAN,
)

QUICK = dict(max_epochs=2, random_state=0)
SMALL = {  # every model that draws, as small as it gets
    Autoencoder: {},
    VAE: {},
    ConditionalVAE: {},
    ImportanceWeightedVAE: {},
    VaDE: {"n_clusters": 2, "pretrain_epochs": 1},
    GAN: {},
    WassersteinGAN: {"n_critic": 1},
    InfoGAN: {"n_clusters": 2},
    MMDGAN: {},
    RealNVP: {"transforms": 1},
    MaskedAutoregressiveFlow: {"transforms": 1},
    NeuralAutoregressiveFlow: {"transforms": 1, "network_layer_sizes": 4},
    SumOfSquaresFlow: {"transforms": 1, "degree": 1},
    ContinuousNormalizingFlow: {"step_size": 0.5},
    DiffusionModel: {"n_steps": 3},
    ScoreModel: {"n_sampling_steps": 2},
    EnergyModel: {"n_steps": 1, "n_sampling_steps": 2},
}


def small(cls, **more):
    options = dict(hidden_layer_sizes=4, batch_size=20, random_state=1, max_epochs=3)
    options["schedule"] = "constant"  # others depend on where a run is to end
    return cls(**{**options, **SMALL[cls], **more})


@pytest.fixture(scope="module")
def frame():
    """Ten columns of units far apart, and one that does not vary."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    names = [f"column {i}" for i in range(10)]
    table = pd.DataFrame(rng.normal(size=(60, 10)) * 10.0 ** np.arange(-9, 11, 2), columns=names)
    return (table + 3 * table.std()).assign(always=3.7)


def test_every_model_that_draws_is_here():
    drawing = {
        cls
        for _, cls in panlearn.all_estimators()
        if cls.__module__.startswith("panlearn.generative") and hasattr(cls, "sample")
    }
    assert drawing == set(SMALL)


@pytest.mark.parametrize("cls", SMALL)
def test_a_frame_goes_in_and_rows_with_its_names_come_out(cls, frame, tmp_path):
    """Of the size of what went in; a saved, loaded model draws the same bits."""
    model = small(cls).fit(frame)
    drawn = model.sample(30, random_state=5)
    assert list(drawn.columns) == list(frame.columns)
    assert (drawn["always"] == 3.7).all()
    away = ((drawn - frame.mean()) / frame.std()).drop(columns="always").abs()
    assert away.to_numpy().max() < 1e4  # of units that are 1e18 apart
    assert away.to_numpy().max() > 0.01
    panlearn.save(model, tmp_path / "model")
    again = panlearn.load(tmp_path / "model").sample(30, random_state=5)
    np.testing.assert_array_equal(again, drawn)


@pytest.mark.parametrize("cls", SMALL)
def test_a_run_that_is_cut_short_and_taken_up_ends_with_the_same_bits(cls, frame, tmp_path):
    X = frame.to_numpy()[:, :3] / frame.to_numpy()[:, :3].std(0)
    whole = small(cls).fit(X)
    cut = dict(checkpoint=str(tmp_path), resume=True)
    small(cls, max_steps=4, **cut).fit(X)  # in the middle of the second epoch of three
    resumed = small(cls, **cut).fit(X)
    for name, value in whole.weights_.items():
        np.testing.assert_array_equal(resumed.weights_[name], value)
    np.testing.assert_array_equal(resumed.sample(5, 0), whole.sample(5, 0))


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 3)])
def test_images_go_in_and_come_out(shape, rng):
    X = rng.normal(size=(20, *shape)).astype(np.float32)
    model = VAE(2, 8, **QUICK).fit(X)
    assert model.sample(5).shape == (5, *shape)
    assert model.sample(5).dtype == np.float32
    codes = model.transform(X)
    np.testing.assert_allclose(model.transform(X.reshape(20, -1)), codes, rtol=1e-6)  # flat rows
    assert model.inverse_transform(codes).shape == X.shape
    assert model.mean_.shape == (1 if len(shape) == 2 else 2,)  # one a channel
    for method in (model.transform, model.elbo):
        with pytest.raises(ValueError, match=r"images of .* was fitted on images of"):
            method(X.reshape(20, *shape[:-2], -1, 1))
        with pytest.raises(ValueError, match="expecting"):
            method(X[..., :-1])
    with pytest.raises(ValueError, match="channels last"):
        VAE().fit(np.zeros((5, 8, 8, 3)))
    with pytest.raises(ValueError, match="dimensions"):
        VAE().fit(np.zeros((5, 2, 2, 2, 2)))


def test_a_frame_of_any_units_comes_back_as_one(rng):
    pd = pytest.importorskip("pandas")
    t = rng.normal(size=400)
    frame = pd.DataFrame(
        {
            "mass": 1e12 * (5 + t),
            "length": 1e-9 * (2 - t + 0.3 * rng.normal(size=400)),
            "always": 3.7,
            "year": 2000.0 + np.arange(400) % 20,
        }
    )
    model = VAE(2, 32, max_epochs=150, learning_rate=0.01, random_state=0).fit(frame)
    drawn = model.sample(2000, random_state=0)
    assert list(drawn.columns) == list(frame.columns)
    assert (drawn["always"] == 3.7).all()
    real, ours = (f.drop(columns="always").describe() for f in (frame, drawn))
    deviation = real.loc["std"]
    assert (np.abs(ours.loc["mean"] - real.loc["mean"]) < 0.25 * deviation).all()
    np.testing.assert_allclose(ours.loc["std"] / deviation, real.loc["std"] / deviation, atol=0.3)
    assert drawn["mass"].corr(drawn["length"]) < -0.7
    np.testing.assert_array_equal(model.scale_ == 0, [False, False, True, False])
    back = model.inverse_transform(model.transform(frame))
    assert (back[:, 2] == 3.7).all()


def test_huge_and_tiny_columns_in_single_precision(rng):
    X = (rng.normal(size=(50, 3)) * [1e30, 1e-30, 1] + [0, 0, 1e4]).astype(np.float32)
    drawn = VAE(1, 8, **QUICK).fit(X).sample(200, random_state=0)
    assert drawn.dtype == np.float32
    assert np.isfinite(drawn).all()
    ratio = drawn.astype(float).std(axis=0) / X.astype(float).std(axis=0)
    assert (np.abs(np.log(ratio)) < 1).all()


@pytest.mark.parametrize("model", [VAE(2, 8, **QUICK), GAN(2, 8, **QUICK)], ids=["vae", "gan"])
def test_a_seed_and_a_file_give_the_same_bits(model, rng, tmp_path):
    X = rng.normal(size=(1500, 3))
    model.fit(X)
    state = torch.get_rng_state()
    drawn = model.sample(1100, random_state=5)
    assert torch.equal(torch.get_rng_state(), state)
    panlearn.save(model, tmp_path / "model")
    loaded = panlearn.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.sample(1100, random_state=5), drawn)
    np.testing.assert_array_equal(model.sample(1100, random_state=5), drawn)
    assert not np.allclose(model.sample(1100, random_state=6), drawn)
    assert len(np.unique(drawn, axis=0)) == 1100  # nothing is drawn twice
    generator = np.random.default_rng(5)
    first, second = model.sample(4, generator), model.sample(4, generator)
    assert not np.allclose(first, second)
    for bad in (0, -1, 2.5, "3"):
        with pytest.raises(ValueError, match="n_samples="):
            model.sample(bad)


def test_conditional_models_are_saved_with_what_they_know_of_y(rng, tmp_path):
    X, y = rng.normal(size=(30, 2)), np.array(["a", "b", "c"] * 10)
    model = ConditionalVAE(1, 8, **QUICK).fit(X, y)
    panlearn.save(model, tmp_path / "model")
    loaded = panlearn.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.sample(9, 0, y="b"), model.sample(9, 0, y="b"))
    np.testing.assert_array_equal(loaded.sample(9, 0), model.sample(9, 0))
    with pytest.raises(ValueError, match="y is given, and the model was fitted without"):
        ConditionalVAE(1, 8, **QUICK).fit(X).sample(2, y="a")
    with pytest.raises(ValueError, match="29 entries and X has 30"):
        ConditionalVAE(1, 8, **QUICK).fit(X, y[:-1])


@pytest.mark.parametrize(
    ("X", "says"),
    [
        ([[1.0, 2.0]], "sample"),
        (np.zeros((1, 4, 4)), "1 sample"),
        (np.ones((9, 3)), "no column of X varies"),
        ([[1.0, np.nan], [0.0, 1.0]], "NaN"),
        (np.full((4, 3, 3), np.inf), "infinity"),
    ],
    ids=["one row", "one image", "constant", "nan", "infinite image"],
)
@pytest.mark.parametrize("cls", SMALL)
def test_what_cannot_be_learned_from_is_refused(cls, X, says):
    with pytest.raises(ValueError, match=says):
        cls().fit(X)


def test_a_model_of_rows_refuses_images(rng):
    model = VAE(1, 4, **QUICK).fit(rng.normal(size=(9, 4)))
    with pytest.raises(ValueError, match=r"3 dimensions.*rows of 4 columns"):
        model.transform(np.zeros((3, 2, 2)))
    with pytest.raises(ValueError, match=r"shape \(n, 1\)"):
        model.inverse_transform(np.zeros((3, 2)))


def test_a_warm_start_goes_on(rng):
    X = rng.normal(size=(60, 3))
    warm = VAE(1, 4, warm_start=True, **QUICK).fit(X)
    mean, first = warm.mean_.copy(), warm.history_["loss"][0]
    warm.fit(X + 100)  # the scale is that of the first rows
    np.testing.assert_array_equal(warm.mean_, mean)
    assert warm.history_["loss"][0] > first


@pytest.mark.parametrize("n", [7, 300, 5000])
def test_a_column_that_does_not_vary_is_seen_as_such_for_any_number_of_rows(n, rng):
    X = np.hstack([rng.normal(size=(n, 1)), np.full((n, 2), [4.0, 0.1])])
    model = VAE(1, 4, **QUICK).fit(X)
    np.testing.assert_array_equal(model.scale_[1:], 0)
    np.testing.assert_array_equal(model.sample(50)[:, 1:], X[:1, 1:].repeat(50, axis=0))
