r"""
What was meant
==============

A misspelt word is replaced by one that is near, likely where it stands, and perhaps sounds alike.
An edit costs as much as many nats of probability: if it costs too little, frequent words swallow
rare ones that are nearer; if it costs much, the language model has no say among the near ones.
"""

# %%
# The lexicon and the language model come from the help pages of Python; the same pages are then
# misspelt by random edits, one word in five.

from pydoc_data.topics import topics

import matplotlib.pyplot as plt
import numpy as np

from panlearn.text import SpellCorrector, WordTokenizer

rng = np.random.default_rng(0)
words = WordTokenizer(pattern=r"[a-z]{3,}")
texts = [topics[name] for name in sorted(topics)]
letters = list("abcdefghijklmnopqrstuvwxyz")


def misspell(word):
    """One random edit."""
    at, letter = rng.integers(len(word)), rng.choice(letters)
    swapped = word[:at] + word[at + 1 : at + 2] + word[at : at + 1] + word[at + 2 :]
    dropped, doubled = word[:at] + word[at + 1 :], word[:at] + letter + word[at:]
    return str(rng.choice([swapped, dropped, doubled, word[:at] + letter + word[at + 1 :]]))


meant = [words(text)[:150] for text in texts[:20]]
wrong = [[misspell(w) if rng.random() < 0.2 else w for w in text] for text in meant]
model = SpellCorrector(tokenizer=words).fit(texts)
print(model.correct("Teh fuction reutrns an intger."))

# %%
# How many of the words that are not in the lexicon are put right, by the cost of an edit, with and
# without the word before.

lexicon = set(model.words_)
figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
costs = [0.5, 1, 2, 4, 6, 9, 14]
for order in (1, 2):
    shares = []
    for cost in costs:
        model = SpellCorrector(order=order, distance_cost=cost, tokenizer=words).fit(texts)
        found = model.predict(wrong)
        hits = [
            new == old
            for line, says, given in zip(found, meant, wrong, strict=True)
            for new, old, was in zip(line, says, given, strict=True)
            if was not in lexicon
        ]
        shares.append(np.mean(hits))
    axis.plot(costs, shares, "o-", label="the word before counts" if order > 1 else "no context")
axis.set(xlabel="cost of an edit, in nats", ylabel="share of misspelt words put right")
axis.legend()
plt.show()
