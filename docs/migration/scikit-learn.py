"""
From scikit-learn
=================

Estimators here are scikit-learn's: they stand in its pipelines and searches, pass its checks, and
take its parameters. Change the import; what is new is that many of them also learn from a stream
of batches or a Dask collection, with the same result.
"""
# ruff: noqa: E402

# %% data
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

X, y = load_diabetes(return_X_y=True)
grid = {"ridge__alpha": [0.1, 1.0, 10.0]}

# %% theirs: A pipeline and a search
from sklearn.linear_model import Ridge

theirs = GridSearchCV(make_pipeline(StandardScaler(), Ridge()), grid).fit(X, y)

# %% ours
from panlearn.linear import Ridge

ours = GridSearchCV(make_pipeline(StandardScaler(), Ridge()), grid).fit(X, y)

# %% same
assert ours.best_params_ == theirs.best_params_
np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-8)

# %% theirs: A classifier with probabilities
from sklearn.linear_model import LogisticRegression

A, b = load_breast_cancer(return_X_y=True)
A = StandardScaler().fit_transform(A)
theirs = LogisticRegression(C=0.5, tol=1e-10, max_iter=10_000).fit(A, b)

# %% ours
from panlearn.linear import LogisticRegression

ours = LogisticRegression(C=0.5).fit(A, b)

# %% same
np.testing.assert_allclose(ours.predict_proba(A), theirs.predict_proba(A), atol=1e-4)

# %% theirs: Clusters from given centres
from sklearn.cluster import KMeans

theirs = KMeans(3, init=X[:3], n_init=1).fit(X)

# %% ours
from panlearn.latent import KMeans

ours = KMeans(3, init=X[:3], n_init=1).fit(X)

# %% same
np.testing.assert_array_equal(ours.labels_, theirs.labels_)

# %% theirs: More rows than memory
from sklearn.linear_model import SGDRegressor

theirs = SGDRegressor(random_state=0)  # an approximation that depends on the order of the rows
for start in range(0, len(X), 100):
    theirs.partial_fit(X[start : start + 100], y[start : start + 100])

# %% ours
from panlearn import Batches
from panlearn.linear import LinearRegression

batches = Batches(lambda: ((X[i : i + 100], y[i : i + 100]) for i in range(0, len(X), 100)))
ours = LinearRegression().fit(batches)

# %% same
from sklearn.linear_model import LinearRegression

np.testing.assert_allclose(ours.coef_, LinearRegression().fit(X, y).coef_, rtol=1e-8)
