r"""
A tree that a person can read
=============================

A decision tree asks whether one feature exceeds a threshold, again and again. Three questions sort
most tumours of the breast cancer data; the tree below is the whole model.
"""

# %%
# Two levels of questions, learned from three quarters of the rows.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from panlearn.plot import TreeDisplay
from panlearn.tree import DecisionTreeClassifier, export_text

data = load_breast_cancer(as_frame=True)
y = data.target_names[data.target]
X_train, X_test, y_train, y_test = train_test_split(data.data, y, random_state=0)
model = DecisionTreeClassifier(max_depth=3, min_samples_leaf=8).fit(X_train, y_train)
print(export_text(model))
print(f"accuracy on new rows: {model.score(X_test, y_test):.3f}")

# %%
# The picture: a leaf has the colour of its class, paler the more mixed it is; an edge is as wide as
# its part of the rows. On the right, what depth does: the training error falls to zero, the error
# on new rows does not.

figure, (left, right) = plt.subplots(
    1, 2, figsize=(14, 5), width_ratios=[2.4, 1], layout="constrained"
)
TreeDisplay.from_estimator(model, ax=left)
left.set_title("the tree of depth three")

depths = np.arange(1, 11)
errors = []
for depth in depths:
    tree = DecisionTreeClassifier(max_depth=int(depth)).fit(X_train, y_train)
    errors.append([1 - tree.score(X_train, y_train), 1 - tree.score(X_test, y_test)])
right.plot(depths, np.array(errors)[:, 0], "o-", label="training rows")
right.plot(depths, np.array(errors)[:, 1], "s-", label="new rows")
right.set(xlabel="depth", ylabel="error", title="deeper is not better", ylim=(0, None))
right.legend(loc="center right")
plt.show()
