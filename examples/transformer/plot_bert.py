r"""
Filling the gaps
================

A small BERT reads sentences with gaps in them. Nobody tells it what words mean; to fill a gap it
has to find out which words stand in like places.
"""

# %%
# Nine animals, each of which lives in one of three places. The encoder sees 900 sentences of them
# again and again, of whose tokens fifteen in a hundred are hidden, others each time.

import matplotlib.pyplot as plt
import numpy as np

from panlearn.transformer import BERT, BERTConfig

places = {
    "sea": ["whale", "shark", "seal"],
    "forest": ["wolf", "fox", "owl"],
    "desert": ["camel", "snake", "lizard"],
}
rng = np.random.default_rng(0)
sentences = []
for place in rng.choice(list(places), 900):
    animal, verb = rng.choice(places[place]), rng.choice(["sleeps", "hunts", "plays"])
    sentences.append(f"the {animal} {verb} in the {place}")
model = BERT(
    BERTConfig(n_layers=2, width=32, n_heads=4, context=16),
    next_sentence=False,
    learning_rate=1e-2,
    max_epochs=30,
    random_state=0,
).fit(sentences)

# %%
# It finds kinds of words first: a gap for an animal gets animals, one for a place gets places, and
# one for a verb the three verbs, each as probable as the others. Which animal lives where takes it
# much longer than this.

questions = [
    "the [MASK] hunts in the sea",
    "the [MASK] sleeps in the desert",
    "the owl plays in the [MASK]",
    "the fox [MASK] in the forest",
]
answers = model.fill_mask(questions, top_k=5)
figure, grid = plt.subplots(2, 2, figsize=(10, 5.4), layout="constrained")
for axes, question, (found,) in zip(grid.flat, questions, answers, strict=True):
    words, shares = zip(*found, strict=True)
    axes.barh(np.arange(5), shares, color="tab:blue")
    axes.set_yticks(np.arange(5), words)
    axes.invert_yaxis()
    axes.set_title(question, fontsize=10)
    axes.set_xlabel("probability")
plt.show()

# %%
# What was learned on the way: the loss of a hidden token is the logarithm of the number of choices
# that are left, on the average.

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.plot(np.arange(1, model.n_iter_ + 1), np.exp(model.history_["word_loss"]), "o-")
axes.set(xlabel="times the text was read", ylabel="perplexity of a hidden token", yscale="log")
plt.show()

# %%
# Who looks at whom: rows are tokens, columns those that they look at. An encoder looks to both
# sides, which a decoder may not.

phrase = "the whale sleeps in the sea"
maps = model.attention_maps(phrase)
names = ["[CLS]", *model.tokenizer_.tokens(model.tokenizer_.encode(phrase)), "[SEP]"]
figure, grid = plt.subplots(1, 4, figsize=(13, 3.8), layout="constrained")
for head, axes in enumerate(grid):
    axes.imshow(maps[0, head], vmin=0, vmax=1)
    axes.set_title(f"first layer, head {head + 1}", fontsize=10)
    axes.set_xticks(range(len(names)), names, fontsize=7, rotation=90)
    axes.set_yticks(range(len(names)), names, fontsize=7)
plt.show()
