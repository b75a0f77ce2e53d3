import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import panlearn
from panlearn.transformer import GPT, GPTConfig, _checkpoint
from panlearn.transformer._arrays import Room, to_tensor
from panlearn.transformer._checkpoint import CheckpointError
from panlearn.transformer._folder import Folder

TEXTS = ["the sea and the wind", "a tree has leaves"]
STYLES = {
    "gpt2": GPTConfig(2, 16, 2, 16),
    "llama": GPTConfig.llama(
        n_layers=2, width=16, n_heads=4, n_key_heads=2, context=16, hidden=24, rotary_base=500.0
    ),
    "deepseek": GPTConfig.deepseek(n_layers=2, width=16, n_heads=2, context=16),
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
        ({layers: 1}, "no place for|lacks the tensor"),
        ({layers: 10**9}, "lacks the tensors of 1000000000 layers"),
        ({"vocab_size": 10**30}, "absurd sizes|shape"),
        ({"quantization_config": {"bits": 4}}, "quantization_config"),
        ({"logit_scale": 2.0}, "logit_scale=2.0 is not known"),
        ({"vocab_size": 300}, "shape"),
        ({layers: "gone"}, layers),
        ({layers: "many"}, "n_layers"),
        ({act: "mish"}, act),
        ({"model_type": "bert"}, "bert"),
        ({"rope_parameters": {"rope_type": "longrope"}}, "rope_type"),
    ]
    original = (broken / "config.json").read_text()
    for facts, named in cases[: 11 if kind == "gpt2" else 12]:
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


def test_sizes_are_refused_before_memory_is_taken(broken, monkeypatch):
    """No tensor is read if one of them does not fit, however large it says it is."""
    monkeypatch.setattr(Folder, "read", None)
    kind = json.loads((broken / "config.json").read_text())["model_type"]
    width = "n_embd" if kind == "gpt2" else "hidden_size"
    edit(broken, **{width: 2**40})
    with pytest.raises(CheckpointError, match=r"shape|absurd sizes"):
        GPT.from_pretrained(broken)
    if kind == "deepseek_v3":
        edit(broken, **{width: 16, "n_routed_experts": 2 * 10**9})
        with pytest.raises(CheckpointError, match="lacks the tensors"):
            GPT.from_pretrained(broken)


def test_parts_that_only_sum_up_to_the_right_shape(tmp_path):
    """Queries too long and keys too short by as much are no Llama."""
    model = GPT(STYLES["llama"], max_epochs=1, random_state=0).fit(TEXTS)
    model.save_pretrained(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    layer = "model.layers.0.self_attn."
    tensors[f"{layer}q_proj.weight"] = torch.zeros(12, 16)
    tensors[f"{layer}k_proj.weight"] = torch.zeros(12, 16)
    save_file(tensors, tmp_path / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"q_proj.weight has shape \(12, 16\)"):
        GPT.from_pretrained(tmp_path)
    tensors[f"{layer}q_proj.weight"] = torch.zeros(16, 16, dtype=torch.int8)
    save_file(tensors, tmp_path / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"q_proj\.weight' as I8"):
        GPT.from_pretrained(tmp_path)


def test_a_foreign_pickle_is_never_opened(broken):
    """Whatever its name: a file that would run code when unpickled."""

    class Trap:
        def __reduce__(self):
            return (Path.touch, (broken / "trapped",))

    (broken / "model.safetensors").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(CheckpointError, match="no file of safetensors"):
        GPT.from_pretrained(broken)
    (broken / "model.safetensors").rename(broken / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match="pickled"):
        GPT.from_pretrained(broken)
    assert not (broken / "trapped").exists()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_weights_keep_half_precision(saved, tmp_path, dtype):
    model, folder = saved
    half = GPT.from_pretrained(folder, dtype=dtype)
    assert all(value.itemsize == 2 for value in half.weights_.values())
    assert {str(p.dtype) for p in half.module_.parameters()} == {f"torch.{dtype}"}
    exact = getattr(torch, dtype)
    for name in half.weights_:
        rounded = torch.from_numpy(model.weights_[name]).to(exact)
        assert torch.equal(half.module_.state_dict()[name], rounded)
    rough = 0.05 * np.abs(model.score_samples(TEXTS))
    np.testing.assert_array_less(
        np.abs(half.score_samples(TEXTS) - model.score_samples(TEXTS)), rough
    )
    assert isinstance(half.generate("the ", max_tokens=3), str)
    half.save_pretrained(tmp_path / "half")
    assert json.loads((tmp_path / "half" / "config.json").read_text())["dtype"] == dtype
    panlearn.save(half, tmp_path / "half.pl")
    for again in (
        GPT.from_pretrained(tmp_path / "half", dtype="auto"),
        panlearn.load(tmp_path / "half.pl"),
    ):
        for name, value in half.weights_.items():
            np.testing.assert_array_equal(again.weights_[name], value)
    trained = half.set_params(max_epochs=1).fit(TEXTS)
    assert {str(v.dtype) for v in trained.weights_.values()} == {"float32"}


def test_weights_stand_in_pieces_of_memory_that_large_pages_fit(monkeypatch):
    monkeypatch.setattr(Room, "_PIECE", 256)
    room = Room()
    tensors = [torch.arange(20.0), torch.arange(6.0).view(2, 3).bfloat16(), torch.ones(5)]
    kept = [room.keep(tensor) for tensor in tensors]  # the first two fill three quarters
    for array, tensor in zip(kept, tensors, strict=True):
        assert torch.equal(to_tensor(array), tensor)
        assert array.flags.writeable
        assert array.ctypes.data % 16 == kept[0].ctypes.data % 16
    assert kept[1].ctypes.data - kept[0].ctypes.data == 128
    assert kept[2].ctypes.data - kept[1].ctypes.data == 64
    large = room.keep(torch.ones(1000))  # more than a piece
    np.testing.assert_array_equal(large, np.ones(1000))


def test_an_unknown_precision_is_named(saved):
    with pytest.raises(ValueError, match="dtype"):
        GPT.from_pretrained(saved[1], dtype="int4")


def test_large_models_are_written_in_shards(saved, tmp_path, monkeypatch):
    model, _ = saved
    monkeypatch.setattr(_checkpoint, "_SHARD", 20_000)
    model.save_pretrained(tmp_path)
    shards = sorted(tmp_path.glob("model-*.safetensors"))
    assert len(shards) > 1
    loaded = GPT.from_pretrained(tmp_path)
    for name, value in model.weights_.items():
        np.testing.assert_array_equal(loaded.weights_[name], value)
    shards[0].unlink()
    with pytest.raises(CheckpointError, match=f"lacks the shard '{shards[0].name}'"):
        GPT.from_pretrained(tmp_path)


def test_weights_and_tokenizer_load_without_each_other(broken, saved):
    (broken / "tokenizer.json").write_text('{"model": {"type": "Unigram"}}')
    with pytest.raises(ValueError, match="Unigram"):
        GPT.from_pretrained(broken)
    alone = GPT.from_pretrained(broken, tokenizer=None)
    assert alone.generate([70, 71], max_tokens=4) == saved[0].generate([70, 71], max_tokens=4)
    own = GPT.from_pretrained(broken, tokenizer=saved[0].tokenizer_)
    assert own.generate("the ", max_tokens=4) == saved[0].generate("the ", max_tokens=4)


def test_no_folder_and_no_layout(tmp_path):
    with pytest.raises(FileNotFoundError, match="no folder"):
        GPT.from_pretrained(tmp_path / "nothing")
    mixed = GPTConfig(1, 8, 2, 8, positions="sinusoidal")
    with pytest.raises(CheckpointError, match=r"panlearn\.save"):
        GPT(mixed, max_epochs=1, random_state=0).fit(TEXTS).save_pretrained(tmp_path / "new")
    assert not (tmp_path / "new").exists()
