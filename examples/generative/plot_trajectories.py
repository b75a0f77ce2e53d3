"""
Trajectories of a differential equation
=======================================

Left: a predator and its prey, seen at a few irregular times and with noise; the equation that is
learned from these goes on where the observations end. Middle: a continuous flow moves noise to two
moons; each line is the way of one sample, from a grey dot to a black one. Right: the density that
goes with it.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import make_moons

from panlearn.generative import ContinuousNormalizingFlow, NeuralODE, odeint

rng = np.random.default_rng(0)


# %%
# Eight trajectories of thirty observations each.
def hunt(t, y):
    """Prey multiply and are eaten, predators live on them."""
    prey, predators = y[..., 0], y[..., 1]
    return torch.stack([prey * (1.0 - predators), predators * (prey - 1.0)], dim=-1)


starts, times, seen = rng.uniform(0.5, 2.0, size=(8, 2)), [], []
for start in starts:
    t = np.concatenate([[0.0], np.sort(rng.uniform(0, 7, size=29))])
    states = odeint(hunt, torch.tensor(start), t).y.numpy()
    times.append(t)
    seen.append(states + 0.02 * rng.normal(size=states.shape))
model = NeuralODE(32, window=3, batch_size=64, learning_rate=0.02, random_state=0)
model.fit(seen, times=times)

# %%
# The flow, trained by matching velocities; its solution is dense, so that lines can be drawn.
X = make_moons(2000, noise=0.06, random_state=0)[0].astype(np.float32)
flow = ContinuousNormalizingFlow(
    (96, 96, 96),
    frequencies=6,
    max_epochs=200,
    batch_size=256,
    learning_rate=1e-2,
    ema_decay=0.99,
    random_state=0,
).fit(X)
noise = torch.tensor(rng.normal(size=(200, 2)), dtype=torch.float32)
with torch.no_grad():
    path = odeint(flow.module_.velocity, noise, np.linspace(1, 0, 60)).y.numpy()
path = path * flow.scale_ + flow.mean_

# %%
# What both have learned.
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
fine = np.linspace(0, 14, 200)
for k, colour in enumerate(("C0", "C3", "C2")):
    true = odeint(hunt, torch.tensor(seen[k][0]), fine).y
    learned = model.predict(np.repeat(seen[k][:1], len(fine), axis=0), fine)
    left.plot(true[:, 0], true[:, 1], color=colour, alpha=0.3, linewidth=5)
    left.plot(learned[:, 0], learned[:, 1], color=colour)
    left.plot(seen[k][:, 0], seen[k][:, 1], ".", color=colour)
left.set(title="seen, true (wide) and learned", xlabel="prey", ylabel="predators")

middle.plot(path[:, :, 0], path[:, :, 1], color="C0", linewidth=0.5, alpha=0.5)
middle.plot(*path[0].T, ".", color="grey", markersize=4)
middle.plot(*path[-1].T, ".", color="black", markersize=4)
middle.set(title="from noise to moons", xlabel="first feature", ylabel="second feature")

places = np.stack(np.meshgrid(np.linspace(-1.7, 2.7, 90), np.linspace(-1.2, 1.7, 90)), axis=-1)
density = np.exp(flow.score_samples(places.reshape(-1, 2).astype(np.float32))).reshape(90, 90)
right.imshow(density, origin="lower", extent=(-1.7, 2.7, -1.2, 1.7), cmap="magma")
right.set(title="density", xlabel="first feature")
plt.show()
