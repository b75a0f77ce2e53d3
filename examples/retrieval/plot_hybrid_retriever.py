r"""
Words, vectors, and both
========================

A query finds what shares its words; a vector finds what is said in other words. Each fails where
the other does not; rank fusion is never as far off as the worse of the two.
"""

# %%
# Documents on twenty subjects. Each thing has two names, and an author mostly uses one of them;
# each document has a code of its own. A reader asks for a subject in the other names, or for a
# code.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.pipeline import make_pipeline

from panlearn.retrieval import HybridRetriever
from panlearn.text import TfidfVectorizer

rng = np.random.default_rng(0)
subjects, things, n = 20, 15, 1000
subject = rng.integers(subjects, size=n)
dialect = rng.random(n) < 0.5


def names(topic, manner, size):
    """Names of things of a subject, in the manner of an author: four in five of one kind."""
    kind = np.where(rng.random(size) < 0.8, manner, not manner).astype(int)
    return [f"s{topic}t{t}k{k}" for t, k in zip(rng.integers(things, size=size), kind, strict=True)]


def noise(size):
    """Words of any subject."""
    return [names(rng.integers(subjects), rng.random() < 0.5, 1)[0] for _ in range(size)]


texts = [[*names(subject[i], dialect[i], 12), *noise(4), f"code{i}"] for i in range(n)]
encoder = make_pipeline(TfidfVectorizer(), TruncatedSVD(subjects, random_state=0))
model = HybridRetriever(encoder=encoder).fit(texts)

# %%
# A query in other words is answered by all documents of its subject, also by those whose authors
# use the other names; one with a code by the document that has it, which its vector hardly shows.
# On the left how many of the first forty documents are on the subject, and how often the document
# with the code is among the first ten. On the right the two rankings of one query in other words.

chosen = rng.choice(n, 100, replace=False)
by_subject = [names(subject[i], not dialect[i], 4) for i in chosen]
by_code = [[*names(subject[i], not dialect[i], 1), f"code{i}"] for i in chosen]


def ask(queries, depth):
    """The ids that words, vectors and both give."""
    vectors = model.dense_.search(model.encoder_.transform(queries), depth)
    results = (model.lexical_.search(queries, depth), vectors, model.search(queries, depth))
    return [[hits.ids for hits in result] for result in results]


figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.6), layout="constrained")
ways = ["words", "vectors", "both"]
for k, ids in enumerate(ask(by_subject, 40)):
    share = np.mean([np.mean(subject[f] == subject[i]) for f, i in zip(ids, chosen, strict=True)])
    left.bar(k, share, color=f"C{k}")
for k, ids in enumerate(ask(by_code, 10)):
    share = np.mean([i in f for f, i in zip(ids, chosen, strict=True)])
    left.bar(k + 4, share, color=f"C{k}")
left.set_xticks([0, 1, 2, 4, 5, 6], ways * 2)
left.set(ylabel="share that is right", ylim=(0, 1.15))
for middle, title in ((1, "asked in other words"), (5, "asked with a code")):
    left.text(middle, 1.05, title, ha="center")
words, vectors, both = (ids[0].tolist() for ids in ask(by_subject[:1], n))
for colour, right_ones in (("C7", False), ("C2", True)):
    shown = [d for d in both if (subject[d] == subject[chosen[0]]) == right_ones]
    shown = [d for d in shown if d in vectors]
    places = [(words.index(d) + 1 if d in words else n, vectors.index(d) + 1) for d in shown]
    label = "on the subject" if right_ones else "on others"
    right.loglog(*zip(*places, strict=True), "o", ms=4, color=colour, alpha=0.6, label=label)
right.set(xlabel="place by words (1000: shares none)", ylabel="place by vectors")
right.legend()
plt.show()
