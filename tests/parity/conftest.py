"""Which methods a test against a peer runs: the status page lists it for these."""

import pytest

from panlearn.claims.tracing import record


@pytest.fixture(autouse=True)
def methods(request, record_property):
    """Note them in the file of results, if one is written: calls then take about twice as long."""
    if not request.config.getoption("xmlpath"):
        yield
        return
    with record() as ran:
        yield
    record_property("methods", " ".join(sorted(ran.methods)))
