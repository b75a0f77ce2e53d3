"""The vision transformer: patches, positions of other sizes, and what it learns."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from panlearn.neural import Augmentation
from panlearn.transformer import ViTClassifier
from panlearn.transformer._vit import VisionEncoder, resized


def encoder(shape=(1, 4, 6), patch=(2, 2), n_outputs=3, n_layers=1):
    torch.manual_seed(0)
    sizes = {"n_layers": n_layers, "width": 8, "n_heads": 2, "hidden": 16}
    return VisionEncoder(shape, patch, n_outputs, **sizes).eval().requires_grad_(False)


def test_a_token_is_a_projection_of_its_own_patch_and_of_its_place():
    module, image = encoder(), torch.randn(1, 1, 4, 6)
    tokens = module.embed(image)[0]
    weight = module.patches.weight.flatten(1)
    assert tokens.shape == (7, 8)
    torch.testing.assert_close(tokens[0], module.first[0, 0] + module.positions[0, 0])
    for row in range(2):
        for column in range(3):
            patch = image[0, 0, 2 * row : 2 * row + 2, 2 * column : 2 * column + 2].flatten()
            place = 1 + 3 * row + column
            expected = weight @ patch + module.patches.bias + module.positions[0, place]
            torch.testing.assert_close(tokens[place], expected)


def test_pixels_beyond_the_last_whole_patch_are_dropped():
    image = torch.randn(2, 3, 5, 7)
    module = encoder((3, 5, 7))
    assert module.embed(image).shape == (2, 7, 8)
    expected = module.patches(image).flatten(2).transpose(1, 2) + module.positions[:, 1:]
    torch.testing.assert_close(module.embed(image)[:, 1:], expected)


def test_the_head_reads_the_first_token_after_the_norm():
    module, images = encoder(n_layers=2), torch.randn(2, 1, 4, 6)
    states = module.embed(images)
    for block in module.blocks:  # all tokens, though one is read in the end
        states = block(states)
    states = module.norm(states)
    torch.testing.assert_close(states.mean(-1), torch.zeros(2, 7), atol=1e-6, rtol=0)
    torch.testing.assert_close(module(images), module.head(states[:, 0]))
    maps = module.attention_maps(images)
    assert maps.shape == (2, 2, 2, 7, 7)
    torch.testing.assert_close(maps.sum(-1), torch.ones(2, 2, 2, 7))


def test_positions_of_another_size_keep_the_first_and_what_is_linear():
    rows, columns = torch.meshgrid(torch.arange(8.0), torch.arange(8.0), indexing="ij")
    grid = torch.stack([rows, columns], dim=-1).reshape(1, 64, 2)
    table = torch.cat([torch.tensor([[[9.0, -9.0]]]), grid], dim=1)
    assert resized(table, (8, 8), (8, 8)) is table
    larger = resized(table, (8, 8), (16, 16))
    torch.testing.assert_close(larger[0, 0], table[0, 0])
    made = larger[0, 1:].reshape(16, 16, 2)
    inner = slice(5, 11)  # far from the border, where the last row goes on as it is
    steps = (made[2:] - made[:-2])[inner, inner]
    torch.testing.assert_close(steps[..., 0], torch.ones(6, 6))
    torch.testing.assert_close(steps[..., 1], torch.zeros(6, 6), atol=1e-5, rtol=0)


def test_it_learns_digits_and_goes_on_from_there_with_other_labels_and_sizes():
    X, y = load_digits(n_class=3, return_X_y=True)
    model = ViTClassifier(4, max_epochs=8, random_state=0).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.95
    larger = X.reshape(-1, 8, 8).repeat(2, axis=1).repeat(2, axis=2)
    model.set_params(warm_start=True, max_epochs=4)
    names = np.array(["nought", "one", "two"])
    model.fit(larger[:300], names[y[:300]])
    assert model.classes_.tolist() == ["nought", "one", "two"]
    assert model.image_shape_ == (1, 16, 16)
    assert model.weights_["positions"].shape == (1, 17, 32)
    assert model.score(larger[300:], names[y[300:]]) > 0.8


def test_images_that_are_not_square_and_patches_that_do_not_fit():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3, 5, 7)), np.arange(30) % 2
    model = ViTClassifier(3, max_epochs=1, augment=Augmentation(shift=1), random_state=0).fit(X, y)
    assert model.attention_maps(X[:2]).shape == (2, 2, 2, 3, 3)  # 1 x 2 patches and the class
    changed = X.copy()
    changed[..., 3:, :] = 0  # what is left over below is not seen
    np.testing.assert_array_equal(model.predict_proba(changed), model.predict_proba(X))
    with pytest.raises(ValueError, match="multiple"):
        ViTClassifier(3, width=33).fit(X, y)
    with pytest.raises(ValueError, match="channels"):
        model.set_params(warm_start=True).fit(X[:, :1], y)


def test_a_weight_of_zero_is_an_absent_image():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(21, 4, 4)), np.arange(21) % 2
    weight = np.r_[np.ones(20), 0]
    one = ViTClassifier(max_epochs=2, random_state=0).fit(X, y, weight)
    other = ViTClassifier(max_epochs=2, random_state=0).fit(X[:20], y[:20])
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))
