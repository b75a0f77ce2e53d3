"""Folders whose numbers are absurd are refused before memory or time is taken."""

import json
import tracemalloc

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from panlearn.statespace import Mamba, MambaConfig
from panlearn.transformer import BERT, GPT, BERTConfig, GPTConfig, ViTClassifier
from panlearn.transformer._folder import CheckpointError

ONCE = {"max_steps": 1, "random_state": 0}


def a_vit():
    X, y = np.arange(6 * 64.0).reshape(6, 1, 8, 8), [0, 1] * 3
    return ViTClassifier(4, n_layers=1, width=8, n_heads=2, **ONCE).fit(X, y)


MAKE = {
    "gpt2": lambda: GPT(GPTConfig(1, 8, 2, 8), **ONCE).fit(["ab" * 9]),
    "llama": lambda: GPT(GPTConfig.llama(n_layers=1, width=8, n_heads=2, context=8), **ONCE).fit(
        ["ab" * 9]
    ),
    "mamba": lambda: Mamba(MambaConfig(1, 8), window=8, **ONCE).fit(["ab" * 9]),
    "bert": lambda: BERT(BERTConfig(1, 8, 2, 8), **ONCE).fit(["ab ba", "ba ab"]),
    "vit": a_vit,
}


@pytest.fixture(scope="module", params=MAKE)
def saved(request, tmp_path_factory):
    model, folder = MAKE[request.param](), tmp_path_factory.mktemp(request.param)
    model.save_pretrained(folder)
    return type(model), folder, json.loads((folder / "config.json").read_text())


def refused(cls, folder, says=None):
    tracemalloc.start()
    with pytest.raises(CheckpointError, match=says):
        cls.from_pretrained(folder)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**24


@pytest.mark.parametrize("absurd", ["1e9", "1000000000", "Infinity", "NaN", "1e999", "-1", "{}"])
def test_sizes_are_held_against_the_files(saved, absurd):
    cls, folder, facts = saved
    sizes = [k for k, v in facts.items() if type(v) is int and not k.endswith("token_id")]
    if absurd in ("1e9", "1000000000"):  # a context need not have a table
        sizes = [k for k in sizes if k != "max_position_embeddings" or "type_vocab_size" in facts]
    assert len(sizes) > 3
    for name in sizes:
        text = json.dumps({**facts, name: "here"}).replace('"here"', absurd)
        (folder / "config.json").write_text(text)
        refused(cls, folder)
    (folder / "config.json").write_text(json.dumps(facts))
    cls.from_pretrained(folder)


def test_deep_json_is_refused(saved):
    cls, folder, facts = saved
    (folder / "config.json").write_text('{"a": ' + "[" * 10**5)
    refused(cls, folder, "not JSON")
    (folder / "config.json").write_text(json.dumps(facts))


def test_weights_that_are_no_numbers_are_told(saved):
    cls, folder, _ = saved
    file = folder / "model.safetensors"
    good = load_file(file)
    name = sorted(good)[-1]
    for wrong in (np.nan, np.inf):
        bad = good[name].copy()
        bad.flat[0] = wrong
        save_file({**good, name: bad}, file, {"format": "pt"})
        refused(cls, folder, "NaN or infinite")
    save_file(good, file, {"format": "pt"})
