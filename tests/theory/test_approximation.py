"""Polynomials and networks against interpolation, sampling and known counts."""

import math

import numpy as np
import pytest

from panlearn.theory import approximation


def test_bernstein_by_its_definition():
    x = np.array([0, 0.2, 0.7, 1])
    f = np.exp
    expected = [
        sum(math.comb(5, k) * p**k * (1 - p) ** (5 - k) * math.exp(k / 5) for k in range(6))
        for p in x
    ]
    np.testing.assert_allclose(approximation.bernstein(f, 5, x), expected, rtol=1e-12)
    line = approximation.bernstein(lambda t: 3 * t - 1, 900, x)  # lines are kept exactly
    np.testing.assert_allclose(line, 3 * x - 1, atol=1e-12)
    with pytest.raises(ValueError, match=r"in \[0, 1\]"):
        approximation.bernstein(f, 3, 1.5)
    with pytest.raises(ValueError, match="degree=0"):
        approximation.bernstein(f, 0, 0.5)


def test_interpolant(rng):
    knots, values = np.sort(rng.random(9)), rng.normal(size=9)
    net = approximation.relu_interpolant(knots, values)
    x = np.linspace(-0.2, knots[-1], 200)
    found = approximation.relu_network(net, x[:, None])[:, 0]
    np.testing.assert_allclose(found, np.interp(x, knots, values), atol=1e-10)
    assert approximation.count_linear_pieces(net, knots[0], knots[-1]) == 8
    with pytest.raises(ValueError, match="increase"):
        approximation.relu_interpolant([0, 0], [1, 2])


@pytest.mark.parametrize(("teeth", "depth"), [(2, 1), (2, 3), (3, 2)])
def test_depth_multiplies_pieces(teeth, depth):
    (inner, outer) = approximation.sawtooth(teeth)
    layers = [inner]
    for _ in range(depth - 1):  # fuse the output of one tooth into the input of the next
        layers.append((inner[0] @ outer[0], inner[0] @ outer[1] + inner[1]))
    layers.append(outer)
    assert approximation.count_linear_pieces(layers, 0, 1) == teeth**depth


@pytest.mark.parametrize(("units", "d"), [(5, 1), (5, 2), (4, 3)])
def test_one_layer_in_general_position(units, d, rng):
    layers = [(rng.normal(size=(units, d)), rng.normal(size=units)), (np.ones((1, units)), [0.0])]
    regions = approximation.linear_regions(layers)
    assert len(regions) == approximation.max_regions(units, d)
    assert len({r.pattern for r in regions}) == len(regions)


def test_regions_of_two_layers_hold_every_pattern_that_is_seen(rng):
    layers = [
        (rng.normal(size=(4, 2)), rng.normal(size=4)),
        (rng.normal(size=(3, 4)), rng.normal(size=3)),
        (rng.normal(size=(2, 3)), rng.normal(size=2)),
    ]
    regions = {r.pattern: r for r in approximation.linear_regions(layers, -3, 3)}
    X = rng.uniform(-3, 3, size=(20_000, 2))
    first = X @ layers[0][0].T + layers[0][1]
    second = np.maximum(first, 0) @ layers[1][0].T + layers[1][1]
    seen = {tuple(p) for p in np.hstack([first > 0, second > 0]).tolist()}
    assert seen <= set(regions)
    assert len(regions) - len(seen) <= 2  # a sample may miss a sliver
    for region in regions.values():
        assert np.abs(region.point).max() <= 3
        value = region.matrix @ region.point + region.shift
        np.testing.assert_allclose(
            value, approximation.relu_network(layers, region.point)[0], atol=1e-9
        )


def test_degenerate_units():
    dead = [([[1.0], [0.0], [0.0]], [0.0, 1.0, -1.0]), ([[1.0, 1.0, 1.0]], [0.0])]
    regions = approximation.linear_regions(dead)
    assert [r.pattern for r in regions] == [(False, True, False), (True, True, False)]
    twice = [([[1.0], [1.0]], [0.0, 0.0]), ([[1.0, -1.0]], [0.0])]  # one hyperplane, and it cancels
    assert len(approximation.linear_regions(twice)) == 2
    assert approximation.count_linear_pieces(twice, -1, 1) == 1
    with pytest.raises(ValueError, match="follow each other"):
        approximation.linear_regions([(np.ones((2, 1)), [0, 0]), (np.ones((1, 3)), [0])])
