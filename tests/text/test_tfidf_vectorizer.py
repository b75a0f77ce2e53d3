"""tf-idf against its definition, term by term."""

import math
from collections import Counter

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import panlearn
from panlearn.text import TfidfVectorizer, WordTokenizer
from panlearn.text._documents import tokenize
from panlearn.text._grams import Terms, count_terms, number_keys

DOCUMENTS = ["red red car", "green car", "", "a red house: the house", "one car one house"]
TF = {
    "raw": lambda f, total, most: f,
    "relative": lambda f, total, most: f / total,
    "boolean": lambda f, total, most: 1.0,
    "log": lambda f, total, most: math.log(1 + f),
    "sublinear": lambda f, total, most: 1 + math.log(f),
    "augmented": lambda f, total, most: 0.5 + 0.5 * f / most,
}
IDF = {
    "smooth": lambda n, N: math.log((1 + N) / (1 + n)),
    "plain": lambda n, N: math.log(N / n),
    "probabilistic": lambda n, N: math.log((N - n + 0.5) / (n + 0.5)),
}


def by_definition(documents, tf, idf, offset):
    counts = [Counter(WordTokenizer()(text)) for text in documents]
    terms = sorted(set().union(*counts))
    n = {t: sum(t in c for c in counts) for t in terms}
    X = np.zeros((len(documents), len(terms)))
    for d, c in enumerate(counts):
        for t, f in c.items():
            weight = IDF[idf](n[t], len(documents)) + offset if idf != "none" else 1.0
            X[d, terms.index(t)] = TF[tf](f, c.total(), max(c.values())) * weight
    return X


@pytest.mark.parametrize("tf", TF)
@pytest.mark.parametrize("idf", [*IDF, "none"])
def test_every_form_is_that_of_its_definition(tf, idf):
    model = TfidfVectorizer(tf=tf, idf=idf, idf_offset=0.25, norm=None)
    expected = by_definition(DOCUMENTS, tf, idf, 0.25)
    np.testing.assert_allclose(model.fit_transform(DOCUMENTS).toarray(), expected, rtol=1e-13)
    np.testing.assert_allclose(model.transform(DOCUMENTS).toarray(), expected, rtol=1e-13)


def test_the_base_is_that_of_every_logarithm():
    given = dict(idf="plain", idf_offset=0.0, norm=None)
    natural = TfidfVectorizer(**given).fit_transform(DOCUMENTS).toarray()
    bits = TfidfVectorizer(base=2, **given).fit_transform(DOCUMENTS).toarray()
    np.testing.assert_allclose(bits, natural / math.log(2), rtol=1e-13)
    logs = TfidfVectorizer(base=10, tf="log", idf="none", norm=None).fit_transform(DOCUMENTS)
    assert logs.max() == pytest.approx(math.log10(3), rel=1e-13)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_norms_are_one_and_empty_documents_are_zero(norm):
    X = TfidfVectorizer(norm=norm).fit_transform(DOCUMENTS).toarray()
    lengths = np.linalg.norm(X, 1 if norm == "l1" else 2, axis=1)
    np.testing.assert_allclose(lengths, [1, 1, 0, 1, 1], rtol=1e-13)


@pytest.mark.parametrize("span", [(1, 1), (1, 2), (2, 3), (3, 3)])
def test_terms_are_the_runs_of_words(span):
    model = TfidfVectorizer(ngram_range=span, tf="raw", idf="none", norm=None)
    X = model.fit_transform(DOCUMENTS).toarray()
    counts = []
    for text in DOCUMENTS:
        words = WordTokenizer()(text)
        counts.append(
            Counter(
                " ".join(words[i : i + n])
                for n in range(span[0], span[1] + 1)
                for i in range(len(words) - n + 1)
            )
        )
    terms = sorted(set().union(*counts))
    assert model.get_feature_names_out().tolist() == terms
    assert model.vocabulary_ == {t: i for i, t in enumerate(terms)}
    np.testing.assert_array_equal(X, [[c[t] for t in terms] for c in counts])
    found = [sorted(set(names)) for names in model.inverse_transform(X)]
    assert found == [sorted(c) for c in counts]


def test_words_that_do_not_fit_into_one_number_a_term(rng):
    """5 words of a large vocabulary take more than 63 bits: rows are compared, not numbers."""
    words = [f"w{i:05d}" for i in range(9_000)]
    documents = [" ".join(rng.choice(words, 40)) for _ in range(400)] + [" ".join(words)]
    model = TfidfVectorizer(ngram_range=(4, 5), idf="none", norm=None).fit(documents[::2])
    names = model.get_feature_names_out().tolist()
    assert names == sorted(names)
    X = model.transform(documents[:20])
    for text, found in zip(documents[:20:2], model.inverse_transform(X[::2]), strict=True):
        cut = text.split()
        runs = {" ".join(cut[i : i + n]) for n in (4, 5) for i in range(len(cut) - n + 1)}
        assert set(found) == runs
    assert X[1::2].nnz == 0
    parts = TfidfVectorizer(ngram_range=(4, 5), idf="none", norm=None)
    parts.partial_fit(documents[:200:2]).partial_fit(documents[200::2])
    assert parts.get_feature_names_out().tolist() == names


def test_bounds_on_document_frequencies_and_the_number_of_features():
    def names(**given):
        return TfidfVectorizer(**given).fit(DOCUMENTS).get_feature_names_out().tolist()

    assert names(min_df=2) == ["car", "house", "red"]
    assert names(min_df=0.5) == ["car"]
    assert names(max_df=1) == ["green", "one", "the"]
    assert names(max_df=0.5, min_df=2) == ["house", "red"]
    # car, house and red occur three times each: the first in order are kept
    assert names(max_features=2) == ["car", "house"]
    with pytest.raises(ValueError, match="max_df is below min_df"):
        names(min_df=4, max_df=0.2)
    with pytest.raises(ValueError, match="no term is left"):
        names(min_df=5)
    with pytest.raises(ValueError, match="no term is left"):
        TfidfVectorizer().fit(["", "?"])
    for span in ((0, 1), (2, 1), (1,), (1.0, 2)):
        with pytest.raises(ValueError, match="ngram_range"):
            names(ngram_range=span)


def test_stop_words_and_case_are_the_tokenizers():
    model = TfidfVectorizer(tokenizer=WordTokenizer(False, stop_words=("the",)))
    assert model.fit(["The cat", "the hat"]).get_feature_names_out().tolist() == [
        *("The", "cat", "hat")
    ]


def test_inverse_of_other_columns_is_refused():
    model = TfidfVectorizer().fit(DOCUMENTS)
    with pytest.raises(ValueError, match="columns"):
        model.inverse_transform(np.ones((1, 3)))


def test_a_stream_is_transformed_part_by_part_once_it_has_been_learned_from():
    stream = panlearn.Batches([DOCUMENTS[:2], DOCUMENTS[2:]])
    with pytest.raises(ValueError, match="transform its parts"):
        TfidfVectorizer().fit_transform(stream)
    model = TfidfVectorizer().fit(stream)
    parts = [part.X for part in model.transform(stream)]
    assert len(parts) == 2
    np.testing.assert_array_equal(
        sparse.vstack(parts).toarray(), model.transform(DOCUMENTS).toarray()
    )


def test_a_failing_fit_transform_leaves_the_model():
    model = TfidfVectorizer().fit(DOCUMENTS)
    with pytest.raises(ValueError, match="no term"):
        model.fit_transform(["", ""])
    assert model.transform(DOCUMENTS).nnz
    assert model.fit_transform(["other words"]).shape == (1, 2)


def test_it_works_in_a_pipeline_and_a_grid():
    X, y = 6 * ["a red car", "blue sky", "red cars", "sky above"], 6 * [0, 1, 0, 1]
    model = make_pipeline(TfidfVectorizer(), LogisticRegression())
    grid = GridSearchCV(model, {"tfidfvectorizer__ngram_range": [(1, 1), (1, 2)]}, cv=2).fit(X, y)
    assert grid.best_score_ == 1


def test_the_kernel_counts_as_unique_does(rng):
    ids, offsets = rng.integers(30, size=200).astype(np.int32), np.array([0, 0, 50, 51, 200])
    indptr, indices, counts = count_terms(ids, offsets, 30)
    for d in range(4):
        terms, n = np.unique(ids[offsets[d] : offsets[d + 1]], return_counts=True)
        part = slice(indptr[d], indptr[d + 1])
        np.testing.assert_array_equal(indices[part], terms)
        np.testing.assert_array_equal(counts[part], n)


def test_keys_are_numbered_in_order_of_appearance(rng):
    keys = rng.integers(2**62, size=3000)[rng.integers(3000, size=9000)]
    numbers, distinct = number_keys(keys)
    np.testing.assert_array_equal(distinct[numbers], keys)
    assert distinct.tolist() == list(dict.fromkeys(keys.tolist()))


def test_terms_of_no_document():
    terms = Terms.of(tokenize([]), 1, 2)
    assert terms.grams.shape == (0, 2)
    assert terms.indptr.tolist() == [0]


def test_vectors_of_no_document():
    model = TfidfVectorizer().fit(["a cat"])
    assert model.transform([]).shape == (0, 1)
    assert model.inverse_transform(model.transform([])) == []


def test_parameters_that_exclude_each_other_or_name_no_terms_are_refused():
    for given, message in [
        (dict(sublinear_tf=True, tf="log"), "exclude each other"),
        (dict(vocabulary=["red", "red"]), "different terms"),
        (dict(vocabulary={"red": 0, "car": 2}), "the columns 0, 1"),
        (dict(vocabulary=[]), "different terms"),
        (dict(vocabulary=["red", 3]), "different terms"),
        (dict(vocabulary=["red", "blue"], smooth_idf=False), "is in no document"),
        (dict(stop_words=["red", 3]), "list of words"),
        (dict(token_pattern=None), "give a pattern"),
        (dict(preprocessor=len), "must give a str"),
    ]:
        with pytest.raises(ValueError, match=message):
            TfidfVectorizer(**given).fit(DOCUMENTS)
    with pytest.raises(ValueError, match="takes texts"):
        TfidfVectorizer(analyzer="char").fit([["red", "car"]])


def test_the_peers_names_are_short_for_ours():
    for short, form in [
        (dict(use_idf=False), dict(idf="none")),
        (dict(smooth_idf=False), dict(idf="plain")),
        (dict(sublinear_tf=True), dict(tf="sublinear")),
        (dict(binary=True), dict(tf="boolean")),
        (
            dict(stop_words=["red"], lowercase=False, token_pattern=r"\w+"),
            dict(tokenizer=WordTokenizer(False, r"\w+", ("red",))),
        ),
        (
            dict(stop_words=["red"], tokenizer=WordTokenizer(stop_words=("car",))),
            dict(tokenizer=WordTokenizer(stop_words=("car", "red"))),
        ),
    ]:
        expected = TfidfVectorizer(**form).fit_transform(DOCUMENTS)
        found = TfidfVectorizer(**short).fit_transform(DOCUMENTS)
        np.testing.assert_array_equal(found.toarray(), expected.toarray())


def test_a_function_may_take_documents_that_are_lists():
    model = TfidfVectorizer(analyzer=lambda words: words[1:], norm=None, use_idf=False)
    X = model.fit_transform([["a", "b c", "b c"], ["b c", "d"]])
    assert model.get_feature_names_out().tolist() == ["b c", "d"]
    np.testing.assert_array_equal(X.toarray(), [[2, 0], [0, 1]])


def test_a_vocabulary_keeps_its_order_whatever_is_learned_later():
    model = TfidfVectorizer(vocabulary=["red car", "house", "blue"], ngram_range=(1, 2))
    model.partial_fit(DOCUMENTS[:2]).partial_fit(DOCUMENTS[2:])
    assert model.get_feature_names_out().tolist() == ["red car", "house", "blue"]
    N = len(DOCUMENTS)
    np.testing.assert_allclose(model.idf_, np.log((1 + N) / (1 + np.array([1, 2, 0]))) + 1)
    X = model.transform(["blue house, red car: house"]).toarray()[0]
    expected = model.idf_ * [1, 2, 1]
    np.testing.assert_allclose(X, expected / np.linalg.norm(expected))


@pytest.mark.parametrize("scale", [1e-300, 5e-324, 0.1, 1e300])
def test_weights_of_any_scale_choose_the_same_terms(scale):
    """A term of a document of weight 0.1 occurs; one of all documents is in no more than all."""
    rng = np.random.default_rng(0)
    texts = [f"every word{i}" for i in range(30)]
    weight = np.full(30, scale) if scale != 0.1 else scale * rng.random(30)
    model = TfidfVectorizer(idf="plain").fit(texts, sample_weight=weight)
    assert model.get_feature_names_out().tolist() == sorted({w for t in texts for w in t.split()})
    expected = np.log(weight.sum() / np.array([weight.sum(), *weight])) + 1
    place = [model.vocabulary_[w] for w in ("every", *(f"word{i}" for i in range(30)))]
    np.testing.assert_allclose(model.idf_[place], expected, rtol=1e-10)
    assert np.isfinite(model.transform([*texts, ""]).toarray()).all()
