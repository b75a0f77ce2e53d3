"""One generator for all tests, and one hypothesis profile: fixed examples, no deadline."""

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("panlearn", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("panlearn")


@pytest.fixture
def rng():
    return np.random.default_rng(20261115)
