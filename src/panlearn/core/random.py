"""Random state: one NumPy Generator a call, never a global one."""

from __future__ import annotations

import numpy as np

from panlearn.core.parameters import RandomState


def generator(random_state: RandomState = None) -> np.random.Generator:
    """Turn an int, a Generator, a RandomState or None into a `numpy.random.Generator`.

    An int gives the same stream each time. A Generator is used, and so advanced, as it is. A
    RandomState is asked for a seed, and so advanced too. None draws fresh entropy from the
    operating system; NumPy's global generator is neither read nor written.

    Examples
    --------
    >>> from panlearn.core.random import generator
    >>> generator(0).integers(10) == generator(0).integers(10)
    np.True_
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**32, size=4, dtype=np.uint32))
    return np.random.default_rng(random_state)
