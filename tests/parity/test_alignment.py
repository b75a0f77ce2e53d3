"""Tuned language models beside trl and peft: the losses of pairs, and LoRA's additions."""

import os

import numpy as np
import pytest
import torch

from panlearn.alignment import (
    load_adapter,
    losses,
    save_adapter,
    supervised_finetune,
)
from panlearn.alignment._policy import trainable, untrained
from panlearn.alignment._prompts import Sequences, as_template
from panlearn.alignment.dpo import preference_losses
from panlearn.alignment.reward_model import RewardNetwork, bradley_terry_losses
from panlearn.neural import LoRA
from panlearn.transformer import GPT, GPTConfig

os.environ["HF_HUB_OFFLINE"] = "1"

PAIRS = [
    {"prompt": "two and two is", "chosen": " four", "rejected": " five or six"},
    {"prompt": "one", "chosen": " is a number of no size", "rejected": " two"},
    {"prompt": "the sky is", "chosen": " blue", "rejected": " green"},
]


def _pretrained(config, seed, folder):
    model = GPT(config, learning_rate=3e-2, max_steps=3, random_state=seed).fit(["one two three"])
    model.save_pretrained(folder)
    return model


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A policy and its reference, ours and theirs, with the tokenizer."""
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("models")
    ours = [_pretrained(GPTConfig(), seed, folder / str(seed)) for seed in (0, 1)]
    theirs = [
        transformers.AutoModelForCausalLM.from_pretrained(folder / str(seed)) for seed in (0, 1)
    ]
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "0" / "tokenizer.json"),
        eos_token="<|endoftext|>",
        pad_token="<|endoftext|>",
    )
    return ours, theirs, tokenizer


LOSSES = {
    "sigmoid": losses.Sigmoid(),
    "ipo": losses.IPO(),
    "robust": losses.Robust(label_smoothing=0.1),
    "sigmoid_norm": losses.LengthNormalized(),
}


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.filterwarnings("ignore")
def test_the_loss_and_its_gradient_are_those_of_trls_dpo_trainer(models, kind, tmp_path):
    trl = pytest.importorskip("trl")
    datasets = pytest.importorskip("datasets")
    (policy, reference), (their_policy, their_reference), tokenizer = models
    arguments = trl.DPOConfig(
        output_dir=str(tmp_path),
        beta=0.3,
        loss_type=[kind],
        label_smoothing=0.1 if kind == "robust" else 0.0,
        use_cpu=True,
        bf16=False,
        report_to=[],
        disable_dropout=True,
        per_device_train_batch_size=3,
        dataloader_pin_memory=False,
    )
    trainer = trl.DPOTrainer(
        their_policy,
        their_reference,
        args=arguments,
        train_dataset=datasets.Dataset.from_list(PAIRS),
        processing_class=tokenizer,
    )
    batch = next(iter(trainer.get_train_dataloader()))
    trainer.model.zero_grad()
    expected = trainer._compute_loss(trainer.model, batch, return_outputs=False)
    expected.backward()

    # the batch as trl made it: three chosen texts, then three rejected
    ids, mask = batch["input_ids"], batch["completion_mask"].bool()
    lengths = batch["attention_mask"].sum(1)
    sequences = Sequences(
        [i[:n].numpy() for i, n in zip(ids, lengths, strict=True)],
        [m[:n].numpy() for m, n in zip(mask, lengths, strict=True)],
    )
    place = np.arange(6).reshape(2, 3).T
    ids, mask = sequences.padded(place)
    with torch.no_grad():
        scores = reference.module_(ids.flatten(0, 1)).log_softmax(-1)[:, :-1]
        picked = scores.gather(2, ids.flatten(0, 1)[:, 1:, None])[..., 0]
        base = (picked * mask.flatten(0, 1)[:, 1:]).sum(1).view(3, 2)
    module = trainable(policy)
    found = preference_losses(module, ids, mask, base, LOSSES[kind], 0.3).mean()
    found.backward()
    assert float(found) == pytest.approx(float(expected), abs=1e-5)
    slopes = dict(trainer.model.named_parameters())
    torch.testing.assert_close(
        module.tokens.weight.grad, slopes["transformer.wte.weight"].grad, atol=1e-5, rtol=1e-3
    )
    torch.testing.assert_close(
        module.blocks[0].attention.project.weight.grad,
        slopes["transformer.h.0.attn.c_attn.weight"].grad.T,
        atol=1e-5,
        rtol=1e-3,
    )


def test_pairs_are_tokenised_as_trl_does(models):
    """A prompt, a completion, and the token that ends it."""
    (policy, _), _, tokenizer = models
    from panlearn.alignment._prompts import read_completions, read_prompts

    for row in PAIRS:
        (before,) = read_prompts(policy, [row["prompt"]])
        (after,) = read_completions(policy, [row["chosen"]])
        whole = tokenizer(row["prompt"] + row["chosen"] + tokenizer.eos_token)["input_ids"]
        assert [*before, *after] == whole


@pytest.mark.filterwarnings("ignore")
def test_rewards_and_their_loss_are_those_of_a_sequence_classifier(models):
    transformers = pytest.importorskip("transformers")
    (policy, _), (their_policy, _), _ = models
    config = transformers.GPT2Config(
        **{**their_policy.config.to_dict(), "num_labels": 1, "pad_token_id": 0}
    )
    theirs = transformers.GPT2ForSequenceClassification(config).eval()
    theirs.transformer.load_state_dict(their_policy.transformer.state_dict())
    ours = RewardNetwork(trainable(policy))
    ours.reward.weight.data.copy_(theirs.score.weight.data)
    texts = [np.arange(1, 8), np.arange(5, 9), np.arange(9, 20), np.arange(2, 5)]
    sequences = Sequences(texts, [np.arange(len(t)) > 1 for t in texts])
    ids, mask = sequences.padded(np.arange(4))
    with torch.no_grad():
        expected = theirs(input_ids=ids).logits[:, 0]
        found = ours(ids, mask)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)
    margin = torch.tensor([0.5, -0.25])
    pairs = found.view(2, 2)
    theirs_loss = -torch.nn.functional.logsigmoid(pairs[:, 0] - pairs[:, 1] - margin)
    torch.testing.assert_close(bradley_terry_losses(pairs, margin), theirs_loss)


STYLES = {
    "gpt2": GPTConfig(),
    "llama": GPTConfig.llama(n_layers=2, width=32, n_heads=4, context=64, n_key_heads=2),
}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.filterwarnings("ignore")
def test_additions_of_lora_are_read_by_peft_and_those_of_peft_here(style, tmp_path):
    peft, transformers = pytest.importorskip("peft"), pytest.importorskip("transformers")
    model = _pretrained(STYLES[style], 0, tmp_path / "base")
    lora = LoRA(rank=3, alpha=7.0, targets=("blocks.*",))
    tuned = supervised_finetune(
        model, [("one", " two")], lora=lora, max_epochs=5, learning_rate=1e-2, random_state=0
    )
    save_adapter(tuned, tmp_path / "adapter", base=str(tmp_path / "base"))
    base = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "base")
    theirs = peft.PeftModel.from_pretrained(base, tmp_path / "adapter").eval()
    ids = torch.arange(1, 30)[None]
    with torch.no_grad():
        plain, found, expected = model.module_(ids), tuned.module_(ids), theirs(ids).logits
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
    assert float((found - plain).abs().max()) > 1e-2

    # an adapter that peft made, with matrices of its own for each part
    base = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "base")
    names = {"gpt2": ["c_attn", "c_fc"], "llama": ["q_proj", "v_proj", "down_proj"]}[style]
    wish = peft.LoraConfig(
        r=2, lora_alpha=5, target_modules=names, task_type="CAUSAL_LM", use_rslora=True,
        fan_in_fan_out=style == "gpt2", init_lora_weights=False,
    )  # fmt: skip
    made = peft.get_peft_model(base, wish).eval()
    made.save_pretrained(tmp_path / "theirs")
    again = load_adapter(model, tmp_path / "theirs")
    with torch.no_grad():
        expected = made(ids).logits
        torch.testing.assert_close(again.module_(ids), expected, atol=1e-4, rtol=1e-4)
        assert float((expected - plain).abs().max()) > 1e-2


def test_templates_are_those_of_transformers():
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, models, pre_tokenizers

    inner = Tokenizer(models.WordLevel({"<unk>": 0}, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, bos_token="<|begin_of_text|>"
    )
    chatml = (
        "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + "
        "message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
    )
    llama = (
        "{% for message in messages %}{% set content = '<|start_header_id|>' + message['role'] + "
        "'<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' %}"
        "{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}"
        "{{ content }}{% endfor %}{% if add_generation_prompt %}"
        "{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"
    )
    talk = [
        {"role": "system", "content": "Be brief. "},
        {"role": "user", "content": " Hello\n"},
        {"role": "assistant", "content": "Hi"},
        {"role": "user", "content": "Bye"},
    ]
    for template, ours in [(chatml, as_template("chatml")), (llama, as_template("llama"))]:
        for answer in (False, True):
            expected = tokenizer.apply_chat_template(
                talk, chat_template=template, tokenize=False, add_generation_prompt=answer
            )
            assert ours.render(talk, answer) == expected


def test_what_peft_knows_and_this_does_not_is_refused_by_name(tmp_path):
    model = untrained(np.random.default_rng(0))
    with pytest.raises(ValueError, match="no additions"):
        save_adapter(model, tmp_path)
    tuned = supervised_finetune(model, [("a", "b")], lora=LoRA(rank=2), max_steps=1)
    save_adapter(tuned, tmp_path)
    file = tmp_path / "adapter_config.json"
    plain = file.read_text()
    for wrong in ('"use_dora": true', '"rank_pattern": {"a": 3}', '"peft_type": "IA3"'):
        name = wrong.split('"')[1]
        file.write_text(plain.replace(f'"{name}"', '"was"').replace("{", "{" + wrong + ",", 1))
        with pytest.raises(ValueError, match=name):
            load_adapter(model, tmp_path)
    file.write_text(plain)
    other = GPT(GPTConfig(1), max_steps=1, random_state=0).fit(["a"])
    with pytest.raises(ValueError, match=r"no place for: .*h\.1"):
        load_adapter(other, tmp_path)
    wide = GPT(GPTConfig(2, 64), max_steps=1, random_state=0).fit(["a"])
    with pytest.raises(ValueError, match="does not fit"):
        load_adapter(wide, tmp_path)
    (tmp_path / "adapter_model.safetensors").unlink()
    with pytest.raises(ValueError, match="holds no additions"):
        load_adapter(model, tmp_path)
