"""
Schedules of the step
=====================

A schedule scales the step of each iteration. Beside the schedules stands what each does to a run
of stochastic gradient descent: a constant step stays as far from the minimum as its noise, and a
step that shrinks too soon stays where it started.
"""

# %%
# Five schedules, and a sixth that decays too fast.

import matplotlib.pyplot as plt
import numpy as np

from panlearn.optimize import schedules, stochastic_gradient_descent

STEPS = 2000
SCHEDULES = {
    "constant": schedules.constant(),
    "step decay at 700, 1400": schedules.step_decay([700, 1400]),
    "1 / (1 + k/100)": schedules.inverse_time(0.01),
    "1 / sqrt(1 + k/10)": schedules.inverse_sqrt(0.1),
    "warm-up, then cosine": schedules.warmup_cosine(200, STEPS),
    "1 / (1 + k): too short here": schedules.inverse_time(1.0),
}

# %%
# The mean of 100 noisy points in ten dimensions, with curvatures from 0.05 to 1; one row a step.

rng = np.random.default_rng(0)
curvature = np.geomspace(0.05, 1, 10)
data = 1 + 2 * rng.normal(size=(100, 10))


def loss(x, rows):
    """The mean loss of some rows."""
    return float(((x - data[rows].mean(axis=0)) ** 2 * curvature).sum() / 2)


def slope(x, rows):
    """Its gradient."""
    return curvature * (x - data[rows].mean(axis=0))


figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
k = np.arange(STEPS)
for index, (name, schedule) in enumerate(SCHEDULES.items()):
    runs = [
        stochastic_gradient_descent(
            loss, np.full(10, 6.0), jac=slope, n_samples=100, epochs=STEPS // 100,
            step=0.5, schedule=schedule, replace=True, random_state=seed,
        ).fun_values
        for seed in range(8)
    ]  # fmt: skip
    style = {"color": f"C{index}", "linestyle": "--" if "short" in name else "-"}
    left.plot(k, schedule(k), label=name, **style)
    right.semilogy(np.arange(0, STEPS + 1, 100), np.mean(runs, axis=0), **style)
left.set(xlabel="iteration k", ylabel="factor of the step", title="Schedule", ylim=(0, 1.05))
figure.legend(loc="outside lower center", ncols=3)
right.set(xlabel="iteration k", ylabel="objective above its minimum, mean of 8 runs")
right.set_title("Stochastic gradient descent under it")
plt.show()
