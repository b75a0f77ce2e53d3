"""
GaussianMixture: clusters that are not round, and anomalies
===========================================================

Two long clusters side by side: k-means cuts them across, a mixture with full covariances does not.
The contours are log densities; rows below the one-per-cent quantile are called anomalous.
"""

import matplotlib.pyplot as plt
import numpy as np

from panlearn.latent import GaussianMixture, KMeans

rng = np.random.default_rng(0)
X = rng.normal(size=(600, 2)) * [6.0, 0.4] + np.repeat([[0.0, 0.0], [0.0, 3.0]], 300, axis=0)
mixture = GaussianMixture(2, tol=1e-6, max_iter=500, random_state=0).fit(X)
clusters = KMeans(2, random_state=0).fit(X)

fig, axes = plt.subplots(1, 2, figsize=(11, 4.5), sharey=True, layout="constrained")
axes[0].scatter(*X.T, color=[f"C{k}" for k in clusters.labels_], s=8)
axes[0].set(xlabel="first feature", ylabel="second feature", title="k-means")
grid = np.stack(np.meshgrid(np.linspace(-22, 22, 200), np.linspace(-3, 6, 200)), axis=-1)
density = mixture.score_samples(grid.reshape(-1, 2)).reshape(200, 200)
axes[1].contour(*grid.transpose(2, 0, 1), density, levels=[-12, -9, -7, -5, -4], colors="0.7")
odd = mixture.predict_anomaly(X, false_positive_rate=0.01)
axes[1].scatter(*X.T, color=[f"C{k}" for k in mixture.predict(X)], s=8)
axes[1].scatter(*X[odd].T, facecolors="none", edgecolors="black", label="anomalous")
axes[1].legend()
axes[1].set(xlabel="first feature", title="Gaussian mixture")
plt.show()
