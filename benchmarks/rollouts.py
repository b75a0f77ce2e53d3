"""Rollouts and a step of GRPO beside trl: the same weights, the same completions, the same loss.

A GPT-2 of 4 layers, 256 wide, context 128, 8000 tokens. A rollout is 64 completions of 64 tokens,
drawn at temperature one: 8 of each of 8 prompts of 32, the groups that GRPO compares, or one of
each of 64 prompts. trl draws them by the generation of transformers. A step is the loss of these 64
completions, its gradient and one of AdamW. The quality of rollouts is the mean log-probability of
what was drawn, that of steps the last loss.
"""

from __future__ import annotations

import os
import tempfile

import numpy as np
import torch

from benchmarks.harness import Workload
from panlearn.alignment._policy import token_log_probabilities, trainable
from panlearn.alignment._policy_gradients import averaged, group_losses
from panlearn.alignment._rollouts import roll_out
from panlearn.neural import train
from panlearn.transformer import GPT

os.environ.setdefault("HF_HUB_OFFLINE", "1")

N_TOKENS, CONTEXT, N_ROWS, N_PROMPT, N_NEW, N_STEPS, RATE = 8000, 128, 64, 32, 64, 2, 1e-4
GROUP = 8


def build():
    import transformers
    from datasets import Dataset
    from tokenizers import Tokenizer, models
    from trl import GRPOConfig, GRPOTrainer

    transformers.logging.set_verbosity_error()
    shape = {"n_positions": CONTEXT, "n_embd": 256, "n_layer": 4, "n_head": 8}
    quiet = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    ends = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}
    config = transformers.GPT2Config(vocab_size=N_TOKENS, **shape, **quiet, **ends)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        policy = transformers.GPT2LMHeadModel(config)
    folder = tempfile.mkdtemp()
    policy.save_pretrained(folder)
    words = Tokenizer(models.WordLevel({"w": 1, "<end>": 0}, unk_token="w"))
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, eos_token="<end>", pad_token="<end>"
    )
    trainer = GRPOTrainer(
        policy,
        reward_funcs=lambda completions, **_: [0.0] * len(completions),
        args=GRPOConfig(
            output_dir=folder, use_cpu=True, bf16=False, report_to=[], num_generations=8,
            per_device_train_batch_size=N_ROWS, loss_type="grpo", gradient_checkpointing=False,
        ),
        train_dataset=Dataset.from_list([{"prompt": "w"}]),
        processing_class=tokenizer,
    )  # fmt: skip
    trainer.current_gradient_accumulation_steps = 1
    rng = np.random.default_rng(1)
    ids = torch.from_numpy(rng.integers(1, N_TOKENS, (N_ROWS, N_PROMPT + N_NEW)))
    ours = GPT.from_pretrained(folder, tokenizer=None)
    ours.end_tokens_ = ()
    return {
        "ours": ours,
        "theirs": policy,
        "trainer": trainer,
        "ids": ids,
        "advantages": torch.from_numpy(rng.normal(size=N_ROWS)).float(),
        "start": {k: v.clone() for k, v in policy.state_dict().items()},
    }


def grouped():
    data = build()
    data["ids"][:, :N_PROMPT] = data["ids"][::GROUP, :N_PROMPT].repeat_interleave(GROUP, dim=0)
    return data


def our_rollout(data):
    prompts = list(data["ids"][:, :N_PROMPT].numpy())
    seeds = torch.arange(N_ROWS)[:, None]
    drawn = roll_out(data["ours"], data["ours"].module_, prompts, seeds, max_tokens=N_NEW)
    return float(drawn.log_probs[drawn.there].mean())


@torch.no_grad()
def their_rollout(data):
    model, prompts = data["theirs"].eval(), data["ids"][:, :N_PROMPT]
    model.load_state_dict(data["start"])
    made = model.generate(
        prompts, attention_mask=torch.ones_like(prompts), do_sample=True, top_k=0,
        max_new_tokens=N_NEW, min_new_tokens=N_NEW, output_logits=True,
        return_dict_in_generate=True,
    )  # fmt: skip
    logs = torch.stack(made.logits, dim=1).log_softmax(-1)
    return float(logs.gather(2, made.sequences[:, N_PROMPT:, None]).mean())


def our_steps(data):
    ids, advantages = data["ids"], data["advantages"]
    mask = torch.arange(ids.shape[1]).expand_as(ids) >= N_PROMPT

    def objective(module, batch):
        (rows,) = batch
        found = token_log_probabilities(module, ids[rows], mask[rows])
        how = {"low": 0.2, "high": 0.2, "beta": 0.0, "kl": "k3"}
        losses = group_losses(found, found.detach(), None, advantages[rows], **how)
        return averaged(losses, mask[rows][:, 1:], "grpo", N_NEW)

    run = train(
        *(trainable(data["ours"]), objective, (np.arange(N_ROWS),)), batch_size=N_ROWS,
        max_epochs=N_STEPS, learning_rate=RATE, random_state=0,
    )  # fmt: skip
    return run.history["loss"][-1]


def their_steps(data):
    trainer, ids = data["trainer"], data["ids"]
    model = trainer.model.train()
    model.load_state_dict(data["start"])
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.0)
    batch = {
        "prompt_ids": ids[:, :N_PROMPT],
        "prompt_mask": torch.ones_like(ids[:, :N_PROMPT]),
        "completion_ids": ids[:, N_PROMPT:],
        "completion_mask": torch.ones_like(ids[:, N_PROMPT:]),
        "advantages": data["advantages"],
        "num_items_in_batch": torch.tensor(float(N_ROWS * N_NEW)),
    }
    for _ in range(N_STEPS):
        optimiser.zero_grad(set_to_none=True)
        loss = trainer._compute_loss(model, batch)
        loss.backward()
        optimiser.step()
    return float(loss.detach())


def workloads():
    return [
        Workload(
            f"rollout, {N_ROWS} completions of {N_NEW} tokens, {GROUP} of each prompt",
            "alignment.GRPO",
            grouped,
            {"panlearn": our_rollout, "trl": their_rollout},
            lambda data, value: {"log_prob": value},
            bar=3.0,
        ),
        Workload(
            f"rollout, {N_ROWS} completions of {N_NEW} tokens, each of its own prompt",
            "alignment.GRPO",
            build,
            {"panlearn": our_rollout, "trl": their_rollout},
            lambda data, value: {"log_prob": value},
            bar=3.0,
        ),
        Workload(
            f"GRPO, {N_STEPS} steps of {N_ROWS} completions",
            "alignment.GRPO",
            build,
            {"panlearn": our_steps, "trl": their_steps},
            lambda data, loss: {"loss": loss},
            bar=1.5,
        ),
    ]
