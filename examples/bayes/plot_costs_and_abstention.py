"""
Mistakes that cost more, and the right to say nothing
=====================================================

The probabilities of tumours being malignant, from ten measurements of cells. If missing one
costs ten times a false alarm, the threshold moves from 1/2 to 1/11. If a doctor looks at what the
model leaves open, at a tenth of the cost of a mistake, it does well to leave the middle open.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from panlearn.bayes import (
    AbstainingClassifier,
    CostSensitiveClassifier,
    LinearDiscriminantAnalysis,
)

X, y = load_breast_cancer(return_X_y=True)
X, malignant = X[:, :10], 1 - y
train, test, train_y, test_y = train_test_split(X, malignant, test_size=0.5, random_state=0)
inner = LinearDiscriminantAnalysis()

# %%
# The expected cost of either decision, by the probability of the disease: the lower line is taken.
figure, panels = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
p = np.linspace(0, 1, 200)
panels[0].plot(p, p * 10, label="say benign")
panels[0].plot(p, 1 - p, label="say malignant")
panels[0].axvline(1 / 11, color="0.5", linestyle="--")
panels[0].annotate("1/11", (1 / 11, 1.0), xytext=(0.22, 1.2))
panels[0].set(xlabel="p(malignant | cells)", ylabel="expected cost", ylim=(0, 2))
panels[0].set_title("A miss costs 10, a false alarm 1")
panels[0].legend()

# What it costs on new patients, as a miss gets dearer.
dearer = np.array([1, 2, 5, 10, 20, 50, 100])
plain, careful = [], []
for cost in dearer:
    costs = np.array([[0, 1], [cost, 0]])
    for matrix, kept in [(None, plain), (costs, careful)]:
        said = CostSensitiveClassifier(inner, costs=matrix).fit(train, train_y).predict(test)
        kept.append(costs[test_y, said].mean())
panels[1].loglog(dearer, plain, "o-", label="most probable label")
panels[1].loglog(dearer, careful, "o-", label="least expected cost")
panels[1].set(xlabel="cost of a miss, in false alarms", ylabel="mean cost of a patient")
panels[1].set_title("Costs on new patients")
panels[1].legend()

# The fewer it answers, the fewer of its answers are wrong.
answered, wrong = [], []
for cost in np.linspace(0.005, 0.5, 60):
    model = AbstainingClassifier(inner, cost=cost).fit(train, train_y)
    said = model.predict(test)
    answered.append(np.mean(said != -1))
    wrong.append(np.mean(said[said != -1] != test_y[said != -1]))
panels[2].plot(answered, wrong, color="C2")
for cost, offset in [(0.02, (0, 8)), (0.1, (-8, 8)), (0.5, (-34, -4))]:
    model = AbstainingClassifier(inner, cost=cost).fit(train, train_y)
    said = model.predict(test)
    point = np.mean(said != -1), np.mean(said[said != -1] != test_y[said != -1])
    panels[2].plot(*point, "ko")
    panels[2].annotate(f"cost {cost}", point, offset, textcoords="offset points", ha="center")
panels[2].set(
    xlabel="share of patients answered", ylabel="share of answers wrong", ylim=(-0.002, None)
)
panels[2].set_title("Abstaining at a cost")
plt.show()
