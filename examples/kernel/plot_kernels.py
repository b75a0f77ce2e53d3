"""
Kernels: sums and products of simple ones
=========================================

A kernel says how alike two rows are, and so which functions are likely. Each column shows a kernel
as a function of the second row, and three functions drawn from the Gaussian process that has it as
its covariance. Adding and multiplying kernels adds and multiplies what the functions do.
"""

import matplotlib.pyplot as plt
import numpy as np

from panlearn.kernel.kernels import RBF, Linear, Matern, Periodic

kernels = {
    "RBF": RBF(1.0),
    "Matérn 1/2": Matern(1.0, nu=0.5),
    "periodic + linear": Periodic(1.0, 2.0) + 0.3 * Linear(),
    "periodic × RBF": Periodic(1.0, 1.0) * RBF(2.0),
}
x = np.linspace(-4, 4, 300)[:, None]
noise = np.random.default_rng(0).standard_normal((len(x), 3))

fig, axes = plt.subplots(2, 4, figsize=(12, 5), sharex=True, layout="constrained")
for (name, kernel), (top, bottom) in zip(kernels.items(), axes.T, strict=True):
    top.plot(x, kernel(x, [[1.0]]), color="black")
    top.set(title=name)
    values, vectors = np.linalg.eigh(kernel(x))
    bottom.plot(x, vectors @ (np.sqrt(np.maximum(values, 0))[:, None] * noise))
    bottom.set(xlabel="x")
axes[0, 0].set_ylabel("k(x, 1)")
axes[1, 0].set_ylabel("draws")
plt.show()
