"""Recurrent networks against loops written in PyTorch, on batches that are packed."""

import numpy as np
import torch
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_sequence, pad_packed_sequence

from benchmarks.harness import Workload
from panlearn.neural import RecurrentSeq2Seq, RecurrentTagger

EPOCHS, SIZE, RATE = 5, 64, 5e-3
CELLS = {"elman": torch.nn.RNN, "lstm": torch.nn.LSTM, "gru": torch.nn.GRU}


def tagged():
    """Noise of 20 to 60 steps; the tag says whether the sum so far is positive."""
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(rng.integers(20, 60), 8)) for _ in range(600)]
    return X, [(x[:, 0].cumsum() > 0).astype(int) for x in X]


def ours(data, cell):
    options = {"max_epochs": EPOCHS, "learning_rate": RATE, "batch_size": 32, "random_state": 0}
    return RecurrentTagger(SIZE, cell=cell, **options).fit(*data)


def packed_loop(data, cell):
    """What a careful person writes."""
    X, y = ([torch.tensor(a) for a in part] for part in data)
    X = [x.float() for x in X]
    module = torch.nn.ModuleList([CELLS[cell](8, SIZE), torch.nn.Linear(SIZE, 2)])
    optimizer = torch.optim.AdamW(module.parameters(), lr=RATE, weight_decay=0.0, fused=True)
    generator = torch.Generator().manual_seed(0)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(X), generator=generator).split(32):
            steps = pack_sequence([X[i] for i in rows], enforce_sorted=False)
            tags = pack_sequence([y[i] for i in rows], enforce_sorted=False)
            loss = F.cross_entropy(module[1](module[0](steps)[0].data), tags.data)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
            optimizer.step()
    return module


def right_tags(data, model):
    X, y = data
    if isinstance(model, RecurrentTagger):
        return {"right tags": model.score(X, y)}
    with torch.inference_mode():
        steps = pack_sequence(
            [torch.tensor(x, dtype=torch.float32) for x in X], enforce_sorted=False
        )
        states, lengths = pad_packed_sequence(model[0](steps)[0], batch_first=True)
        found = model[1](states).argmax(dim=-1)
    pairs = zip(found, lengths, y, strict=True)
    return {"right tags": float(np.concatenate([f[:n].numpy() == t for f, n, t in pairs]).mean())}


def mirrored():
    rng = np.random.default_rng(0)
    return [rng.choice(list("abcdef"), size=rng.integers(2, 8)) for _ in range(600)]


def mirror(words):
    model = RecurrentSeq2Seq(48, max_epochs=12, learning_rate=0.015, random_state=0)
    return model.fit(words, [word[::-1] for word in words])


def turned(words, model):
    return {"words without a fault": model.score(words, [word[::-1] for word in words])}


def workloads():
    for cell in CELLS:
        yield Workload(
            f"tagging 600 sequences of 20 to 60 steps, {cell} of {SIZE}, {EPOCHS} epochs",
            "neural.RecurrentTagger",
            tagged,
            {
                "panlearn": lambda data, cell=cell: ours(data, cell),
                "PyTorch, packed": lambda data, cell=cell: packed_loop(data, cell),
            },
            right_tags,
        )
    yield Workload(
        "turning 600 words round, 12 epochs",
        "neural.RecurrentSeq2Seq",
        mirrored,
        {"panlearn": mirror},
        turned,
    )
