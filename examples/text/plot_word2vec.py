r"""
Words by the company they keep
==============================

Word2Vec learns a vector for each word from the words around it. In a language where every person
has a house and a rank, nobody tells the model of houses and ranks; yet the step from one rank to
another is the same in every house, so that analogies are sums of vectors.
"""

# %%
# Sentences name a person, words of the house and words of the rank, and words that mean nothing.

import matplotlib.pyplot as plt
import numpy as np

from panlearn.latent import PCA
from panlearn.text import Word2Vec

houses, ranks = ["Stag", "Lion", "Wolf", "Rose", "Oak"], ["queen", "knight"]
rng = np.random.default_rng(0)
sentences = []
for house, rank in rng.integers([5, 2], size=(8000, 2)):
    near = [f"{houses[house].lower()}{i}" for i in rng.integers(5, size=2)]
    near += [f"{ranks[rank]}ly{i}" for i in rng.integers(5, size=2)]
    near += [f"word{i}" for i in rng.integers(100, size=2)]
    rng.shuffle(near)
    sentences.append([*near[:3], f"{ranks[rank]} of {houses[house]}", *near[3:]])

model = Word2Vec(20, epochs=15, sample=0, random_state=0).fit(sentences)
print(model.analogy("queen of Stag", "knight of Stag", "queen of Lion", topn=3))

# %%
# On the left, two principal components of the ten people: the step from queen to knight is the
# same in every house. On the right the loss of each epoch, for skip-gram against five negative
# words.

people = [f"{rank} of {house}" for house in houses for rank in ranks]
at = PCA(2).fit_transform(model.vectors(people)).reshape(5, 2, 2)
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
for i, (house, (queen, knight)) in enumerate(zip(houses, at, strict=True)):
    left.annotate("", knight, queen, arrowprops={"arrowstyle": "->", "color": "grey"})
    left.plot(*np.transpose([queen, knight]), "o")
    on_the_way = queen + (i + 1) / 6 * (knight - queen)
    left.text(*on_the_way, house, ha="center", va="bottom")
for rank, place in zip(ranks, at.mean(axis=0), strict=True):
    left.text(place[0], at[..., 1].max() + 0.15, f"{rank}s", ha="center", style="italic")
left.set(xlabel="first component", ylabel="second component", title="people, as vectors")
left.margins(0.12)
right.plot(np.arange(1, 16), model.history_["loss"], "o-")
right.set(xlabel="epoch", ylabel="mean loss of a pair", title="skip-gram with negative sampling")
plt.show()
