"""
From pgmpy
==========

A network is an estimator: ``fit`` takes a data frame, ``query`` evidence in the words of the data.
Tables have the parents first and the variable last, so a row adds to one. Networks come and go as
files of BIF in both.
"""
# ruff: noqa: E402

# %% data
import numpy as np
import pandas as pd

edges = [("rain", "wet"), ("sprinkler", "wet")]
rng = np.random.default_rng(0)
rain, sprinkler = rng.random((2, 500)) < [[0.3], [0.4]]
wet = (rain | sprinkler) ^ (rng.random(500) < 0.1)
table = pd.DataFrame({"rain": rain, "sprinkler": sprinkler, "wet": wet}).astype(int)

# %% theirs: Learn the tables, and ask
from pgmpy.estimators import BayesianEstimator
from pgmpy.inference import VariableElimination
from pgmpy.models import DiscreteBayesianNetwork

theirs = DiscreteBayesianNetwork(edges)
engine = BayesianEstimator(theirs, table, state_names={name: [0, 1] for name in table})
theirs.add_cpds(*(engine.estimate_cpd(name, prior_type="K2") for name in table))
asked = VariableElimination(theirs).query(["rain"], {"wet": 1}, show_progress=False).values

# %% ours
from panlearn.graphical import BayesianNetwork

ours = BayesianNetwork(edges).fit(table)
found = ours.query(["rain"], {"wet": 1})

# %% same
np.testing.assert_allclose(found, asked, atol=1e-12)
