import json
import shutil
import tracemalloc

import numpy as np
import pytest

from panlearn.statespace import Mamba, MambaConfig
from panlearn.transformer._folder import CheckpointError

TEXTS = ["the sea and the wind", "a tree has leaves"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "model"
    model = Mamba(MambaConfig(2, 8), window=8, max_steps=2, random_state=0).fit(TEXTS)
    model.save_pretrained(folder)
    return model, folder


@pytest.fixture
def broken(saved, tmp_path):
    """A copy to damage."""
    return shutil.copytree(saved[1], tmp_path / "copy")


def edit(folder, **facts):
    path = folder / "config.json"
    content = {**json.loads(path.read_text()), **facts}
    path.write_text(json.dumps({k: v for k, v in content.items() if v != "gone"}))


def test_what_is_read_is_what_was_written(saved):
    model, folder = saved
    loaded = Mamba.from_pretrained(folder)
    assert loaded.weights_.keys() == model.weights_.keys()
    for name, value in model.weights_.items():
        np.testing.assert_array_equal(loaded.weights_[name], value)
    assert loaded.generate("the ", max_tokens=9) == model.generate("the ", max_tokens=9)
    np.testing.assert_array_equal(loaded.score_samples(TEXTS), model.score_samples(TEXTS))


def test_training_goes_on_from_what_was_read(saved):
    loaded = Mamba.from_pretrained(saved[1]).set_params(window=8, max_steps=1, random_state=0)
    before = {name: value.copy() for name, value in loaded.weights_.items()}
    loaded.fit(TEXTS)
    moved = [np.abs(loaded.weights_[name] - before[name]).max() for name in before]
    assert 0 < max(moved) < 0.01


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({"num_hidden_layers": 3}, "lacks the tensor"),
        ({"num_hidden_layers": 1}, "no place for"),
        ({"vocab_size": 300}, "shape"),
        ({"state_size": 7}, "shape"),
        ({"conv_kernel": 5}, "shape"),
        ({"hidden_size": "gone"}, "hidden_size"),
        ({"num_hidden_layers": "many"}, "n_layers"),
        ({"hidden_act": "gelu"}, "hidden_act"),
        ({"intermediate_size": 17}, "intermediate_size"),
        ({"model_type": "mamba2"}, "mamba2"),
        ({"attention_every": 3}, "attention_every"),
        # sizes that no machine has
        ({"num_hidden_layers": 10**9}, "lacks the tensors"),
        ({"hidden_size": 10**12, "intermediate_size": "gone"}, "shape"),
        ({"vocab_size": 10**15}, "shape"),
    ],
)
def test_a_config_that_does_not_fit(broken, facts, says):
    edit(broken, **facts)
    tracemalloc.start()
    with pytest.raises(CheckpointError, match=says):
        Mamba.from_pretrained(broken)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000


def test_weights_cut_short_altered_or_pickled(broken):
    path = broken / "model.safetensors"
    content = path.read_bytes()
    for damaged in (content[: len(content) // 2], b"", b"\x00" * 64):
        path.write_bytes(damaged)
        with pytest.raises(CheckpointError, match="damaged"):
            Mamba.from_pretrained(broken)
    path.unlink()
    (broken / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(CheckpointError, match="pickled"):
        Mamba.from_pretrained(broken)
    with pytest.raises(FileNotFoundError, match="no folder"):
        Mamba.from_pretrained(broken / "nothing")


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_matrices_may_stay_in_half_precision(saved, tmp_path, dtype):
    model, folder = saved
    half = Mamba.from_pretrained(folder, dtype=dtype)
    matrices = [n for n, v in half.weights_.items() if v.dtype.itemsize == 2]
    assert {"tokens.weight", "blocks.1.mixer.project.weight"} <= set(matrices)
    assert not [n for n in matrices if "log_rate" in n or "norm" in n or n.endswith("D")]
    # a digit of eight bits: of sums of some tens of tokens
    np.testing.assert_allclose(half.score_samples(TEXTS), model.score_samples(TEXTS), rtol=5e-3)
    prompts = ["the sea", "a"]
    together = half.generate(prompts, max_tokens=6)
    assert together == [half.generate(prompt, max_tokens=6) for prompt in prompts]
    half.save_pretrained(tmp_path)
    again = Mamba.from_pretrained(tmp_path, dtype="auto")
    for name, value in half.weights_.items():
        if name in matrices:
            np.testing.assert_array_equal(again.weights_[name], value)
    half.set_params(window=8, max_steps=1, random_state=0).fit(TEXTS)
    assert {value.dtype for value in half.weights_.values()} == {np.dtype(np.float32)}
    with pytest.raises(ValueError, match="dtype must be one of"):
        Mamba.from_pretrained(folder, dtype="int8")
