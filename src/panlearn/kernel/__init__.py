"""Kernel methods: linear methods that see their rows through inner products alone.

Reading order: `_kernel` says what a kernel is and how kernels combine, `kernels` holds them,
`_base` reads the rows and makes the matrix; each other file is one method.
"""

from panlearn.kernel import kernels
from panlearn.kernel.kernel_ridge import KernelRidge

__all__ = [
    "KernelRidge",
    "kernels",
]
