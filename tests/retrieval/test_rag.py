"""Answers with sources: what is shown, what is cited, what is not in the documents."""

import importlib
import inspect
import re
import zlib

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import ndcg_score

import panlearn
from panlearn.retrieval import BM25, RAG, Answer, HybridRetriever
from panlearn.retrieval._answers import BY_WORDS, Words, cited, sentences, without_unknown
from panlearn.retrieval.evaluation import faithfulness, ranking_metrics
from panlearn.retrieval.rag import WORDS

TEXTS = {
    "iron": "Iron rusts in damp air. It is heavy. Ships are made of it.",
    "gold": "Gold is soft. It does not rust, even in the sea.",
    "cork": "Cork floats. It comes from the bark of an oak.",
    "oak": "The oak is a tree. Oaks live for centuries.",
}


@pytest.fixture
def model():
    return RAG().fit(list(TEXTS.values()), ids=list(TEXTS))


def writes(text, prompts=None):
    def generator(prompt):
        if prompts is not None:
            prompts.append(prompt)
        return text

    return generator


def test_without_a_generator_the_nearest_sentence_and_its_source(model):
    found = model.ask("The bark of which oak does it come from?")
    assert found.text == "It comes from the bark of an oak. [1]"
    assert found.citations == {1: "cork"}
    assert found.passages[0] == TEXTS["cork"]
    assert str(found).endswith("\n[1] cork")
    assert found.found
    assert [a.citations for a in model.ask(["gold?", "iron?"])] == [{1: "gold"}, {1: "iron"}]


@pytest.mark.parametrize("question", ["Who won the football match?", "", "What is it of the?"])
def test_what_is_not_near_is_not_in_the_documents(model, question):
    prompts = []
    talker = RAG(generator=writes("Pelé [1].", prompts)).fit(list(TEXTS.values()))
    for answer in (model.ask(question), talker.ask(question)):
        assert answer.text == "not in the documents"
        assert not answer.found
        assert (answer.citations, answer.passages) == ({}, [])
    assert not prompts  # nothing was asked of the generator


def test_a_generator_sees_numbered_passages_and_its_citations_are_checked():
    prompts = []
    text = "Iron rusts [1]. So does steel [7]. [2, 9] Gold does not [1,2]"
    model = RAG(generator=writes(text, prompts)).fit(list(TEXTS.values()), ids=list(TEXTS))
    answer = model.ask("Does iron rust, or gold?")
    (prompt,) = prompts
    first, second = answer.ids
    assert f"[1] {TEXTS[first]}" in prompt
    assert f"[2] {TEXTS[second]}" in prompt
    assert prompt.endswith("Question: Does iron rust, or gold?\nAnswer:")
    assert answer.unknown == (7, 9)
    assert answer.text == "Iron rusts [1]. So does steel. [2] Gold does not [1, 2]"
    assert answer.citations == {1: first, 2: second}


def test_a_generator_may_say_that_it_does_not_know():
    for text in ("Not in the documents.", "", "  "):
        answer = RAG(generator=writes(text)).fit(list(TEXTS.values())).ask("Is gold soft?")
        assert (answer.text, answer.found) == ("not in the documents", False)
    with pytest.raises(ValueError, match="no text"):
        RAG(generator=writes(3)).fit(list(TEXTS.values())).ask("Is gold soft?")


def test_passages_are_chosen_to_the_budget():
    prompts = []
    texts = ["gold " * 50, "gold is soft.", "gold, gold, gold is heavy."]
    model = RAG(BM25(b=0.0), writes("[1]", prompts), token_budget=30).fit(texts)
    assert model.ask("gold").ids == [2, 1]  # the longest, and best, is passed over
    assert RAG(BM25(b=0.0), writes("[1]"), token_budget=14).fit(texts).ask("gold").ids == [2]
    assert len(prompts[-1].split("gold")) == 1 + 4 + 1
    tight = RAG(BM25(b=0.0), writes("[1]", prompts), token_budget=9).fit(
        ["Gold gold is soft. " + "Gold is heavy. " * 20]
    )
    assert tight.ask("gold").passages == ["Gold gold is soft."]
    with pytest.raises(ValueError, match="no sentence of a passage fits into 4 tokens"):
        RAG(None, writes("[1]"), token_budget=4).fit(texts).ask("gold")


class Subjects(TransformerMixin, BaseEstimator):
    """Vectors that know that a metal is a metal."""

    def transform(self, X):
        words = {"metal": 0, "gold": 0, "iron": 0, "cork": 1, "oak": 1, "tree": 1}
        made = np.zeros((len(X), 2))
        for row, text in zip(made, X, strict=True):
            for word in re.findall(r"\w+", text.lower()):
                if word in words:
                    row[words[word]] += 1
        return made


def test_relevance_may_be_that_of_vectors():
    retriever = HybridRetriever(encoder=Subjects())
    model = RAG(retriever, relevance=Subjects(), min_relevance=0.8)
    model.fit(list(TEXTS.values()), ids=list(TEXTS))
    answer = model.ask("Which metal?")  # a word that no passage has
    assert set(answer.ids) == {"iron", "gold"}
    assert answer.text.startswith(("Gold", "Iron"))
    assert RAG().fit(list(TEXTS.values())).ask("Which metal?").text == "not in the documents"


def test_forms_of_a_word_meet_and_half_of_the_words_are_asked_for(model):
    assert model.ask("Does a cork float?").ids[0] == "cork"
    assert model._nearness("rusting ships", [TEXTS["iron"]]) == [1.0]
    assert not RAG(min_relevance=0.9).fit(list(TEXTS.values())).ask("gold in Paris").found
    assert RAG(min_relevance=0.1).fit(list(TEXTS.values())).ask("gold in Paris").found


def test_words_weigh_by_their_rarity():
    near = Words.of(["a b", "a c", "a d"], str.split)
    a, b, unknown = np.log1p(3 / 3), np.log1p(3 / 1), np.log1p(3 / 0.5)
    expected = [a / (a + b + unknown), (a + b) / (a + b + unknown), 0.0]
    np.testing.assert_allclose(near("a b x", ["a c", "a b b", "y"]), expected)


def test_a_gpt_answers_within_its_context():
    transformer = pytest.importorskip("panlearn.transformer")
    config = transformer.GPTConfig(n_layers=1, width=16, n_heads=2, context=700)
    gpt = transformer.GPT(config, max_steps=2, random_state=0).fit(list(TEXTS.values()))
    texts = [f"{text} {'Gold is gold.' * 10}" for text in TEXTS.values()]
    model = RAG(generator=FrozenEstimator(gpt), max_tokens=5, k=4).fit(texts)
    answer = clone(model).fit(texts).ask("Is gold soft?")
    assert 1 <= len(answer.passages) < 4  # all of them would not fit
    assert answer.text == model.ask("Is gold soft?").text
    with pytest.raises(ValueError, match="not fitted"):
        clone(RAG(generator=gpt)).fit(texts)
    with pytest.raises(ValueError, match="longer context"):
        RAG(generator=gpt, max_tokens=690).fit(texts).ask("Is gold soft?")


def test_a_saved_model_answers_alike(model, tmp_path):
    panlearn.save(model, tmp_path / "rag")
    assert panlearn.load(tmp_path / "rag").ask("Is gold soft?") == model.ask("Is gold soft?")


def test_what_cannot_be_used_is_refused(model):
    for wrong, says in [
        (RAG(retriever=3), "method search"),
        (RAG(relevance=3), "method transform"),
        (RAG(generator=3), "GPT or a function"),
    ]:
        with pytest.raises(ValueError, match=says):
            wrong.fit(list(TEXTS.values()))
    with pytest.raises(ValueError, match="question 1"):
        model.ask(["gold", ["iron"]])
    assert model.ask([]) == []


def test_sentences_and_citations():
    text = 'Iron rusts. [1] "Gold?" No, e.g. lead! [2][3]\n\nIt costs 3.5 pounds.'
    assert sentences(text) == [
        *("Iron rusts [1].", '"Gold?', "No, e.g. lead [2][3]!", "It costs 3.5 pounds."),
    ]
    assert cited("a [2] b [1, 3] c [2] [x] [] 4]") == [2, 1, 3]
    assert without_unknown("a [1, 5] b [6], c [0].", 3) == "a [1] b, c."


def test_ranking_metrics_are_those_of_the_definitions(rng):
    n, k = 30, 7
    gains = rng.integers(0, 4, size=(5, n)) * (rng.random((5, n)) < 0.3)
    scores = rng.random((5, n))
    rankings = [np.argsort(-row).tolist() for row in scores]
    relevant = [{i: float(g) for i, g in enumerate(row) if g} for row in gains]
    found = ranking_metrics(rankings, relevant, k)
    np.testing.assert_allclose(found["ndcg"], ndcg_score(gains, scores, k=k))
    recall = [np.mean([i in r[:k] for i in w]) for r, w in zip(rankings, relevant, strict=True)]
    np.testing.assert_allclose(found["recall"], np.mean(recall))
    first = [[i in w for i in r[:k]] for r, w in zip(rankings, relevant, strict=True)]
    expected = np.mean([1 / (1 + row.index(True)) if any(row) else 0 for row in first])
    np.testing.assert_allclose(found["mrr"], expected)
    assert ranking_metrics([["x"], []], [["y"], ["z"]]) == {"recall": 0, "mrr": 0, "ndcg": 0}
    for bad, says in [
        (([["a"]], []), "1 rankings"),
        (([], []), "no ranking"),
        (([["a"]], [[]]), "nothing is relevant"),
        (([["a", "a"]], [["a"]]), "twice"),
        (([["a"]], [{"a": -1.0}]), "above zero"),
    ]:
        with pytest.raises(ValueError, match=says):
            ranking_metrics(*bad)
    with pytest.raises(TypeError, match="in a list"):
        ranking_metrics([["a"]], ["a"])


def test_faithfulness_and_evaluation(model):
    passages = ["p", "q"]
    half = Answer("?", "One [1]. Two. Three [3]. Four [2].", [0, 1], passages)
    assert faithfulness(half) == 0.5
    assert faithfulness([half, Answer("?", "not in the documents", [], [])]) == 0.5
    assert np.isnan(faithfulness([Answer("?", "not in the documents", [], [])]))
    measured = model.evaluate(["Is gold soft?", "Who won?"], [["gold"], ["iron"]])
    assert measured == {"recall": 0.5, "mrr": 0.5, "ndcg": 0.5, "faithfulness": 1, "answered": 0.5}


MODULES = (
    "argparse bisect calendar codecs collections configparser contextlib copy csv datetime decimal "
    "difflib email enum fractions functools glob gzip hashlib heapq html inspect io ipaddress json "
    "logging mailbox math os pathlib pickle platform pprint random re shelve shlex shutil smtplib "
    "socket statistics string struct subprocess tarfile tempfile textwrap threading tokenize "
    "traceback types unicodedata unittest uuid weakref zipfile"
).split()


def asked_of_the_standard_library():
    """Questions, which are first sentences of docstrings, and passages, the rest of them."""
    seen = set()
    for name in MODULES:
        here = zlib.crc32(name.encode()) % 2 == 0
        public = {k: v for k, v in vars(importlib.import_module(name)).items() if k[0] != "_"}
        for one in public.values():
            own = inspect.isclass(one) and one.__module__.split(".")[0] == name
            inside = [v for k, v in vars(one).items() if k[0] != "_"] if own else []
            for text in (inspect.getdoc(part) for part in (one, *inside) if callable(part)):
                first, *rest = sentences(text or "") or [""]
                enough = 5 <= len(WORDS(first)) <= 20 and len(WORDS(" ".join(rest))) >= 12
                if enough and text not in seen:
                    seen.add(text)
                    yield here, first, " ".join(rest)


def test_half_of_the_words_tell_best_what_is_in_the_documents():
    """Half of the modules are indexed; the questions about the others have no passage."""
    there, questions, passages = zip(*asked_of_the_standard_library(), strict=True)
    known = np.array(there)
    model = RAG().fit([text for here, text in zip(there, passages, strict=True) if here])
    found = model.retriever_.search(list(questions), model.k)
    near = np.array(
        [
            model._nearness(question, model._texts(hits.ids.tolist())[1]).max(initial=0.0)
            for question, hits in zip(questions, found, strict=True)
        ]
    )

    def gain(least):
        """Share of questions with a passage that are answered, less that of those without."""
        return np.mean(near[known] >= least) - np.mean(near[~known] >= least)

    assert min(known.sum(), (~known).sum()) > 150
    assert gain(BY_WORDS) > 0.3  # 0.35 on the documents of Python 3.11; others differ a little
    assert gain(BY_WORDS) > max(map(gain, np.linspace(0.1, 0.9, 33))) - 0.05
