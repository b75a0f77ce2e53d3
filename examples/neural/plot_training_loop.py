"""
The training loop: schedules, averages and a curriculum
=======================================================

`neural.train` takes a module, an objective and data. One network learns a wave under four settings:
a constant learning rate, a cosine to zero, a constant rate with an average of the weights, and a
curriculum that begins with the rows near the middle.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn

from panlearn.neural import batches, train

rng = np.random.default_rng(0)
x = rng.uniform(-3, 3, size=(400, 1)).astype(np.float32)
y = (np.sin(2 * x) + 0.2 * rng.normal(size=x.shape)).astype(np.float32)
grid = np.linspace(-3, 3, 300, dtype=np.float32)[:, None]
truth = (grid, np.sin(2 * grid))


def squares(module, batch):
    """The loss of each row."""
    return (module(batch[0]) - batch[1]) ** 2


settings = {
    "constant": {},
    "cosine": {"schedule": "cosine"},
    "average of weights": {"ema_decay": 0.98},
    "curriculum": {"order": batches.Curriculum(np.abs(x[:, 0]), epochs=40)},
}

# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(11.5, 4.5), layout="constrained")
left.scatter(x, y, s=5, color="0.7")
for name, setting in settings.items():
    start = torch.Generator().manual_seed(0)
    network = nn.Sequential(
        nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1)
    )
    for p in network.parameters():
        nn.init.normal_(p, std=0.3, generator=start)
    run = train(
        network,
        squares,
        (x, y),
        max_epochs=80,
        learning_rate=0.01,
        validation=truth,
        random_state=0,
        **setting,
    )
    with torch.no_grad():
        left.plot(grid, network(torch.from_numpy(grid)), label=name)
    right.semilogy(run.history["validation_loss"], label=name)
left.set_title("What was learned")
left.legend()
right.set(xlabel="epoch", ylabel="mean squared distance from the truth", title="On the way")
right.legend()
plt.show()
