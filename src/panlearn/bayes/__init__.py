"""Bayes' rule: generative classifiers, conjugate and maximum-likelihood estimates, decisions.

Reading order: `_class_statistics` sums rows by class, `_base` turns what a model says of the rows
of a class into what a row says of the classes; each other file is one method.
"""

from panlearn.bayes.abstaining_classifier import AbstainingClassifier
from panlearn.bayes.bernoulli_nb import BernoulliNB
from panlearn.bayes.beta_bernoulli import BetaBernoulli
from panlearn.bayes.categorical_nb import CategoricalNB
from panlearn.bayes.cost_sensitive_classifier import CostSensitiveClassifier
from panlearn.bayes.gaussian_mixture_classifier import GaussianMixtureClassifier
from panlearn.bayes.gaussian_nb import GaussianNB
from panlearn.bayes.linear_discriminant_analysis import LinearDiscriminantAnalysis
from panlearn.bayes.maximum_likelihood import maximum_likelihood
from panlearn.bayes.model_average import ModelAverage
from panlearn.bayes.multinomial_nb import MultinomialNB
from panlearn.bayes.quadratic_discriminant_analysis import QuadraticDiscriminantAnalysis

__all__ = [
    "AbstainingClassifier",
    "BernoulliNB",
    "BetaBernoulli",
    "CategoricalNB",
    "CostSensitiveClassifier",
    "GaussianMixtureClassifier",
    "GaussianNB",
    "LinearDiscriminantAnalysis",
    "ModelAverage",
    "MultinomialNB",
    "QuadraticDiscriminantAnalysis",
    "maximum_likelihood",
]
