"""A step of preference tuning beside trl: the same weights, the same pairs, the same loss.

A GPT-2 of 4 layers, 256 wide, context 128, 8000 tokens; 8 pairs of a prompt of 32 tokens and
completions of 16 to 64. Both take AdamW steps on one batch. trl's trainer scores the reference in
each step, as it does unless it is told to do it beforehand; both ways are timed. The quality is the
loss after the steps.
"""

from __future__ import annotations

import os
import tempfile

import numpy as np
import torch

from benchmarks.harness import Workload
from panlearn.alignment import DPO
from panlearn.transformer import GPT

os.environ.setdefault("HF_HUB_OFFLINE", "1")

N_TOKENS, CONTEXT, N_PAIRS, N_STEPS, RATE = 8000, 128, 8, 3, 1e-4


def _batch(pairs):
    """The batch of trl: chosen texts, then rejected ones, padded on the right."""
    rows = [(prompt, pair[side]) for side in (0, 1) for prompt, *pair in pairs]
    longest = max(len(p) + len(c) for p, c in rows)
    ids = torch.zeros(len(rows), longest, dtype=torch.long)
    there, counts = torch.zeros_like(ids), torch.zeros_like(ids)
    for row, (prompt, completion) in enumerate(rows):
        ids[row, : len(prompt) + len(completion)] = torch.tensor([*prompt, *completion])
        there[row, : len(prompt) + len(completion)] = 1
        counts[row, len(prompt) : len(prompt) + len(completion)] = 1
    return {"input_ids": ids, "attention_mask": there, "completion_mask": counts}


def build():
    import transformers
    from datasets import Dataset
    from tokenizers import Tokenizer, models
    from trl import DPOConfig, DPOTrainer

    transformers.logging.set_verbosity_error()
    shape = {"n_positions": CONTEXT, "n_embd": 256, "n_layer": 4, "n_head": 8}
    quiet = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    ends = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}
    config = transformers.GPT2Config(vocab_size=N_TOKENS, **shape, **quiet, **ends)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        policy, reference = (transformers.GPT2LMHeadModel(config) for _ in range(2))
    reference.load_state_dict(policy.state_dict())
    rng = np.random.default_rng(1)
    pairs = [
        (
            rng.integers(1, N_TOKENS, 32).tolist(),
            *(rng.integers(1, N_TOKENS, rng.integers(16, 65)).tolist() for _ in range(2)),
        )
        for _ in range(N_PAIRS)
    ]
    folder = tempfile.mkdtemp()
    policy.save_pretrained(folder)
    words = Tokenizer(models.WordLevel({"w": 1, "<end>": 0}, unk_token="w"))
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, eos_token="<end>", pad_token="<end>"
    )
    trainer = DPOTrainer(
        policy,
        reference,
        args=DPOConfig(
            output_dir=folder, beta=0.1, use_cpu=True, bf16=False, report_to=[],
            gradient_checkpointing=False,
        ),
        train_dataset=Dataset.from_list([{"prompt": "w", "chosen": "w w", "rejected": "w"}]),
        processing_class=tokenizer,
    )  # fmt: skip
    return {
        "ours": GPT.from_pretrained(folder),
        "pairs": pairs,
        "trainer": trainer,
        "batch": _batch(pairs),
        "start": {k: v.clone() for k, v in policy.state_dict().items()},
    }


def ours(data):
    tuner = DPO(
        data["ours"], learning_rate=RATE, weight_decay=0.0, clip_norm=None, batch_size=N_PAIRS,
        max_epochs=N_STEPS, random_state=0,
    ).fit(data["pairs"])  # fmt: skip
    return tuner.history_["loss"][-1]


def _steps(data, batch):
    trainer = data["trainer"]
    model = trainer.model
    model.load_state_dict(data["start"])
    model.train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.0)
    for _ in range(N_STEPS):
        optimiser.zero_grad(set_to_none=True)
        loss = trainer._compute_loss(model, batch, return_outputs=False)
        loss.backward()
        optimiser.step()
    return float(loss.detach())


def trl_each_step(data):
    data["trainer"].precompute_ref_logps = False
    return _steps(data, data["batch"])


def trl_beforehand(data):
    trainer, batch = data["trainer"], data["batch"]
    mask = batch["completion_mask"]
    with torch.no_grad():
        model = trainer.ref_model.eval()
        scores = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
        logs = scores[:, :-1].log_softmax(-1).gather(2, batch["input_ids"][:, 1:, None])[..., 0]
        chosen, rejected = (logs * mask[:, 1:]).sum(1).chunk(2)
    trainer.precompute_ref_logps = True
    return _steps(data, {**batch, "ref_chosen_logps": chosen, "ref_rejected_logps": rejected})


def workloads():
    return [
        Workload(
            f"DPO, {N_STEPS} steps of {N_PAIRS} pairs",
            "alignment.DPO",
            build,
            {"panlearn": ours, "trl": trl_each_step, "trl, reference first": trl_beforehand},
            lambda data, loss: {"loss": loss},
            bar=1.5,
        ),
    ]
