"""Graphical models: laws of many variables that depend on each other along a graph.

`BayesianNetwork` learns conditional tables from rows of labels, with missing entries and if asked
with a tree as its graph, and answers queries; `CliqueTree` is the engine that makes the answers
exact, for any product of tables.

Reading order: `_triangulation`, `clique_tree`, `_kernels`, then `_counts`, `_answers`, `_known` and
`bayesian_network`.
"""

from panlearn.graphical.bayesian_network import BayesianNetwork
from panlearn.graphical.clique_tree import CliqueTree

__all__ = ["BayesianNetwork", "CliqueTree"]
