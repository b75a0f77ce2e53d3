"""Which model for this table: every one that applies, cross-validated beside a baseline.

`compare` makes the leaderboard; `read_table`, `built_in` and `prepare` bring a file or a data frame
into the form it takes, and `conform` brings new rows into the columns of a fitted pipeline. The
command ``panlearn compare`` and the scripts that it writes call these.
"""

from panlearn.compare.density import compare_density, density_table
from panlearn.compare.files import built_in, read_table
from panlearn.compare.leaderboard import Leaderboard, compare
from panlearn.compare.metrics import Metric, scorer
from panlearn.compare.preparation import conform
from panlearn.compare.scoring import Row
from panlearn.compare.table import Table, prepare

__all__ = [
    "Leaderboard",
    "Metric",
    "Row",
    "Table",
    "built_in",
    "compare",
    "compare_density",
    "conform",
    "density_table",
    "prepare",
    "read_table",
    "scorer",
]
