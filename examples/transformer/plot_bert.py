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
    BERTConfig(n_layers=2, width=32, n_heads=4, context=16, dropout=0.0),
    next_sentence=False,
    learning_rate=2e-3,
    max_epochs=20,
    random_state=0,
).fit(sentences)

# %%
# A gap for an animal gets the three that live in the place, one for a place the place where the
# animal lives, and one for a verb all three verbs, for nothing tells which it was.

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
    axes.barh(np.arange(5), shares, color="C0")
    axes.set_yticks(np.arange(5), words)
    axes.invert_yaxis()
    axes.set_title(question, fontsize=10)
    axes.set_xlabel("probability")
plt.show()

# %%
# What was learned on the way: the loss of a hidden token is the logarithm of the number of choices
# that are left, on the average. First it finds kinds of words: nine animals, three verbs, three
# places. Who lives where comes later, and then three animals and three verbs are left to guess
# among, for two of six tokens.

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
epochs = np.arange(1, model.n_iter_ + 1)
axes.plot(epochs, np.exp(model.history_["word_loss"]), "o-", label="learned")
axes.axhline((9 * 3 * 3) ** (1 / 6), color="0.5", ls="--", label="kinds of words known")
axes.axhline((3 * 3) ** (1 / 6), color="k", ls=":", label="and who lives where")
axes.set(xlabel="times the text was read", ylabel="perplexity of a hidden token", ylim=(1, 6))
axes.legend()
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
    axes.set_xticks(range(len(names)), names, fontsize=10, rotation=90)
    axes.set_yticks(range(len(names)), names, fontsize=10)
plt.show()
