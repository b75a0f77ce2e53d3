r"""
Words that are used alike come to lie together
==============================================

A network learns the next word from the three before it, on the reference of the Python language.
The vectors of words that stand in the same places become alike, so that what is learned of one
serves the other; counts of n-grams know a word or do not.
"""

# %%
# The topics of pydoc, one document a paragraph; every fifth topic is kept for the test.

from pydoc_data.topics import topics

import matplotlib.pyplot as plt
import numpy as np

from panlearn.neural import WindowLanguageModel
from panlearn.text import NGramModel

names = sorted(topics)
paragraphs = {
    name: [part for part in topics[name].split("\n\n") if len(part.split()) > 5] for name in names
}
learn = [p for i, name in enumerate(names) for p in paragraphs[name] if i % 5][:700]
test = [p for i, name in enumerate(names) for p in paragraphs[name] if not i % 5][:150]

# %%
# Perplexities after 1, 2, 4 and 8 passes, beside Kneser-Ney's n-grams of the same words, and the
# nearest words of a few by the angle of their vectors.

epochs, seen, new = [1, 2, 4, 8], [], []
for n in epochs:
    model = WindowLanguageModel(
        3, min_count=5, max_epochs=n, learning_rate=3e-3, dropout=0.3, random_state=0
    ).fit(learn)
    seen.append(model.perplexity(learn))
    new.append(model.perplexity(test))
vectors = model.weights_["embedding.weight"][: len(model.words_)]
vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
left.plot(epochs, seen, "o-", label="pages that were learned from")
left.plot(epochs, new, "s-", label="new pages")
counts = NGramModel(4, min_count=5).fit(learn)
left.axhline(counts.perplexity(test), color="k", ls="--", lw=1, label="n-grams on new pages")
left.set(xlabel="epochs", ylabel="perplexity", xscale="log", yscale="log")
left.set_xticks(epochs, epochs)
left.minorticks_off()
left.legend()
right.axis("off")
lines = []
for word in ("must", "list", "two", "function", "if"):
    at = np.flatnonzero(model.words_ == word)[0]
    near = np.argsort(-vectors @ vectors[at])[1:6]
    lines.append(f"{word}:  " + ", ".join(model.words_[near]))
drawn = model.sample(3, random_state=0, context=["the"], max_length=12)
lines += ["", *("the " + " ".join(words) for words in drawn)]
right.text(0, 0.95, "\n\n".join(lines), va="top", wrap=True)
right.set_title("nearest words, and three draws")
plt.show()
