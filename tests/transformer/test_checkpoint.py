import json
import shutil

import numpy as np
import pytest

from panlearn.transformer import GPT, GPTConfig
from panlearn.transformer._checkpoint import CheckpointError

TEXTS = ["the sea and the wind", "a tree has leaves"]
STYLES = {
    "gpt2": GPTConfig(2, 16, 2, 16),
    "llama": GPTConfig.llama(
        n_layers=2, width=16, n_heads=4, n_key_heads=2, context=16, hidden=24, rotary_base=500.0
    ),
}


@pytest.fixture(scope="module", params=STYLES.values(), ids=STYLES)
def saved(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "model"
    model = GPT(request.param, max_epochs=1, random_state=0).fit(TEXTS)
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
    loaded = GPT.from_pretrained(folder)
    for name, value in model.weights_.items():
        np.testing.assert_array_equal(loaded.weights_[name], value)
    assert loaded.weights_.keys() == model.weights_.keys()
    assert loaded.generate("the ", max_tokens=9) == model.generate("the ", max_tokens=9)
    np.testing.assert_array_equal(loaded.score_samples(TEXTS), model.score_samples(TEXTS))
    assert sorted(p.name for p in folder.iterdir()) == [
        "config.json",
        "model.safetensors",
        "tokenizer.json",
    ]


def test_without_a_tokenizer_token_ids_remain(broken, saved):
    (broken / "tokenizer.json").unlink()
    loaded = GPT.from_pretrained(broken)
    expected = saved[0].generate([[70, 71]], max_tokens=4)
    assert loaded.generate([[70, 71]], max_tokens=4) == expected
    with pytest.raises(ValueError, match="no tokenizer"):
        loaded.generate("the ")
    with pytest.raises(ValueError, match="no tokenizer"):
        loaded.generate([70], stop="x")


def test_weights_cut_short_or_altered(broken):
    path = broken / "model.safetensors"
    content = path.read_bytes()
    for damaged in (content[: len(content) // 2], b"", b"\x00" * 64):
        path.write_bytes(damaged)
        with pytest.raises(CheckpointError, match="damaged"):
            GPT.from_pretrained(broken)
    path.unlink()
    with pytest.raises(CheckpointError, match=r"no model\.safetensors"):
        GPT.from_pretrained(broken)
    (broken / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(CheckpointError, match="pickled"):
        GPT.from_pretrained(broken)


def test_a_config_that_does_not_fit(broken):
    kind = json.loads((broken / "config.json").read_text())["model_type"]
    layers = "n_layer" if kind == "gpt2" else "num_hidden_layers"
    act = "activation_function" if kind == "gpt2" else "hidden_act"
    cases = [
        ({layers: 3}, "lacks the tensor"),
        ({layers: 1}, "no place for"),
        ({"vocab_size": 300}, "shape"),
        ({layers: "gone"}, layers),
        ({layers: "many"}, "n_layers"),
        ({act: "mish"}, act),
        ({"model_type": "bert"}, "bert"),
        ({"rope_parameters": {"rope_type": "longrope"}}, "rope_type"),
    ]
    original = (broken / "config.json").read_text()
    for facts, named in cases[: 7 if kind == "gpt2" else 8]:
        edit(broken, **facts)
        with pytest.raises(CheckpointError, match=named):
            GPT.from_pretrained(broken)
        (broken / "config.json").write_text(original)
    for text in ("{", "[]"):
        (broken / "config.json").write_text(text)
        with pytest.raises(CheckpointError, match="JSON"):
            GPT.from_pretrained(broken)


@pytest.mark.parametrize(
    ("index", "named"),
    [
        ({}, "weight_map"),
        ({"weight_map": {"a": 3}}, "weight_map"),
        ({"weight_map": {"a": "../model.safetensors"}}, "lacks the shard"),
        ({"weight_map": {"a": "absent.safetensors"}}, "lacks the shard"),
    ],
)
def test_an_index_that_leads_nowhere(broken, index, named):
    (broken / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(CheckpointError, match=named):
        GPT.from_pretrained(broken)


def test_no_folder_and_no_layout(tmp_path):
    with pytest.raises(FileNotFoundError, match="no folder"):
        GPT.from_pretrained(tmp_path / "nothing")
    mixed = GPTConfig(1, 8, 2, 8, positions="sinusoidal")
    with pytest.raises(CheckpointError, match=r"panlearn\.save"):
        GPT(mixed, max_epochs=1, random_state=0).fit(TEXTS).save_pretrained(tmp_path / "new")
    assert not (tmp_path / "new").exists()
