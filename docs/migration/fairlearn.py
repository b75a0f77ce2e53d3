"""
From fairlearn
==============

Gaps of groups, thresholds by group and columns without correlation; the sensitive column is an
argument of ``fit`` and ``predict``, as there.
"""
# ruff: noqa: E402

# %% data
import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

rng = np.random.default_rng(0)
group = rng.integers(2, size=600)
X = rng.normal(size=(600, 2)) + 0.5 * group[:, None]
y = (X[:, 0] + rng.normal(size=600) > 0.5).astype(int)
scorer = LogisticRegression().fit(X, y)
decision = scorer.predict(X)

# %% theirs: How far groups differ
from fairlearn.metrics import demographic_parity_difference, equalized_odds_difference

parity = demographic_parity_difference(y, decision, sensitive_features=group)
odds = equalized_odds_difference(y, decision, sensitive_features=group)

# %% ours
from panlearn.trust import fairness

gaps = fairness.group_rates(y, decision, group).gaps

# %% same
np.testing.assert_allclose([gaps["independence"], gaps["separation"]], [parity, odds], atol=1e-12)

# %% theirs: Thresholds that make rates equal
from fairlearn.postprocessing import ThresholdOptimizer

theirs = ThresholdOptimizer(
    estimator=scorer, constraints="demographic_parity", prefit=True, predict_method="predict_proba"
)
theirs.fit(X, y, sensitive_features=group)
fair = theirs.predict(X, sensitive_features=group, random_state=0)

# %% ours
from panlearn.trust import FairPostprocessor

ours = FairPostprocessor(FrozenEstimator(scorer), constraint="demographic_parity")
ours.fit(X, y, sensitive_features=group)
also = ours.predict(X, sensitive_features=group)

# %% same
assert np.mean(also == fair) > 0.9  # each draws at random where rates have to be met

# %% theirs: Columns that no longer tell the group
from fairlearn.preprocessing import CorrelationRemover

removed = CorrelationRemover(sensitive_feature_ids=[0]).fit_transform(np.c_[group, X])

# %% ours
from panlearn.trust import CorrelationRemover

clean = CorrelationRemover().fit_transform(X, sensitive_features=group)

# %% same
np.testing.assert_allclose(clean, removed, atol=1e-10)
