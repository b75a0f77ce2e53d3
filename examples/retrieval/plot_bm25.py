r"""
What BM25 counts
================

A repeated word counts less and less, a long document is held against its words, and a rare word
counts more than a common one. Three curves, and a search in the documentation of Python.
"""

# %%
# The 79 topics that Python's ``help`` knows, and a question.

from pydoc_data.topics import topics

import matplotlib.pyplot as plt
import numpy as np

from panlearn.retrieval import BM25

index = BM25().fit(list(topics.values()), ids=list(topics))
for name, score in zip(*index.search("what happens when an exception is raised", k=5), strict=True):
    print(f"{score:5.2f}  {name}")

# %%
# On the left the factor of a word that stands f times in a document of mean length; in the middle
# that of a word that stands there twice, by the length of the document; on the right how much each
# word of the corpus weighs, by the number of documents that hold it, in three variants.


def factor(k1, b, count, length, mean=100):
    """Score of a word that only one document holds, without its idf."""
    texts = [["word"] * count + ["other"] * (length - count)] + [["filler"] * mean] * 500
    model = BM25(k1, b).fit(texts)
    n = len(texts)
    return model.search([["word"]])[0].scores[0] / np.log1p((n - 0.5) / 1.5)


figure, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4.2), layout="constrained")
counts = np.arange(1, 16)
for k1 in (0.0, 0.5, 1.5, 4.0):
    left.plot(counts, [factor(k1, 0.75, f, 100) for f in counts], "o-", label=f"$k_1$ = {k1:g}")
left.set(xlabel="times that the word stands there", ylabel="factor of the word", ylim=(0, 1.05))
left.legend()
lengths = np.linspace(10, 400, 14).astype(int)
for b in (0.0, 0.4, 0.75, 1.0):
    middle.plot(lengths, [factor(1.5, b, 2, n) for n in lengths], "s-", label=f"b = {b:g}")
middle.axvline(100, color="grey", lw=0.8, ls=":")
middle.set(xlabel="words of the document (mean 100)", ylabel="factor of the word", ylim=(0, 1.05))
middle.legend()
held = np.arange(1, 80)
n = 79
for variant in ("lucene", "robertson", "atire"):
    weights = []
    for df in held:
        texts = [["word"] if i < df else ["other"] for i in range(n)]
        scores = BM25(0.0, variant=variant).fit(texts).search([["word"]], k=1)[0].scores
        weights.append(scores[0])
    right.plot(held, weights, ls="--" if variant == "atire" else "-", label=variant)
right.axhline(0, color="grey", lw=0.8)
right.set(xlabel="documents of 79 that hold the word", ylabel="idf")
right.legend()
plt.show()
