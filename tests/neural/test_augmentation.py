"""Augmentation: shifts are whole pixels, turns turn, and the seed decides."""

import numpy as np
import pytest
import torch

from panlearn.neural.augmentation import Augmentation


def _images(rng, n=200, high=7, wide=5):
    return torch.as_tensor(rng.normal(size=(n, 2, high, wide)))


def test_nothing_asked_nothing_changed(rng):
    images = _images(rng)
    assert Augmentation()(images) is images


def test_a_shift_moves_whole_pixels_and_repeats_the_border(rng):
    images = _images(rng)
    moved = Augmentation(shift=1)(images)
    seen = set()
    for before, after in zip(images.numpy(), moved.numpy(), strict=True):
        padded = np.pad(before, [(0, 0), (1, 1), (1, 1)], mode="edge")
        matches = [
            (i, j)
            for i in range(3)
            for j in range(3)
            if np.allclose(padded[:, i : i + 7, j : j + 5], after, atol=1e-9)
        ]
        assert len(matches) == 1  # each channel of an image moves alike
        seen.add(matches[0])
    assert len(seen) == 9


def test_a_flip_is_left_for_right_half_of_the_time(rng):
    images = _images(rng)
    flipped = Augmentation(flip=True)(images)
    same = [torch.allclose(a, b, atol=1e-9) for a, b in zip(images, flipped, strict=True)]
    turned = [
        torch.allclose(a, b.flip(-1), atol=1e-9) for a, b in zip(images, flipped, strict=True)
    ]
    assert all(a != b for a, b in zip(same, turned, strict=True))
    assert 70 < sum(same) < 130  # binomial of 200 halves: four deviations are 28


def test_a_turn_turns_a_line_by_at_most_the_angle():
    """The direction of an elongated blob in an image that is wider than high."""
    y, x = torch.meshgrid(torch.arange(41.0) - 20, torch.arange(61.0) - 30, indexing="ij")
    blob = torch.exp(-(x**2) / 50 - y**2 / 4).expand(60, 1, 41, 61)
    turned = Augmentation(rotate=20)(blob)[:, 0]
    mass = turned.sum(dim=(1, 2))
    xx, yy, xy = ((turned * m).sum(dim=(1, 2)) / mass for m in (x * x, y * y, x * y))
    angle = torch.rad2deg(0.5 * torch.atan2(2 * xy, xx - yy))
    assert angle.abs().max() < 20.1
    assert angle.abs().max() > 17
    # a turn keeps lengths: the eigenvalues of the second moments stay what they were
    torch.testing.assert_close(xx + yy, torch.full((60,), 27.0), rtol=0.03, atol=0)


def test_noise_has_the_deviation_that_is_asked_for(rng):
    images = 3 * _images(rng)
    noise = Augmentation(noise=0.5)(images) - images
    assert abs(float(noise.std() / images.std()) - 0.5) < 0.02


@pytest.mark.parametrize(
    "bad", [{"shift": -1}, {"shift": 0.5}, {"rotate": -1.0}, {"noise": np.inf}]
)
def test_numbers_that_make_no_sense_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        Augmentation(**bad)
