"""Which methods a test against a peer runs: the status page lists it for these."""

import pytest

from panlearn.claims.tracing import record


@pytest.fixture(autouse=True)
def methods(request):
    """Note them in the file of results, if one is written: calls then take about twice as long."""
    if not request.config.getoption("xmlpath"):
        yield
        return
    with record() as ran:
        yield
    # what pytest's record_property does, without its warning that old readers of XML may object
    request.node.user_properties.append(("methods", " ".join(sorted(ran.methods))))
