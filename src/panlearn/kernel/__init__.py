"""Kernel methods: linear methods that see their rows through inner products alone.

Reading order: `_kernel` says what a kernel is and how kernels combine, `kernels` holds them,
`_base` reads the rows and makes the matrix; each other file is one method.
"""

from panlearn.kernel import kernels
from panlearn.kernel.asymmetric_ls_svm import AsymmetricLSSVC
from panlearn.kernel.gaussian_process_classifier import GaussianProcessClassifier
from panlearn.kernel.gaussian_process_regressor import GaussianProcessRegressor
from panlearn.kernel.kernel_pca import KernelPCA
from panlearn.kernel.kernel_ridge import KernelRidge
from panlearn.kernel.linear_svc import LinearSVC
from panlearn.kernel.ls_svm import LSSVC, LSSVR
from panlearn.kernel.svc import SVC

__all__ = [
    "LSSVC",
    "LSSVR",
    "SVC",
    "AsymmetricLSSVC",
    "GaussianProcessClassifier",
    "GaussianProcessRegressor",
    "KernelPCA",
    "KernelRidge",
    "LinearSVC",
    "kernels",
]
