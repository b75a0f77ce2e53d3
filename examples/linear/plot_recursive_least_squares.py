"""
Recursive least squares: the estimate settles
=============================================

Rows arrive one at a time. The estimate of each coefficient settles on the truth, and the band of
two standard deviations, from the covariance that is carried along, narrows around it. In the
lower panel a coefficient changes half-way: with a forgetting factor below one the estimate
follows, without it old rows hold it back.
"""

import matplotlib.pyplot as plt
import numpy as np

from panlearn.linear import RecursiveLeastSquares

rng = np.random.default_rng(0)
n, truth = 300, np.array([2.0, -1.0])
X = rng.normal(size=(n, 2))
noise = rng.normal(size=n)


def walk(model, y):
    """The estimates and their standard deviations after each row."""
    steps = []
    for i in range(n):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
        steps.append((model.coef_, np.sqrt(np.diag(model.covariance_))))
    return map(np.array, zip(*steps, strict=True))


rows = np.arange(1, n + 1)
fig, (top, bottom) = plt.subplots(2, 1, figsize=(8, 7), sharex=True, layout="constrained")
model = RecursiveLeastSquares(prior_covariance=4.0, fit_intercept=False)
estimate, deviation = walk(model, X @ truth + noise)
for j, colour in enumerate(["C0", "C1"]):
    low, high = (estimate[:, j] + s * deviation[:, j] for s in (-2, 2))
    top.fill_between(rows, low, high, color=colour, alpha=0.2)
    top.plot(rows, estimate[:, j], color=colour, label=f"coefficient {j + 1}, two deviations")
    top.axhline(truth[j], color="0.3", linestyle=":")
top.set(ylabel="estimate", ylim=(-3, 4), title="The estimate settles and its band narrows")
top.legend()

jump = np.where(rows <= n // 2, 2.0, -1.0)
changing = jump * X[:, 0] - X[:, 1] + noise
for forgetting, colour in [(1.0, "C7"), (0.95, "C0")]:
    model = RecursiveLeastSquares(prior_covariance=4.0, forgetting=forgetting, fit_intercept=False)
    estimate, _ = walk(model, changing)
    bottom.plot(rows, estimate[:, 0], color=colour, label=f"forgetting factor {forgetting}")
bottom.plot(rows, jump, color="0.3", linestyle=":", label="truth")
bottom.set(xlabel="rows seen", ylabel="estimate", title="A coefficient that changes at row 150")
bottom.legend()
plt.show()
