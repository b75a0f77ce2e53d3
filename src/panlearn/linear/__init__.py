"""Linear models: least squares and its penalised, robust, recursive and Bayesian relatives.

Reading order: `linear_regression` and `ridge` stand on `_least_squares`, which solves from
mergeable moments; each other file is one method.
"""

from panlearn.linear.linear_regression import LinearRegression
from panlearn.linear.logistic import LogisticRegression
from panlearn.linear.perceptron import Perceptron
from panlearn.linear.ridge import Ridge

__all__ = ["LinearRegression", "LogisticRegression", "Perceptron", "Ridge"]
