r"""
Shall we play? ID3 on categories
================================

A day is sunny, overcast or rainy; its wind weak or strong. ID3 asks for the attribute that tells
most about the answer, and has one branch for each of its values.
"""

# %%
# Quinlan's fourteen days.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from panlearn.plot import TreeDisplay
from panlearn.tree import ID3Classifier, export_text

days = """sunny hot high weak no,sunny hot high strong no,overcast hot high weak yes,
rain mild high weak yes,rain cool normal weak yes,rain cool normal strong no,
overcast cool normal strong yes,sunny mild high weak no,sunny cool normal weak yes,
rain mild normal weak yes,sunny mild normal strong yes,overcast mild high strong yes,
overcast hot normal weak yes,rain mild high strong no"""
names = ["outlook", "temperature", "humidity", "wind", "play"]
frame = pd.DataFrame([day.split() for day in days.split(",")], columns=names)
X, y = frame[names[:-1]], frame["play"]
model = ID3Classifier().fit(X, y)
print(export_text(model))

# %%
# What each attribute gains at the root, in bits, and the tree that follows. A category that has no
# branch, such as fog, gets the majority of its node.

gains = []
for name in X:
    stump = ID3Classifier(max_depth=1).fit(X[[name]], y).tree_
    gains.append(stump.impurity[0] - stump.n_node_samples[1:] @ stump.impurity[1:] / len(X))
fog = pd.DataFrame([["fog", "mild", "high", "weak"]], columns=X.columns)
print("on a foggy day:", model.predict(fog)[0], model.predict_proba(fog)[0].round(2))

figure, (left, right) = plt.subplots(
    1, 2, figsize=(12, 4), width_ratios=[1, 2.6], layout="constrained"
)
order = np.argsort(gains)
left.barh(np.array(names[:-1])[order], np.array(gains)[order])
left.set(xlabel="gain in bits", title="what an attribute tells at the root")
TreeDisplay.from_estimator(model, ax=right)
right.set_title("the tree")
plt.show()
