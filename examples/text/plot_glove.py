r"""
Products of vectors are logarithms of counts
============================================

GloVe gives each word two vectors and two biases, so that the product of the vectors of two words,
with their biases, is the logarithm of how often the words stand near each other. Pairs that met
often count in full, rare ones less.
"""

# %%
# Words of Python's manual, within five words of each other.

from pydoc_data.topics import topics

import matplotlib.pyplot as plt
import numpy as np

from panlearn.text import GloVe, WordTokenizer, cooccurrence

texts = [WordTokenizer()(text) for text in topics.values()]
model = GloVe(40, window=5, n_max=20, epochs=40, random_state=0).fit(texts)
for word in ("class", "exception", "string"):
    print(word, [near for near, _ in model.most_similar(word, topn=4)])

# %%
# On the left, pairs of words: the fit is close where pairs are frequent, for there the weight is
# large. On the right the loss of each epoch.

seen = cooccurrence(texts, window=5)
place = {word: i for i, word in enumerate(seen.words)}
kept = [place[word] for word in model.words_]
pairs = seen.symmetric[kept][:, kept].tocoo()
v, w = pairs.coords
words, contexts = model.word_factors_, model.context_factors_
fitted = (words[v, :-1] * contexts[w, :-1]).sum(axis=1) + words[v, -1] + contexts[w, -1]
shown = np.random.default_rng(0).permutation(len(v))[:20000]
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
jitter = np.exp(np.random.default_rng(1).normal(scale=0.06, size=len(shown)))
left.plot(pairs.data[shown] * jitter, np.exp(fitted[shown]), ".", ms=2, alpha=0.4)
left.plot([0.7, 3000], [0.7, 3000], "k--", lw=1)
left.axvline(model.n_max, color="grey", ls=":")
left.text(model.n_max * 1.1, 0.3, "full weight from here on")
left.set(xscale="log", yscale="log", xlim=(0.7, 3000), ylim=(0.2, 3000))
left.set(xlabel="how often a pair met", ylabel="what the vectors say")
right.semilogy(np.arange(1, 41), model.history_["loss"], "o-")
right.set(xlabel="epoch", ylabel="mean loss of a pair")
plt.show()
