r"""
What the end of a word tells
============================

A tagger meets words that it has never seen. Which tags may follow each other says something of
them, and how they end says more: the suffix model looks at the last letters of rare words.
"""

# %%
# Sentences of a small grammar. Stems are drawn anew, endings belong to the kind of the word, and
# one in five words has an ending of another kind.

import matplotlib.pyplot as plt
import numpy as np

from panlearn.text import HMMTagger

following = {
    "start": ["DET", "DET", "ADV"],
    "DET": ["NOUN", "NOUN", "ADJ"],
    "ADJ": ["NOUN", "NOUN", "ADJ"],
    "NOUN": ["VERB", "VERB", "end"],
    "VERB": ["DET", "ADV", "end"],
    "ADV": ["VERB", "DET", "end"],
}
endings = {"NOUN": ["tion", "ness"], "VERB": ["ize", "ate"], "ADV": ["ly"], "ADJ": ["ous"]}
rng = np.random.default_rng(0)


def sentences(n, n_stems):
    """Words and tags of n sentences."""
    X, y = [], []
    for _ in range(n):
        words, tags = [], ["start"]
        while (tag := rng.choice(following[tags[-1]])) != "end":
            ending = rng.choice(endings.get(tag, ["e"]))
            if rng.random() < 0.2:
                ending = rng.choice([end for ends in endings.values() for end in ends])
            stem = f"w{rng.integers(n_stems)}"
            words.append(str(rng.choice(["the", "a"]) if tag == "DET" else stem + ending))
            tags.append(str(tag))
        X.append(words)
        y.append(tags[1:])
    return X, y


X, y = sentences(400, 300)
new, truth = sentences(200, 3000)

# %%
# On the left the share of right tags among known and unknown words; on the right the steps that the
# tagger has learned.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
sizes, shares = range(6), []
for size in sizes:
    model = HMMTagger(max_suffix=size).fit(X, y)
    hit = np.concatenate(model.predict(new)) == np.concatenate(truth)
    known = np.isin(np.concatenate(new), model.words_.astype(str))
    shares.append([hit[known].mean(), hit[~known].mean()])
left.plot(sizes, shares, "o-", label=["known words", "unknown words"])
left.set(xlabel="letters of a suffix, at most", ylabel="share of right tags")
left.legend()
image = right.imshow(np.exp(model.step_), cmap="Blues")
right.set_xticks(range(6), [*model.tags_, "end"])
right.set_yticks(range(6), [*model.tags_, "start"])
right.set(xlabel="next tag", ylabel="tag")
figure.colorbar(image, ax=right, label="probability")
plt.show()
