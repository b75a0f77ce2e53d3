r"""
Which page of the manual is it from?
====================================

FastTextClassifier gives every word, and every n-gram of characters, a vector; a document is their
mean, and a linear classifier reads it. Parts of words help where words are rare: identifiers of the
Python manual that were never seen share n-grams with those that were.
"""

# %%
# Paragraphs of six pages of Python's manual, which comes with Python.

import re
from pydoc_data.topics import topics

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import ConfusionMatrixDisplay
from sklearn.model_selection import train_test_split

from panlearn.text import FastTextClassifier

pages = ["compound", "debugger", "specialnames", "string-methods", "types", "typesseq"]
found = {text: page for page in pages for text in re.split(r"\n\s*\n", topics[page])}
texts = [text for text in found if len(text.split()) >= 8]
labels = np.array([found[text] for text in texts])
X, new, y, truth = train_test_split(texts, labels, random_state=0, stratify=labels)

# %%
# On the left the share of right answers as the corpus grows, with and without parts of words; on
# the right what is taken for what.

kinds = {"words": {}, "and parts of 3 to 5 characters": {"minn": 3, "maxn": 5}}
sizes = np.geomspace(40, len(X), 6).astype(int)
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
for name, options in kinds.items():
    scores = []
    for size in sizes:
        model = FastTextClassifier(30, lr=1.0, epoch=100, random_state=0, **options)
        model.fit(X[:size], y[:size])
        scores.append(model.score(new, truth))
    left.semilogx(sizes, scores, "o-", label=name)
left.set_xticks(sizes, sizes)
left.minorticks_off()
left.set(xlabel="paragraphs learned from", ylabel="share of right answers, on others")
left.legend()
ConfusionMatrixDisplay.from_predictions(
    truth, model.predict(new), ax=right, cmap="Blues", colorbar=False, xticks_rotation=90
)
plt.show()
