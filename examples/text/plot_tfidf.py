r"""
Which words tell a text apart
=============================

Tf-idf weighs a word by how often it occurs in a text and by how few of the texts hold it. Words of
every text weigh little whatever their number, and the vectors of texts on one matter point the same
way.
"""

# %%
# The help topics of the standard library, with terms of one and two words. The angles between
# the vectors are their products.

from pydoc_data.topics import topics

import matplotlib.pyplot as plt
import numpy as np

from panlearn.text import TfidfVectorizer, WordTokenizer

names = [
    "for",
    "while",
    "break",
    "continue",
    "numbers",
    "integers",
    "floating",
    "strings",
    "import",
]
words = WordTokenizer(pattern=r"[a-z]{2,}")
vectorizer = TfidfVectorizer(tokenizer=words, ngram_range=(1, 2), tf="sublinear").fit(
    topics.values()
)
X = vectorizer.transform([topics[name] for name in names])
similarity = (X @ X.T).toarray()

# %%
# On the left each word of all topics, by how often it occurs and what it weighs: the weight falls
# with the number of texts, not with the number of occurrences. In the middle the terms that weigh
# most in one text, on the right how similar the texts are.

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4.5), layout="constrained")
counts = vectorizer.statistic_
terms = vectorizer.get_feature_names_out()
single = np.array([" " not in term for term in terms])
left.semilogx(counts.count[single], vectorizer.idf_[single], ".", color="0.7")
column = vectorizer.vocabulary_
for term in ("the", "is", "object", "exception", "unicode"):
    place = (counts.count[column[term]], vectorizer.idf_[column[term]])
    left.plot(*place, "o", color="C1")
    left.annotate(term, place, xytext=(6, 4), textcoords="offset points")
left.set(xlabel="occurrences in all texts", ylabel="inverse document frequency")
row = X[names.index("while")].toarray().ravel()
top = np.argsort(-row)[:12][::-1]
middle.barh(terms[top], row[top])
middle.set(title="the text on while", xlabel="weight")
image = right.imshow(np.where(np.eye(len(names)), np.nan, similarity), cmap="viridis")
right.set_xticks(range(len(names)), names, rotation=60)
right.set_yticks(range(len(names)), names)
right.set_title("cosines of texts")
figure.colorbar(image, ax=right)
plt.show()
