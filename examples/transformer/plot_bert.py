r"""
Filling the gaps
================

A small BERT reads Python's manual with gaps in it. Nobody tells it what words mean; to fill a gap
it has to find out which words stand in like places.
"""

# %%
# The manual comes with Python: 79 chapters. The tokenizer learns 2000 pieces of words first. Then
# the encoder sees stretches of 62 tokens, of which fifteen in a hundred are hidden, others each
# time. Half a minute on two cores.

from pydoc_data.topics import topics

import matplotlib.pyplot as plt
import numpy as np

from panlearn.text import WordPieceTokenizer
from panlearn.transformer import BERT, BERTConfig

chapters = list(topics.values())
model = BERT(
    BERTConfig(n_layers=2, width=64, n_heads=4, context=64),
    WordPieceTokenizer(2000),
    next_sentence=False,
    learning_rate=5e-3,
    max_epochs=10,
    random_state=0,
).fit(chapters)

# %%
# Gaps that it never saw, and how sure it is of the words that it puts there.

questions = [
    "the [MASK] of the function is called",
    "if the object is not found, an [MASK] is raised",
    "for example, the following [MASK] defines a function",
    "a class [MASK] a new type of object",
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

phrase = "the value of the expression is returned"
maps = model.attention_maps(phrase)
names = ["[CLS]", *model.tokenizer_.tokens(model.tokenizer_.encode(phrase)), "[SEP]"]
figure, grid = plt.subplots(1, 4, figsize=(13, 3.8), layout="constrained")
for head, axes in enumerate(grid):
    axes.imshow(maps[0, head], vmin=0, vmax=1)
    axes.set_title(f"first layer, head {head + 1}", fontsize=10)
    axes.set_xticks(range(len(names)), names, fontsize=7, rotation=90)
    axes.set_yticks(range(len(names)), names, fontsize=7)
plt.show()
