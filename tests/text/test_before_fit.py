"""What is asked of a model of texts before it is fitted says so."""

import pytest
from sklearn.exceptions import NotFittedError

from panlearn.graphical import BayesianNetwork
from panlearn.text import CooccurrenceEmbedding, GloVe, NGramModel, TfidfVectorizer, Word2Vec

CALLS = {
    "vectors": lambda model: model.vectors(["a"]),
    "similarity": lambda model: model.similarity("a", "b"),
    "most_similar": lambda model: model.most_similar(),
    "analogy": lambda model: model.analogy("a", "b", "c"),
    "save": lambda model: model.save_word2vec_format("nowhere"),
}


@pytest.mark.parametrize("cls", [CooccurrenceEmbedding, GloVe, Word2Vec])
@pytest.mark.parametrize("name", CALLS)
def test_vectors_that_are_not_there(cls, name):
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        CALLS[name](cls())


@pytest.mark.parametrize(
    "call",
    [
        lambda: NGramModel().probability("a"),
        lambda: NGramModel().distribution(),
        lambda: NGramModel().sample(),
        lambda: TfidfVectorizer().get_feature_names_out(),
        lambda: TfidfVectorizer(vocabulary=["a"]).transform(["a"]),
        lambda: BayesianNetwork().write_bif("nowhere"),
    ],
)
def test_laws_and_terms_that_are_not_there(call):
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        call()
