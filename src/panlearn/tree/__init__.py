"""Trees and their ensembles.

Reading order: `_features` turns X into keys, `_problem` y into targets; `_split` is the search for
the best split on a feature, `_bin_split` that between bins, `_node_search` that among the features
of a node, and `_grow` what grows a tree by them, all compiled; `_structure` holds the nodes that
they find and `_pruning` cuts them; `decision_tree` is CART on these; each other file is one method.
"""

from panlearn.tree.adaboost import AdaBoostClassifier
from panlearn.tree.bagging import BaggingClassifier
from panlearn.tree.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from panlearn.tree.id3 import ID3Classifier
from panlearn.tree.random_forest import RandomForestClassifier, RandomForestRegressor
from panlearn.tree.rotation_forest import RotationForestClassifier
from panlearn.tree.text import export_text

__all__ = [
    "AdaBoostClassifier",
    "BaggingClassifier",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ID3Classifier",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RotationForestClassifier",
    "export_text",
]
