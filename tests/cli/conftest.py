"""A way to run the command."""

import pytest
from click.testing import CliRunner

from panlearn.cli import main


@pytest.fixture
def run():
    """Run the command in this process; the result has exit_code, stdout and stderr."""

    def invoke(*arguments):
        return CliRunner().invoke(main, [str(a) for a in arguments])

    return invoke
