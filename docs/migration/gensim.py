"""
From gensim
===========

Models are fitted to texts or to lists of words; no dictionary is kept apart. Vectors are written
and read in the format of word2vec, so either library reads the other's.
"""
# ruff: noqa: E402, F401

# %% data
import tempfile
from pathlib import Path

import numpy as np

texts = [["cat", "eats", "fish"], ["dog", "eats", "meat"], ["sun", "is", "hot"]] * 50
file = Path(tempfile.mkdtemp()) / "vectors.txt"

# %% theirs: Train word vectors, and write them
from gensim.models import Word2Vec

theirs = Word2Vec(texts, vector_size=8, window=2, min_count=1, seed=0, workers=1)
theirs.wv.save_word2vec_format(file)

# %% ours
from panlearn.text import Word2Vec

ours = Word2Vec(vector_size=8, window=2, min_count=1, seed=0).fit(texts)
read = Word2Vec.load_word2vec_format(file)

# %% same
assert sorted(ours.words_) == sorted(theirs.wv.index_to_key)
word = theirs.wv.most_similar("cat", topn=1)[0][0]
assert read.most_similar("cat", topn=1)[0][0] == word

# %% theirs: Topics
from gensim.corpora import Dictionary
from gensim.models import LdaModel

fruit, sea = "apple pear plum apple pear".split(), "ship wave port ship wave".split()
documents = [fruit, sea] * 20
dictionary = Dictionary(documents)
counts = [dictionary.doc2bow(document) for document in documents]
theirs = LdaModel(counts, 2, dictionary, passes=10, random_state=0)
found = [{word for word, _ in theirs.show_topic(k, 3)} for k in range(2)]

# %% ours
from panlearn.text import LatentDirichletAllocation

ours = LatentDirichletAllocation(2, random_state=0).fit(documents)
topics = [set(words) for words in ours.top_words(3)]

# %% same
assert sorted(map(sorted, topics)) == sorted(map(sorted, found))
