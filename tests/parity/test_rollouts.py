"""GRPO beside trl: the loss of a batch and its gradient, and the advantages of groups."""

import os

import numpy as np
import pytest
import torch

from panlearn.alignment._policy import token_log_probabilities, trainable
from panlearn.alignment._policy_gradients import averaged, group_advantages, group_losses
from panlearn.transformer import GPT, GPTConfig

os.environ["HF_HUB_OFFLINE"] = "1"
LONGEST = 7


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A policy, ours and theirs, with the tokenizer."""
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("model")
    ours = GPT(GPTConfig(), learning_rate=3e-2, max_steps=3, random_state=0).fit(["one two three"])
    ours.save_pretrained(folder)
    theirs = transformers.AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"),
        eos_token="<|endoftext|>",
        pad_token="<|endoftext|>",
    )
    return ours, theirs, tokenizer


KINDS = {
    "grpo": dict(loss_type="grpo"),
    "dapo": dict(loss_type="dapo"),
    "dr_grpo": dict(loss_type="dr_grpo"),
    "k3": dict(loss_type="grpo", beta=0.3, use_bias_correction_kl=False),
    "unbiased": dict(loss_type="dapo", beta=0.3, use_bias_correction_kl=True),
    "high": dict(loss_type="grpo", epsilon=0.1, epsilon_high=0.4),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore")
def test_the_loss_and_its_gradient_are_those_of_trls_grpo_trainer(models, kind, tmp_path):
    trl = pytest.importorskip("trl")
    datasets = pytest.importorskip("datasets")
    ours, theirs, tokenizer = models
    how = KINDS[kind]
    trainer = trl.GRPOTrainer(
        theirs,
        reward_funcs=lambda completions, **_: [0.0] * len(completions),
        args=trl.GRPOConfig(
            output_dir=str(tmp_path),
            use_cpu=True,
            bf16=False,
            report_to=[],
            num_generations=2,
            per_device_train_batch_size=4,
            max_completion_length=LONGEST,
            disable_dropout=True,
            **how,
        ),
        train_dataset=datasets.Dataset.from_list([{"prompt": "one"}] * 4),
        processing_class=tokenizer,
    )
    rng = np.random.default_rng(0)
    prompts = torch.from_numpy(rng.integers(0, 250, (4, 3)))
    completions = torch.from_numpy(rng.integers(0, 250, (4, 5)))
    mask = torch.arange(5) < torch.tensor([5, 2, 4, 1])[:, None]
    advantages = torch.from_numpy(rng.normal(size=4)).float()
    whole = torch.cat([torch.ones(4, 3, dtype=torch.bool), mask], dim=1)
    ids = torch.cat([prompts, completions], dim=1) * whole
    counted = whole.clone()
    counted[:, :3] = False
    module = trainable(ours)
    log_probs = token_log_probabilities(module, ids, counted)
    now = log_probs.detach()
    old, reference = (now + torch.from_numpy(rng.normal(0, 0.3, now.shape)).float() for _ in "or")

    trainer.current_gradient_accumulation_steps = 1
    trainer.model.zero_grad()
    expected = trainer._compute_loss(
        trainer.model,
        {
            "prompt_ids": prompts,
            "prompt_mask": torch.ones(4, 3, dtype=torch.long),
            "completion_ids": completions * mask,
            "completion_mask": mask.long(),
            "advantages": advantages,
            "old_per_token_logps": old[:, 2:],
            "ref_per_token_logps": reference[:, 2:],
            "num_items_in_batch": mask.sum(),
        },
    )
    expected.backward()

    beta = how.get("beta", 0.0)
    tokens = group_losses(
        *(log_probs, old, reference if beta else None, advantages),
        low=how.get("epsilon", 0.2),
        high=how.get("epsilon_high", 0.2),
        beta=beta,
        kl="unbiased" if how.get("use_bias_correction_kl") else "k3",
    )
    losses, weights = averaged(tokens, counted[:, 1:], how["loss_type"], LONGEST)
    found = (losses * weights).sum() / weights.sum()
    found.backward()
    assert float(found) == pytest.approx(float(expected), abs=1e-5)
    theirs = trainer.model.transformer.wte.weight.grad
    torch.testing.assert_close(module.tokens.weight.grad, theirs, rtol=0, atol=1e-5)


def test_advantages_are_those_that_trl_computes():
    """Its deviation has n - 1 in the denominator, with 1e-4 added."""
    trainer = pytest.importorskip("trl.trainer.grpo_trainer")
    rewards = torch.from_numpy(np.random.default_rng(1).normal(size=(3, 4)))
    mean, spread = torch.nanmean(rewards, dim=1), trainer.nanstd(rewards, dim=1)
    expected = (rewards - mean[:, None]) / (spread[:, None] + 1e-4)
    torch.testing.assert_close(group_advantages(rewards, "sample"), expected)
