"""The ``panlearn`` command, and the Python behind it.

``leaderboard.compare`` cross-validates models on a table, ``table`` reads and tidies one,
``report.report`` writes the page; none of them needs the command. The commands are in ``catalogue``
(list, info), ``comparing`` (compare), ``using`` (fit, predict, evaluate), ``auditing`` (audit),
``sampling`` (sample), ``searching`` (index, search, ask), ``language`` and ``tuning`` (lm),
``proof`` (verify) and ``warming`` (warm).
"""

import click

from panlearn.cli.app import App
from panlearn.cli.auditing import audit
from panlearn.cli.catalogue import info, list_methods
from panlearn.cli.comparing import compare
from panlearn.cli.language import lm
from panlearn.cli.proof import verify
from panlearn.cli.sampling import sample
from panlearn.cli.searching import ask, index, search
from panlearn.cli.tuning import tune
from panlearn.cli.using import evaluate, fit, predict
from panlearn.cli.warming import warm


@click.group(cls=App, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="panlearn")
def main() -> None:
    """Run the whole of machine learning as it is taught, behind one scikit-learn contract."""


lm.add_command(tune)
for _command in (
    *(list_methods, info, compare, fit, predict, evaluate, audit, sample),
    *(index, search, ask, lm, verify, warm),
):
    main.add_command(_command)
