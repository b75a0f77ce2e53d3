r"""
A spring in steps of time
=========================

A mass on a spring with a damper swings and comes to rest. A computer sees it in steps, and how the
steps are made decides what it sees: Euler's rule adds energy, and with a long step a system that
comes to rest seems to explode. Zero-order hold is exact, the bilinear rule is nearly so.
"""

# %%
# The system, pushed from rest by a force of one that ends after eight seconds.

import matplotlib.pyplot as plt
import numpy as np

from panlearn.sequence import LinearStateSpace

mass, damper, stiffness = 1.0, 0.5, 2.0
spring = LinearStateSpace(
    [[0, 1], [-stiffness / mass, -damper / mass]], [[0], [1 / mass]], [[1, 0]]
)
print("eigenvalues", spring.poles.round(3), "static gain", spring.static_gain.item())

# %%
# On the left the position by each rule, a fifth of a second a step; in the middle where the rules
# put the eigenvalues as the step grows: outside the circle the system is unstable. On the right
# the kernel, whose convolution with the force gives the same positions at once.

step = 0.2
time = np.arange(0, 24, step)
force = (time < 8).astype(float)
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4), layout="constrained")
exact = spring.discretize(0.01).simulate((np.arange(0, 24, 0.01) < 8).astype(float))
left.plot(np.arange(0, 24, 0.01), exact, "k", linewidth=1, label="the motion")
for method, mark in (("euler", "v"), ("bilinear", "s"), ("zoh", "o")):
    system = spring.discretize(step, method)
    left.plot(time, system.simulate(force), mark, markersize=3, label=method)
    poles = np.array([spring.discretize(h, method).poles for h in np.linspace(0.01, 1.2, 60)])
    middle.plot(poles.real, poles.imag, ".", markersize=3, color=left.lines[-1].get_color())
    if not system.is_stable:
        print(method, "is unstable")
left.set(xlabel="seconds", ylabel="position", ylim=(-0.6, 1.2))
left.legend()
turn = np.exp(1j * np.linspace(0, 2 * np.pi, 200))
middle.plot(turn.real, turn.imag, "k", linewidth=1)
middle.set(xlabel="real part", ylabel="imaginary part", aspect="equal")
middle.set(xlim=(-1.3, 1.3), ylim=(-1.7, 1.7), title="eigenvalues of one step")
held = spring.discretize(step)
right.vlines(time[:60], 0, held.kernel(60)[:, 0, 0], color="C0")
right.set(xlabel="seconds", title="kernel")
gap = np.abs(held.convolve(force) - held.simulate(force)).max()
print(f"convolution and recurrence differ by {gap:.1e}")
plt.show()
