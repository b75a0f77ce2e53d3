"""
Continuation escapes a bad minimum
==================================

A rugged objective traps gradient descent in the first dip it meets. Continuation begins with a
smooth relative of the objective, which has one minimum, and follows that minimum while the
ruggedness is turned on.
"""

# %%
# The family runs from a parabola (t = 0) to the rugged objective (t = 1).

import matplotlib.pyplot as plt
import numpy as np

from panlearn.optimize import continuation, gradient_descent


def family(x, t):
    """A parabola with ripples of strength t."""
    ripple = -t * (np.cos(3 * (x[0] - 0.6)) + 0.6 * np.cos(5 * (x[0] - 0.6)))
    return float(0.1 * (x[0] - 1) ** 2 + ripple)


START, STAGES = [-4.5], np.linspace(0, 1, 6)
direct = gradient_descent(family, START, args=(1.0,), step=0.01)
followed = continuation(family, START, parameters=STAGES, options={"step": 0.01, "maxiter": 5000})

# %%
# Each curve is one problem, from the easy one at the top to the hard one at the bottom.

x = np.linspace(-5.5, 6, 800)
figure, panel = plt.subplots(figsize=(9, 6.5), layout="constrained")
colours = plt.cm.viridis(np.linspace(0.05, 0.85, len(STAGES)))
track = []
for stage, (t, colour) in enumerate(zip(STAGES, colours, strict=True)):
    lift = 3.0 * (len(STAGES) - 1 - stage)
    panel.plot(x, [family([z], t) + lift for z in x], color=colour, linewidth=1.5)
    panel.text(6.1, family([6.0], t) + lift, f"t = {t:.1f}", color=colour, va="center")
    track.append((followed.path[stage + 1, 0], followed.fun_values[stage] + lift))
panel.plot(*np.transpose(track), "o--", color="k", markersize=8, label="continuation")
panel.plot(direct.path[:, 0], direct.fun_values, color="C3", linewidth=3)
panel.plot(direct.x[0], direct.fun, "X", color="C3", markersize=12, label="direct start")
panel.annotate(f"stuck at {direct.fun:.2f}", (direct.x[0], direct.fun), (-4.6, -0.2), color="C3",
               fontsize=11)  # fmt: skip
panel.annotate(f"reaches {followed.fun:.2f}", track[-1], (1.0, -1.9), fontsize=11)
panel.set(xlabel="x", yticks=[], ylabel="objective (curves lifted apart)", xlim=(-5.6, 7))
panel.set_ylim(-2.6, None)
panel.legend(loc="upper center")
plt.show()
