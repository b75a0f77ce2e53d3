"""
Seven optimisers in one valley
==============================

Each optimiser is a method of `scipy.optimize.minimize` and records its path. All start at the same
point of a narrow, curved valley. Plain gradient descent zigzags to the floor of the valley and
then creeps along it; momentum carries on; Adam and RMSProp rescale the axes; Newton's method knows
the curvature and needs a handful of steps.
"""

# %%
# The objective is a gentler form of Rosenbrock's valley, with its minimum at (1, 1).

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

from panlearn.optimize import adagrad, adam, gradient_descent, newton, rmsprop


def valley(x):
    """The height of the valley."""
    return (1 - x[0]) ** 2 + 10 * (x[1] - x[0] ** 2) ** 2


def slope(x):
    """Its gradient."""
    bend = x[1] - x[0] ** 2
    return np.array([-2 * (1 - x[0]) - 40 * x[0] * bend, 20 * bend])


METHODS = {
    "gradient descent": (gradient_descent, {"step": 0.015}),
    "momentum": (gradient_descent, {"step": 0.008, "momentum": 0.9}),
    "Nesterov": (gradient_descent, {"step": 0.008, "momentum": 0.9, "nesterov": True}),
    "AdaGrad": (adagrad, {"step": 0.4}),
    "RMSProp": (rmsprop, {"step": 0.03, "beta": 0.9}),
    "Adam": (adam, {"step": 0.1}),
    "Newton": (newton, {}),
}
START = np.array([-1.3, 1.4])
runs = {
    name: minimize(
        valley, START, jac=slope, method=method, options={"maxiter": 300, "tol": 1e-8} | options
    )
    for name, (method, options) in METHODS.items()
}

# %%
# One panel an optimiser: its first 300 steps. Below: how far the objective is from its minimum,
# which is zero.

grid = np.meshgrid(np.linspace(-1.8, 1.8, 200), np.linspace(-0.9, 2.2, 200))
heights = np.log10(valley(np.array(grid)) + 1e-3)

names = list(runs)
figure, panels = plt.subplot_mosaic(
    [names[:4], [*names[4:], "marks"], ["gap"] * 4],
    figsize=(10, 9),
    height_ratios=[1, 1, 1.5],
    layout="constrained",
)
gap, marks = panels["gap"], panels["marks"]
for index, (name, run) in enumerate(runs.items()):
    panel, colour = panels[name], f"C{index}"
    panel.contour(*grid, heights, levels=14, colors="0.82", linewidths=0.8, linestyles="solid")
    panel.plot(*run.path.T, "-", color=colour, linewidth=1.2)
    panel.plot(*run.path.T, ".", color=colour, markersize=4)
    panel.plot(*START, "ko", markersize=5)
    panel.plot(1, 1, "k*", markersize=11)
    near = np.linalg.norm(run.path - 1, axis=1) < 0.1
    reached = f"within 0.1 in {np.argmax(near)} steps" if near.any() else "not there in 300 steps"
    panel.set_title(f"{name}\n{reached}", fontsize=10)
    panel.set(xlim=(-1.8, 1.8), ylim=(-0.9, 2.2))
    gap.semilogy(np.maximum(run.fun_values, 1e-16), color=colour, label=name)
marks.axis("off")
marks.plot([], [], "ko", label="start")
marks.plot([], [], "k*", markersize=11, label="minimum")
marks.legend(loc="center", frameon=False)
gap.set(xlabel="iteration", ylabel="objective", xscale="symlog", ylim=(1e-15, 30))
gap.legend(loc="lower left")
plt.show()
