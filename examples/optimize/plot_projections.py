"""
Projections onto convex sets
============================

A projection moves a point to the closest point of a set. Each is exact, and each is what
``projection=`` of an optimiser takes: gradient descent then stays in the set. The corners of the l1
ball and of the simplex collect many points, which is why such constraints give zeros.
"""

# %%
# Two hundred random points and where they go.

import matplotlib.pyplot as plt
import numpy as np

from panlearn.optimize import gradient_descent, projections

SETS = {
    "l1 ball": (projections.l1_ball(1), [(1, 0), (0, 1), (-1, 0), (0, -1)]),
    "l2 ball": (projections.l2_ball(1), None),
    "linf ball": (projections.linf_ball(1), [(1, 1), (-1, 1), (-1, -1), (1, -1)]),
    "box": (projections.box([-1.6, 0], [0.5, 1]), [(-1.6, 0), (0.5, 0), (0.5, 1), (-1.6, 1)]),
    "simplex": (projections.simplex(1), [(1, 0), (0, 1)]),
}  # fmt: skip
angle = np.linspace(0, 2 * np.pi, 200)
points = np.random.default_rng(0).uniform(-2.4, 2.4, (200, 2))

figure, panels = plt.subplots(2, 3, figsize=(11, 7.5), layout="constrained")
for panel, (name, (project, corners)) in zip(panels.flat, SETS.items(), strict=False):
    outline = np.array(corners) if corners else np.column_stack([np.cos(angle), np.sin(angle)])
    panel.fill(*outline.T, facecolor="C0", alpha=0.25, edgecolor="C0", linewidth=2)
    projected = np.array([project(point) for point in points])
    moved = np.linalg.norm(projected - points, axis=1) > 1e-12
    segments = np.stack([points[moved], projected[moved]], axis=1)
    panel.plot(*segments.transpose(2, 1, 0), color="0.75", linewidth=0.7, zorder=0)
    panel.plot(*points.T, ".", color="0.5", markersize=3)
    panel.plot(*projected[moved].T, ".", color="C3", markersize=6)
    panel.set_title(name)

# Projected gradient descent towards a point outside of the l1 ball ends on a corner: one
# coordinate is zero.

panel = panels.flat[5]
target = np.array([1.9, 0.6])
run = gradient_descent(
    lambda x: ((x - target) ** 2).sum(),
    [-0.6, -0.3],
    jac=lambda x: 2 * (x - target),
    step=0.08,
    projection=projections.l1_ball(1),
)
grid = np.meshgrid(np.linspace(-2.4, 2.4, 100), np.linspace(-2.4, 2.4, 100))
distance = np.hypot(grid[0] - target[0], grid[1] - target[1])
panel.contour(*grid, distance, levels=10, colors="0.8", linewidths=0.8)
panel.fill(*np.array(SETS["l1 ball"][1]).T, facecolor="C0", alpha=0.25, edgecolor="C0", linewidth=2)
panel.plot(*run.path.T, ".-", color="C3")
panel.plot(*target, "k*", markersize=11)
panel.annotate("unconstrained\nminimum", target, (0.3, 1.3))
panel.annotate(f"ends at ({run.x[0]:.2f}, {abs(run.x[1]):.2f})", run.x, (-0.1, -1.6),
               arrowprops={"arrowstyle": "->"})  # fmt: skip
panel.set_title("projected gradient descent")
for panel in panels.flat:
    panel.set(aspect="equal", xlim=(-2.5, 2.5), ylim=(-2.5, 2.5), xticks=[], yticks=[])
plt.show()
