"""Which model for this table: every one that applies, cross-validated beside a baseline.

The package is the function, too: ``panlearn.compare(table, "price")`` makes the leaderboard. It
prints as a table, draws itself, gives a data frame and the best pipeline, fitted. `read_table`,
`built_in` and `prepare` bring a file or a data frame into the form that it takes, and `conform`
brings new rows into the columns of a fitted pipeline. The command ``panlearn compare`` and the
scripts that it writes call these.
"""

import inspect
import sys
from types import ModuleType
from typing import Any

from panlearn.compare.comparison import compare
from panlearn.compare.density import compare_density, density_table
from panlearn.compare.files import built_in, read_table
from panlearn.compare.leaderboard import Leaderboard
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


class _Comparing(ModuleType):
    """A module that is called as its function: both go by one name."""

    def __call__(self, *args: Any, **kwargs: Any) -> Leaderboard:
        return compare(*args, **kwargs)


sys.modules[__name__].__class__ = _Comparing
vars(sys.modules[__name__])["__signature__"] = inspect.signature(compare)
