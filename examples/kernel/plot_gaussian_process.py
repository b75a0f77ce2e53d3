"""
Gaussian process: a curve with its doubt
========================================

Gaussian process regression on a few noisy points. The kernel, a smooth part and noise, is chosen by
the marginal likelihood. Between the points the posterior is sure, in the gap and outside it is not,
and three draws from it show what it deems possible.
"""

import matplotlib.pyplot as plt
import numpy as np

from panlearn.kernel import GaussianProcessRegressor
from panlearn.kernel.kernels import RBF, White

rng = np.random.default_rng(1)
X = np.r_[rng.uniform(0, 4, 15), rng.uniform(7, 10, 12)][:, None]
y = np.sin(X[:, 0]) + 0.2 * rng.standard_normal(len(X))
model = GaussianProcessRegressor(1.0 * RBF(1.0) + White(0.1), n_restarts_optimizer=3).fit(X, y)
print(dict(zip(model.kernel_.names, np.exp(model.kernel_.theta).round(3), strict=True)))

x = np.linspace(-1, 12, 300)[:, None]
mean, std = model.predict(x, return_std=True)
smooth = GaussianProcessRegressor(
    model.kernel_.left, alpha=model.kernel_.right.noise_level, optimizer=None
).fit(X, y)

fig, axis = plt.subplots(figsize=(8, 4.5), layout="constrained")
axis.fill_between(
    x[:, 0], mean - 2 * std, mean + 2 * std, alpha=0.2, label="two standard deviations"
)
draws = axis.plot(x, smooth.sample_y(x, 3, random_state=0), color="0.6", linewidth=1)
draws[0].set_label("draws")
axis.plot(x, mean, linewidth=3, label="mean")
axis.plot(x, np.sin(x), "--", color="black", label="truth")
axis.plot(X, y, "o", color="black", label="data")
axis.set(xlabel="x", ylabel="y", title="sure near the data, in doubt in the gap")
fig.legend(loc="outside lower center", ncols=5)
plt.show()
