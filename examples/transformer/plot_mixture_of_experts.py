"""
Experts that share the work
===========================

Each token chooses two of eight experts. Where all tokens have something in common, the same few
experts are chosen again and again. A bias that has a part in the choice, and none in the weights,
falls for experts with too much to do and rises for the others: after some hundred steps all work
alike, without a further loss that would disturb what is learned.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

from panlearn.transformer import ExpertsConfig, MixtureOfExperts

config = ExpertsConfig(n_experts=8, n_chosen=2, hidden=16, gate="sigmoid", balance_rate=0.004)
with torch.random.fork_rng():
    torch.manual_seed(0)
    layer = MixtureOfExperts(16, config)
tokens = torch.randn(1024, 16, generator=torch.Generator().manual_seed(1))
tokens[:, 0] = 3.0  # what all tokens share, and some experts like
with torch.no_grad():
    layer.router.weight[:, 0] = torch.linspace(-0.7, 0.7, 8)

shares = []
for _ in range(200):
    with torch.no_grad():
        layer(tokens)
    shares.append((layer.loads / layer.loads.sum()).numpy())
    layer.rebalance(layer.loads)

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.plot(np.array(shares))
axes.axhline(1 / 8, color="black", linewidth=0.8, linestyle="--")
axes.set(xlabel="step", ylabel="share of the tokens", title="Loads of eight experts")
plt.show()
