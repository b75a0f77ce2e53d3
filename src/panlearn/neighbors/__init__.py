"""Nearest neighbours, and densities estimated from the rows themselves.

Reading order: `k_neighbors` and `radius_neighbors` stand on `_base` (the rows that are kept) and
`_search` (the exact search, whose loops are in `_kernels`); `kernel_density` and
`histogram_density` stand alone.
"""

from panlearn.neighbors.histogram_density import HistogramDensity
from panlearn.neighbors.k_neighbors import KNeighborsClassifier, KNeighborsRegressor
from panlearn.neighbors.kernel_density import KernelDensity
from panlearn.neighbors.radius_neighbors import RadiusNeighborsClassifier, RadiusNeighborsRegressor

__all__ = [
    "HistogramDensity",
    "KNeighborsClassifier",
    "KNeighborsRegressor",
    "KernelDensity",
    "RadiusNeighborsClassifier",
    "RadiusNeighborsRegressor",
]
