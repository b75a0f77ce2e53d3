"""ConvNetClassifier: shapes of images, saliency, feature maps, augmentation, going on."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.svm import SVC
from torch.nn import functional as F

import panlearn
from panlearn.neural import Augmentation, ConvNetClassifier
from panlearn.neural.layers import Conv, Dropout, Linear, Pool, Residual


def _spots(rng, n=120, high=6, wide=5, channels=2):
    """Noise with a spot: left for one class, right for another, none for the third."""
    y = np.arange(n) % 3
    X = rng.normal(size=(n, channels, high, wide))
    X[y == 0, 0, 2:4, :2] += 3
    X[y == 1, 0, 2:4, -2:] += 3
    return X, np.array(["left", "right", "none"])[y]


def _net(**more):
    layers = [Conv(6, 3), "relu", Pool(2), "flatten", Linear(8), "relu"]
    plain = {"max_epochs": 15, "learning_rate": 0.01, "schedule": "constant"}
    return ConvNetClassifier(layers, **{"random_state": 0, "label_smoothing": 0, **plain, **more})


def test_spots_are_learned_and_every_form_of_image_is_the_same(rng):
    X, y = _spots(rng)
    model = _net().fit(X, y)
    new, labels = _spots(np.random.default_rng(1))
    assert model.score(new, labels) > 0.95
    flat = _net(image_shape=(2, 6, 5)).fit(X.reshape(len(X), -1), y)
    np.testing.assert_array_equal(flat.predict_proba(new), model.predict_proba(new))
    np.testing.assert_array_equal(model.predict(new.reshape(len(new), -1)), model.predict(new))
    assert model.image_shape_ == (2, 6, 5)
    assert model.n_features_in_ == 60
    gray = _net().fit(X[:, 0], y)
    np.testing.assert_array_equal(
        gray.predict_proba(X[:, 0]), _net().fit(X[:, :1], y).predict_proba(X[:, :1])
    )
    listed = _net().fit(X[:, 0].tolist(), y.tolist())
    np.testing.assert_array_equal(listed.predict(X[:, 0].tolist()), gray.predict(X[:, 0]))


def test_digits_by_flat_rows(rng):
    X, y = load_digits(return_X_y=True)
    model = ConvNetClassifier(max_epochs=3, learning_rate=3e-3, random_state=0).fit(
        X[:1000], y[:1000]
    )
    assert model.image_shape_ == (1, 8, 8)
    assert model.score(X[1000:1400], y[1000:1400]) > 0.9


def test_its_defaults_read_other_writers_better_than_a_support_vector_machine():
    X, y = load_digits(return_X_y=True)  # in the given order: the last 397 are of other writers
    machine = SVC().fit(X[:1400], y[:1400]).score(X[1400:], y[1400:])
    model = ConvNetClassifier(random_state=0).fit(X[:1400], y[:1400])
    assert model.score(X[1400:], y[1400:]) > machine


def test_units_of_pixels_do_not_matter(rng):
    X, y = _spots(rng, n=60)
    scores = [
        _net(max_epochs=3).fit(a * X + b, y).predict_proba(a * X + b)
        for a, b in ((1, 0), (64, 128))
    ]
    np.testing.assert_allclose(scores[0], scores[1], rtol=0, atol=1e-4)  # float32
    huge = _net(max_epochs=3).fit(1e200 * X, y).predict_proba(1e200 * X)
    np.testing.assert_allclose(huge, scores[0], rtol=0, atol=1e-4)
    pixels = (40 * (X + 3)).clip(0, 255).astype(np.uint8)
    assert np.isfinite(_net(max_epochs=2).fit(pixels, y).predict_proba(pixels)).all()


def test_the_probabilities_are_those_of_the_module(rng):
    X, y = _spots(rng, n=60)
    model = _net().fit(X, y)
    pixels = (X - model.mean_[:, None, None]) / model.scale_[:, None, None]
    np.testing.assert_allclose(pixels.mean(axis=(0, 2, 3)), 0, atol=1e-12)
    np.testing.assert_allclose(pixels.std(axis=(0, 2, 3)), 1, rtol=1e-12)
    expected = model.module_(torch.tensor(pixels, dtype=torch.float32)).softmax(dim=1)
    np.testing.assert_allclose(model.predict_proba(X), expected.detach(), rtol=0, atol=1e-6)
    np.testing.assert_allclose(
        model.predict_log_proba(X), np.log(model.predict_proba(X)), rtol=0, atol=1e-6
    )
    first = F.conv2d(
        torch.tensor(pixels, dtype=torch.float32),
        *(torch.tensor(model.weights_[f"0.{name}"]) for name in ("weight", "bias")),
        padding=1,
    )
    np.testing.assert_allclose(model.feature_maps(X, 0), first, rtol=0, atol=1e-5)
    assert model.feature_maps(X, 2).shape == (60, 6, 3, 2)
    assert model.feature_maps(X, 4).shape == (60, 8)
    with pytest.raises(ValueError, match="layer must be from 0 to 5"):
        model.feature_maps(X, 6)


def test_saliency_is_the_slope_of_the_log_probability(rng):
    X, y = _spots(rng)
    model = _net().fit(X, y)
    found = model.saliency(X[:3], y[:3])
    assert found.shape == (3, 6, 5)
    for i, (row, column) in enumerate([(2, 0), (3, 4), (0, 2)]):
        k = np.flatnonzero(model.classes_ == y[i])[0]
        slopes = []
        for channel in range(2):
            step = np.zeros((1, 2, 6, 5))
            step[0, channel, row, column] = 1e-2
            up, down = (model.predict_log_proba(X[i : i + 1] + s)[0, k] for s in (step, -step))
            slopes.append(abs(up - down) / 2e-2)
        # differences in float32, through units that may bend within the step
        np.testing.assert_allclose(found[i, row, column], max(slopes), rtol=0.1, atol=2e-3)
    np.testing.assert_array_equal(
        model.saliency(X[:3]), model.saliency(X[:3], model.predict(X[:3]))
    )
    with pytest.raises(ValueError, match="classes_"):
        model.saliency(X[:2], ["left", "up"])


def test_a_saliency_map_shows_where_the_spot_is(rng):
    X, y = _spots(rng, n=300)
    model = _net(max_epochs=20).fit(X, y)
    slopes = model.saliency(X[y != "none"]).mean(axis=0)
    assert slopes[2:4].mean() > 1.5 * slopes[[0, 1, 4, 5]].mean()


def test_augmentation_teaches_what_it_varies(rng):
    """Trained on bars in one place, a network knows them elsewhere only with shifts."""
    X = 0.1 * rng.normal(size=(60, 9, 9))
    y = np.arange(60) % 2
    X[y == 0, 4, 2:7] += 1
    X[y == 1, 2:7, 4] += 1
    moved = np.roll(X, (2, -2), axis=(1, 2))
    layers = ["flatten", Linear(30), "relu"]
    plain = ConvNetClassifier(layers, max_epochs=40, learning_rate=5e-3, random_state=0).fit(X, y)
    shifted = ConvNetClassifier(
        layers,
        max_epochs=40,
        learning_rate=5e-3,
        random_state=0,
        augment=Augmentation(shift=2, noise=0.1),
    ).fit(X, y)
    assert shifted.score(moved, y) > 0.95
    assert shifted.score(moved, y) > plain.score(moved, y)
    again = ConvNetClassifier(
        layers,
        max_epochs=40,
        learning_rate=5e-3,
        random_state=0,
        augment=Augmentation(shift=2, noise=0.1),
    ).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), shifted.predict_proba(X))


def test_batch_norm_residuals_and_dropout_train_and_are_saved(rng, tmp_path):
    X, y = _spots(rng)
    layers = [Conv(4, 3), "batch_norm", "gelu", Residual(6, stride=2), "global_pool", Dropout(0.2)]
    model = ConvNetClassifier(layers, max_epochs=12, learning_rate=0.02, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    panlearn.save(model, tmp_path / "net")
    loaded = panlearn.load(tmp_path / "net")
    assert loaded.layers == layers
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_partial_fit_walks_once_and_goes_on(rng):
    X, y = _spots(rng)
    classes = ["left", "none", "right"]
    model = _net(learning_rate=0.02)
    with pytest.raises(ValueError, match="classes must be passed"):
        model.partial_fit(X, y)
    for _ in range(15):
        model.partial_fit(X[:60], y[:60], classes=classes).partial_fit(X[60:], y[60:])
    assert model.score(X, y) > 0.95
    assert model.n_iter_ == 1
    with pytest.raises(ValueError, match="not among classes"):
        model.partial_fit(X, np.where(y == "left", "up", y))
    with pytest.raises(ValueError, match="not the same"):
        model.partial_fit(X, y, classes=["a", "b"])


def test_weights_choose_between_labels(rng):
    X = np.repeat(rng.normal(size=(20, 4, 4)), 2, axis=0)
    y = np.tile([0, 1], 20)  # each image has both labels
    plain = {"learning_rate": 1e-3, "schedule": "constant", "label_smoothing": 0}
    model = ConvNetClassifier(max_epochs=20, random_state=0, **plain)
    heavy = model.fit(X, y, sample_weight=np.where(y == 1, 9.0, 1.0)).predict_proba(X)[:, 1]
    np.testing.assert_allclose(heavy, 0.9, atol=0.1)
    only = model.fit(X, y, sample_weight=y).predict(X)
    assert (only == 1).all()


@pytest.mark.parametrize(
    ("X", "says"),
    [
        (np.zeros((6, 28, 28, 3)), "channels last"),
        (np.zeros((6, 1, 2, 3, 4)), "5 dimensions"),
        (np.zeros((6, 8, 0)), "0 feature"),
        (np.full((6, 8, 8), np.nan), "NaN"),
        (np.zeros(6), "2D array|1D array"),
        ("images", "array|str"),
    ],
)
def test_what_is_no_image_is_refused(X, says):
    with pytest.raises(ValueError, match=says):
        ConvNetClassifier().fit(X, [0, 1] * 3)


def test_images_unlike_those_of_fit_are_refused(rng):
    X, y = _spots(rng, n=30)
    model = _net(max_epochs=1).fit(X, y)
    with pytest.raises(ValueError, match=r"images of 2 x 5 x 6; .* fitted on images of 2 x 6 x 5"):
        model.predict(X.transpose(0, 1, 3, 2))
    with pytest.raises(ValueError, match="60 features"):
        model.predict(X[:, 0].reshape(30, -1))


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"layers": "lenet"}, r"layers\[2\].*images of 2 x 6 x 5.*smaller than the window"),
        ({"layers": ["rulu"]}, "relu"),
        ({"layers": [Linear(3)]}, "flatten"),
        ({"label_smoothing": 1.0}, "label_smoothing"),
        ({"layers": "vgg"}, "layers"),
    ],
)
def test_what_does_not_fit_the_images_is_refused_by_name(rng, parameters, says):
    X, y = _spots(rng, n=30)
    with pytest.raises(ValueError, match=says):
        ConvNetClassifier(**parameters).fit(X, y)
    with pytest.raises(ValueError, match="image_shape"):
        ConvNetClassifier(image_shape=(7, 7)).fit(X.reshape(30, -1), y)
