r"""
What Python's help pages are about
==================================

Latent Dirichlet allocation finds laws of words that occur together, and the shares of these topics
in each document. Nobody names the topics; their words do.
"""

# %%
# Each help topic of the standard library is a document. The words that bind any sentence are left
# out, and those that fewer than three documents have.

import textwrap
from pydoc_data.topics import topics

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from panlearn.text import LatentDirichletAllocation, WordTokenizer

names = sorted(topics)
documents = [topics[name] for name in names]
words = WordTokenizer(pattern=r"[a-z]{3,}", stop_words=tuple(ENGLISH_STOP_WORDS))
model = LatentDirichletAllocation(6, tokenizer=words, min_df=3, n_iter=400, random_state=0)
shares = model.fit(documents).transform(documents)

# %%
# The sampler climbs for some dozen sweeps and then wanders at its level. Then the most probable
# words of each topic, and the documents that are most about it.

figure, axes = plt.subplots(2, 4, figsize=(13, 6.5), layout="constrained")
axes[0, 0].plot(model.history_["log_likelihood"])
axes[0, 0].set(xlabel="sweep", ylabel="log p(w, z) of a word", title="the sampler")
coherence = model.coherence(documents)
axes[1, 0].bar(range(1, 7), coherence)
axes[1, 0].set(xlabel="topic", ylabel="npmi of its ten first words", title="coherence")
for k, (axis, top) in enumerate(zip(axes[:, 1:].ravel(), model.top_words(8), strict=True)):
    place = {word: i for i, word in enumerate(model.words_)}
    axis.barh(top[::-1], [model.components_[k, place[word]] for word in top[::-1]], color=f"C{k}")
    about = ", ".join(names[i] for i in np.argsort(-shares[:, k])[:3])
    axis.set_title(textwrap.fill(f"{k + 1}: {about}", 30), fontsize=10)
plt.show()
