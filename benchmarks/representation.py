"""Representations: SimCLR against a plain loop of PyTorch, CLIP against transformers.

The loop has the same network, changes of images, loss and optimiser, written as a tutorial does.
"""

import tempfile

import numpy as np
import torch
import transformers
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from torch import nn
from torch.nn import functional as F

from benchmarks.harness import Workload
from panlearn.representation import CLIP, CLIPTokenizer, SimCLR

EPOCHS, BATCH = 3, 128


def digits():
    X, y = load_digits(return_X_y=True)
    return X.reshape(-1, 8, 8), y


def _changed(x, generator):
    """Shift, turn and noise."""
    n = len(x)
    angle = np.pi / 12 * (2 * torch.rand(n, generator=generator) - 1)
    shift = (torch.randint(3, (n, 2), generator=generator) - 1) / 4
    above = torch.stack([angle.cos(), -angle.sin(), shift[:, 0]], dim=1)
    below = torch.stack([angle.sin(), angle.cos(), shift[:, 1]], dim=1)
    grid = F.affine_grid(torch.stack([above, below], dim=1), list(x.shape), align_corners=False)
    x = F.grid_sample(x, grid, padding_mode="border", align_corners=False)
    spread = x.flatten(1).std(dim=1)[:, None, None, None]
    return x + 0.1 * spread * torch.randn(x.shape, generator=generator)


def plain_simclr(data):
    X, _ = data
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    encoder = nn.Sequential(
        *(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU()),
        *(nn.Conv2d(32, 64, 3, padding=1, stride=2), nn.ReLU()),
        *(nn.Flatten(), nn.Linear(64 * 16, 128)),
    )
    head = nn.Sequential(
        *(nn.Linear(128, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 128))
    )
    parameters = [*encoder.parameters(), *head.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=1e-3)
    images = torch.tensor(((X - X.mean()) / X.std())[:, None], dtype=torch.float32)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(images), generator=generator).split(BATCH):
            x = images[rows]
            views = [_changed(x, generator) for _ in range(2)]
            z = F.normalize(torch.cat([head(encoder(view)) for view in views]))
            scores = z @ z.T / 0.2
            scores.fill_diagonal_(-torch.inf)
            partner = (torch.arange(len(z)) + len(x)) % len(z)
            loss = F.cross_entropy(scores, partner)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        return encoder(images).numpy()


def our_simclr(data):
    X, _ = data
    model = SimCLR(max_epochs=EPOCHS, batch_size=BATCH, random_state=0).fit(X)
    return model.transform(X)


def _probe(data, vectors):
    scaled = (vectors - vectors.mean(axis=0)) / vectors.std(axis=0)
    probe = LogisticRegression(max_iter=500).fit(scaled[:50], data[1][:50])
    return {"accuracy from 50 labels": probe.score(scaled[50:], data[1][50:])}


def both_clips():
    """A model of a sixth of the first one's layers, with random weights."""
    folder = tempfile.mkdtemp()
    tokenizer = CLIPTokenizer.learn(["a photo of a cat", "a painting of a dog"], 600)
    tokenizer.save_pretrained(folder)
    marks = {"bos_token_id": tokenizer.n_tokens - 2, "eos_token_id": tokenizer.n_tokens - 1}
    torch.manual_seed(0)
    config = transformers.CLIPConfig(
        text_config={"vocab_size": tokenizer.n_tokens, "num_hidden_layers": 2, **marks},
        vision_config={"num_hidden_layers": 2},
    )
    theirs = transformers.CLIPModel(config).eval()
    theirs.save_pretrained(folder)
    images = np.random.default_rng(0).integers(0, 256, (16, 3, 224, 224), dtype=np.uint8)
    texts = [f"a photo of {n} cats and a dog" for n in range(64)]
    pixels = transformers.models.clip.image_processing_pil_clip.CLIPImageProcessorPil()
    words = transformers.CLIPTokenizer.from_pretrained(folder)
    return CLIP.from_pretrained(folder), (theirs, pixels, words), images, texts


def their_scores(data):
    _, (model, pixels, words), images, texts = data
    given = words(texts, padding=True, return_tensors="pt")
    given["pixel_values"] = pixels(images=list(images), return_tensors="pt")["pixel_values"]
    with torch.inference_mode():
        return model(**given).logits_per_image.numpy()


def workloads():
    return [
        Workload(
            f"SimCLR, {EPOCHS} epochs of digits",
            "representation.SimCLR",
            digits,
            {"panlearn": our_simclr, "plain loop": plain_simclr},
            _probe,
        ),
        Workload(
            "CLIP, scores of 16 images and 64 texts, two layers of ViT-B/32",
            "representation.CLIP",
            both_clips,
            {
                "panlearn": lambda data: data[0].similarity(data[2], data[3]),
                "transformers": their_scores,
            },
            lambda data, scores: {"checksum": float(np.abs(scores).sum())},
        ),
    ]
