"""Linear models: least squares and its penalised, robust, recursive and Bayesian relatives.

Reading order: `linear_regression` and `ridge` stand on `_least_squares`, which solves from
mergeable moments; each other file is one method. `inference` has the standard errors and tests
of their coefficients.
"""

from panlearn.linear import inference
from panlearn.linear.bayesian_linear_regression import BayesianLinearRegression
from panlearn.linear.huber import HuberRegressor
from panlearn.linear.lasso import ElasticNet, Lasso
from panlearn.linear.least_absolute_deviations import LeastAbsoluteDeviations
from panlearn.linear.linear_regression import LinearRegression
from panlearn.linear.logistic import LogisticRegression
from panlearn.linear.perceptron import Perceptron
from panlearn.linear.recursive_least_squares import RecursiveLeastSquares
from panlearn.linear.regularization_path import lasso_path
from panlearn.linear.ridge import Ridge

__all__ = [
    "BayesianLinearRegression",
    "ElasticNet",
    "HuberRegressor",
    "Lasso",
    "LeastAbsoluteDeviations",
    "LinearRegression",
    "LogisticRegression",
    "Perceptron",
    "RecursiveLeastSquares",
    "Ridge",
    "inference",
    "lasso_path",
]
