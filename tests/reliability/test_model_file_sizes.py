"""A model file takes memory and time by its own length, and waits for nothing."""

import os
import tracemalloc

import numpy as np
import pytest
from sklearn.pipeline import Pipeline

import panlearn
from panlearn.core.encoding import Decoder
from panlearn.linear import Ridge


def test_one_long_string_among_many_takes_no_square_of_memory():
    """An array of NumPy's strings would take 3.6 GB; objects say the same."""
    items = ["a" * 30_000, *["b"] * 30_000]
    labels = {"#": "objects", "kind": "U", "shape": [len(items)], "value": items}
    tracemalloc.start()
    found = Decoder({}).decode(labels)
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()
    assert found.tolist() == items


def test_a_pipe_is_no_model_and_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "model")
    with pytest.raises(FileNotFoundError, match="what is there is no file"):
        panlearn.load(tmp_path / "model")


def test_a_pipeline_with_a_cache_is_neither_saved_nor_loaded(tmp_path):
    pipeline = Pipeline([("ridge", Ridge())], memory=str(tmp_path / "cache"))
    with pytest.raises(TypeError, match="set memory=None"):
        panlearn.save(pipeline, tmp_path / "model")
    panlearn.save(pipeline.set_params(memory=None), tmp_path / "model")
    assert panlearn.load(tmp_path / "model").memory is None


def test_a_file_takes_no_more_memory_than_it_has_bytes(tmp_path):
    model = Ridge()
    model.value_ = np.ones((20, 100_000))
    tracemalloc.start()
    panlearn.save(model, tmp_path / "model")
    assert tracemalloc.get_traced_memory()[1] - model.value_.nbytes < 1_000_000
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    loaded = panlearn.load(tmp_path / "model")
    assert tracemalloc.get_traced_memory()[1] - before - loaded.value_.nbytes < 1_000_000
    tracemalloc.stop()
