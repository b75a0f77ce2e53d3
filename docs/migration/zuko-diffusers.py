"""
From zuko and diffusers
=======================

The loop is written once: a flow or a diffusion is fitted to rows, then asked for densities or
samples. Columns are standardised inside, and the density is that of the data.
"""
# ruff: noqa: E402

# %% data
import numpy as np
import torch

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 2)) @ [[1.0, 0.6], [0.0, 0.8]]
new = rng.normal(size=(400, 2)) @ [[1.0, 0.6], [0.0, 0.8]]

# %% theirs: A flow and its density (zuko)
import zuko

torch.manual_seed(0)
flow = zuko.flows.MAF(2, transforms=2, hidden_features=(32,))
optimizer = torch.optim.Adam(flow.parameters(), 1e-2)
rows = torch.as_tensor(X, dtype=torch.float32)
for _ in range(150):
    optimizer.zero_grad()
    loss = -flow().log_prob(rows).mean()
    loss.backward()
    optimizer.step()
with torch.no_grad():
    theirs = flow().log_prob(torch.as_tensor(new, dtype=torch.float32)).mean().item()

# %% ours
from panlearn.generative import MaskedAutoregressiveFlow

model = MaskedAutoregressiveFlow(
    transforms=2, hidden_layer_sizes=32, learning_rate=1e-2, max_epochs=40, random_state=0
)
ours = model.fit(X).score(new)

# %% same
np.testing.assert_allclose(ours, theirs, atol=0.1)

# %% theirs: A diffusion of rows (diffusers)
from diffusers import DDPMScheduler

scheduler = DDPMScheduler(50, beta_schedule="squaredcos_cap_v2", clip_sample_range=4.0)
net = torch.nn.Sequential(torch.nn.Linear(3, 64), torch.nn.SiLU(), torch.nn.Linear(64, 2))
optimizer = torch.optim.Adam(net.parameters(), 5e-3)
for _ in range(300):
    noise, t = torch.randn_like(rows), torch.randint(50, (len(rows),))
    noisy = scheduler.add_noise(rows, noise, t)
    optimizer.zero_grad()
    said = net(torch.cat([noisy, t[:, None] / 50], dim=1))
    torch.nn.functional.mse_loss(said, noise).backward()
    optimizer.step()
x = torch.randn(500, 2)
with torch.no_grad():
    for t in scheduler.timesteps:
        said = net(torch.cat([x, (t / 50).expand(500, 1)], dim=1))
        x = scheduler.step(said, t, x).prev_sample

# %% ours
from panlearn.generative import DiffusionModel

model = DiffusionModel(64, n_steps=50, max_epochs=100, random_state=0).fit(X)
drawn = model.sample(500, random_state=0)

# %% same
np.testing.assert_allclose(drawn.mean(axis=0), X.mean(axis=0), atol=0.3)
np.testing.assert_allclose(x.numpy().mean(axis=0), X.mean(axis=0), atol=0.5)
