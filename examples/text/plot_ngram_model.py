r"""
How much context helps
======================

A model of n-grams predicts the next word from the n - 1 before it. The longer the context, the more
of what it needs was never seen: shares of counts then say that a new text is impossible, and added
counts wash everything out. Kneser-Ney smoothing falls back on shorter contexts as far as it must.
"""

# %%
# The help pages of Python's standard library, a fifth of them held out. They repeat one another in
# places, which is what the longest contexts see.

from pydoc_data.topics import topics

import matplotlib.pyplot as plt

from panlearn.text import NGramModel

texts = [topics[name] for name in sorted(topics)]
train, test = [t for i, t in enumerate(texts) if i % 5], texts[::5]

# %%
# Perplexity of the held-out pages by the order of the model.

figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
orders = range(1, 6)
for label, settings in {
    "Kneser-Ney": {},
    "Kneser-Ney, pruned": {"prune": 1},
    "add 0.01": {"smoothing": "add_k", "k": 0.01},
    "add 1": {"smoothing": "add_k"},
}.items():
    values = [NGramModel(n, min_count=2, **settings).fit(train).perplexity(test) for n in orders]
    axes.plot(orders, values, "o-", label=label)
axes.set(xlabel="order n", ylabel="perplexity of held-out pages", yscale="log", xticks=orders)
axes.legend()
plt.show()

# %%
# What is drawn from the models: words, then phrases, then whole sentences of the pages.

for n in (1, 2, 3, 5):
    words = NGramModel(n).fit(texts).sample(1, random_state=2, max_length=16)[0]
    print(f"n = {n}: {' '.join(words)}")
