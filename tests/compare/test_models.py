"""Which models a table is compared with if none is named, and what is said of the others."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_wine

from panlearn.compare.models import estimators, field, of_pixels


def pictures(rng, n=20, d=100):
    return pd.DataFrame(rng.integers(0, 256, (n, d)).astype(float)).rename(columns=str)


def test_pixels_are_known_by_name_or_by_their_range(rng):
    assert of_pixels(load_digits(as_frame=True).data)
    assert of_pixels(pictures(rng))
    assert of_pixels(pictures(rng) / 255)
    assert of_pixels(pictures(rng).mask(rng.random((20, 100)) < 0.1))  # with gaps
    assert not of_pixels(load_wine(as_frame=True).data)
    assert not of_pixels(pictures(rng, d=30))
    assert not of_pixels(pictures(rng) - 1)
    assert not of_pixels(pictures(rng) + 0.5)
    assert not of_pixels(pictures(rng).assign(town="York"))


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_every_estimator_is_compared_or_named_with_a_reason(task):
    names, left_out = field(task, pd.DataFrame({"a": np.arange(9.0)}))
    rest = set(estimators(task)) - set(names)
    assert rest
    assert all(sum(name in why for why in left_out) == 1 for name in rest)


def test_models_of_images_are_for_pixels(rng):
    pytest.importorskip("torch")
    images = {"ConvNetClassifier", "ViTClassifier"}
    names, left_out = field("classification", pd.DataFrame({"a": np.arange(9.0)}))
    assert not images & set(names)
    assert any("ConvNetClassifier and ViTClassifier" in why and "pixels" in why for why in left_out)
    names, left_out = field("classification", pictures(rng))
    assert images <= set(names)
    assert not any("pixels" in why for why in left_out)
