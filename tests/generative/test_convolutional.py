"""Convolutions in the place of perceptrons: shapes, what moves with an image, what they learn."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from panlearn.generative import GAN, VAE, Autoencoder, ConditionalVAE, WassersteinGAN
from panlearn.generative._convolutional import ImageDecoder, ImageEncoder, halved
from panlearn.neural._random import seeded


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X.reshape(-1, 8, 8)[:200].astype(np.float32), y[:200]


def test_odd_images_go_through_and_come_back():
    shape = (2, 5, 7)
    assert halved(shape, 2) == (2, 2)
    with seeded(0):
        encoder, decoder = ImageEncoder(shape, (4, 8), 3, 6), ImageDecoder(6, (4, 8), shape, 2)
    rows = torch.arange(4 * 73.0).reshape(4, 73) / 100
    assert encoder(rows).shape == (4, 6)
    other = rows.clone()
    other[:, 70:] += 1  # what stands beside the image is read too, and linearly
    weight = encoder.leave.weight[:, -3:]
    torch.testing.assert_close(encoder(other) - encoder(rows), weight.sum(1).expand(4, 6))
    z = torch.linspace(-1, 1, 36).reshape(2, 3, 6)
    made = decoder(z)
    assert made.shape == (2, 3, 2 * 70)
    torch.testing.assert_close(made[1, 2], decoder(z[1, 2:])[0], atol=1e-6, rtol=1e-5)


def test_a_convolution_moves_with_the_image():
    """Far from the edges what a block says of a moved image is moved as far."""
    with seeded(0):
        encoder = ImageEncoder((1, 16, 16), (4,), 0, 1)
    image = torch.zeros(1, 1, 16, 16)
    image[..., 6, 6] = 1.0
    said = encoder.blocks[0](encoder.enter(image))
    moved = encoder.blocks[0](encoder.enter(image.roll((2, 1), (2, 3))))
    torch.testing.assert_close(moved[..., 5:11, 5:11], said.roll((2, 1), (2, 3))[..., 5:11, 5:11])


def test_an_autoencoder_of_digits_beats_the_mean(digits):
    X, _ = digits
    model = Autoencoder(
        8, convolutions=(8, 16), max_epochs=15, batch_size=50, learning_rate=5e-3, random_state=0
    ).fit(X)
    back = model.inverse_transform(model.transform(X))
    assert back.shape == X.shape
    assert ((back - X) ** 2).mean() < 0.5 * ((X - X.mean(0)) ** 2).mean()
    assert any(w.ndim == 4 for w in model.weights_.values())
    with pytest.raises(ValueError, match="cannot start from convolutions"):
        model.classifier([0, 1])


@pytest.mark.parametrize("likelihood", ["gaussian", "bernoulli"])
def test_a_bound_rises_with_training(digits, likelihood):
    X = digits[0] if likelihood == "gaussian" else (digits[0] > 7).astype(np.float32)
    options = {"likelihood": likelihood, "convolutions": 8, "batch_size": 50, "random_state": 0}
    first, last = (VAE(4, max_epochs=n, learning_rate=5e-3, **options).fit(X) for n in (1, 10))
    assert last.elbo(X, random_state=0).mean() > first.elbo(X, random_state=0).mean() + 5
    assert last.sample(3, random_state=0).shape == (3, 8, 8)


@pytest.mark.parametrize("cls", [GAN, WassersteinGAN])
def test_adversarial_images(digits, cls):
    more = {"spectral_norm": True} if cls is GAN else {"n_critic": 1}
    model = cls(4, convolutions=(4, 8), max_epochs=2, random_state=0, **more).fit(digits[0])
    assert model.sample(5, random_state=0).shape == (5, 8, 8)
    assert sum(w.ndim == 4 for w in model.weights_.values()) > 8  # of both networks


def test_labels_and_refusals(digits):
    X, y = digits
    model = ConditionalVAE(2, convolutions=4, max_epochs=1, random_state=0).fit(X, y)
    assert model.sample(4, random_state=0, y=3).shape == (4, 8, 8)
    with pytest.raises(ValueError, match="X is a table"):
        VAE(2, convolutions=4).fit(X.reshape(200, -1))
