r"""
A text as a graph
=================

TextRank links words that stand side by side and asks where a random walk on these links spends its
time. Words that the text comes back to are visited most.
"""

# %%
# What Python's documentation says on assignments, its key words and its key sentences.

from itertools import pairwise
from pydoc_data.topics import topics

import matplotlib.pyplot as plt
import numpy as np

from panlearn.text import TextRank

text = topics["assignment"]
model = TextRank()
for phrase, rank in model.keywords(text, 8):
    print(f"{rank:.4f}  {phrase}")
print()
for sentence in model.summary(text, 2):
    print(" ".join(sentence.split()))

# %%
# The fourteen words of highest rank, drawn as the graph that was ranked: the larger, the more the
# walk comes to a word; a line for each two that stand side by side. On the right the rank against
# how often a word stands there: rank is not frequency alone, neighbours count.

ranks = model.word_ranks(text)
best = sorted(ranks, key=lambda w: -ranks[w])[:14]
words = model.tokenizer(text)
pairs = {tuple(sorted(p)) for p in pairwise(words) if set(p) <= set(best)}
angle = {w: 2 * np.pi * i / len(best) for i, w in enumerate(best)}
place = {w: (np.cos(a), np.sin(a)) for w, a in angle.items()}
figure, (left, right) = plt.subplots(1, 2, figsize=(13, 6), layout="constrained")
for a, b in pairs:
    left.plot(*zip(place[a], place[b], strict=True), color="C0", lw=0.8, alpha=0.5)
for word in best:
    x, y = place[word]
    left.scatter(x, y, s=3e4 * ranks[word], color="C1", zorder=2)
    side = "left" if x >= 0 else "right"
    left.annotate(word, (x, y), (1.14 * x, 1.14 * y), ha=side, va="center")
left.set(xlim=(-1.7, 1.7), ylim=(-1.35, 1.35), aspect="equal")
left.axis("off")
frequency = {w: words.count(w) for w in ranks}
right.scatter([frequency[w] for w in ranks], list(ranks.values()), s=14, alpha=0.6)
for word in best[:4]:
    place = (frequency[word], ranks[word])
    right.annotate(word, place, (-6, 0), textcoords="offset points", ha="right", va="center")
right.set(xscale="log", yscale="log", xlabel="times that the word stands there", ylabel="rank")
plt.show()
