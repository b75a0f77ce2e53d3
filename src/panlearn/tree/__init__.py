"""Trees and their ensembles.

Reading order: `_grow` is the search for splits, compiled; `_structure` holds the nodes that it
finds; `decision_tree` is CART on both; each other file is one method.
"""

from panlearn.tree.adaboost import AdaBoostClassifier
from panlearn.tree.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from panlearn.tree.random_forest import RandomForestClassifier, RandomForestRegressor
from panlearn.tree.text import export_text

__all__ = [
    "AdaBoostClassifier",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "export_text",
]
