"""Language models, taggers and spelling against nltk and symspellpy."""

from itertools import pairwise

import numpy as np

from benchmarks.harness import Workload
from panlearn.text import HMMTagger, NGramModel, SpellCorrector

LETTERS = np.array(list("etaoinshrdlucmfwygpbvk"))


def lexicon(n=100_000):
    """Words of frequent letters with falling frequencies; and misspelt ones with what was meant."""
    rng = np.random.default_rng(0)
    share = 1 / np.arange(2, len(LETTERS) + 2)
    words = set()
    while len(words) < n:
        words.add("".join(rng.choice(LETTERS, rng.integers(4, 13), p=share / share.sum())))
    words = sorted(words)
    counts = dict(
        zip(words, (1e6 / rng.permutation(np.arange(1, n + 1)) + 1).astype(int), strict=True)
    )
    meant = [words[i] for i in rng.choice(n, 2000, replace=False)]
    return counts, [misspell(word, rng) for word in meant], meant


def misspell(word, rng):
    """One or two random edits."""
    for _ in range(rng.integers(1, 3)):
        at, letter = rng.integers(len(word)), rng.choice(LETTERS)
        ways = [
            word[:at] + word[at + 1 :],
            word[:at] + letter + word[at:],
            word[:at] + letter + word[at + 1 :],
        ]
        if at + 1 < len(word):
            ways.append(word[:at] + word[at + 1] + word[at] + word[at + 2 :])
        word = ways[rng.integers(len(ways))]
    return word


def our_corrector(data):
    model = SpellCorrector.from_counts(data[0], phonetic_bonus=0.0)
    model.suggest("warm")
    return model


def symspell(data):
    from symspellpy import SymSpell

    model = SymSpell(max_dictionary_edit_distance=2, prefix_length=7)
    for word, count in data[0].items():
        model.create_dictionary_entry(word, int(count))
    return model


def ours_corrected(data):
    return [best[0].word if (best := data[1].suggest(w, n=1)) else w for w in data[0][1]]


def symspell_corrected(data):
    from symspellpy import Verbosity

    found = []
    for word in data[0][1]:
        best = data[2].lookup(word, Verbosity.TOP, max_edit_distance=2)
        found.append(best[0].term if best else word)
    return found


def corpus():
    """Sentences from a chain of words, and the first hundred of them."""
    rng = np.random.default_rng(1)
    words = np.array([f"w{i}" for i in range(2000)])
    share = 1 / np.arange(1, 2001)
    law = share / share.sum()
    ids = rng.choice(2000, 200_000, p=law)
    ids[1::2] = (ids[::2] * 7 + rng.integers(0, 3, 100_000)) % 2000  # a word says half of the next
    return [words[part].tolist() for part in np.split(ids, 10_000)]


def nltk_model(documents):
    from nltk.lm import Lidstone
    from nltk.lm.preprocessing import padded_everygram_pipeline

    grams, vocabulary = padded_everygram_pipeline(2, documents)
    model = Lidstone(0.1, 2)
    model.fit(grams, vocabulary)
    return model


def perplexity(documents, model):
    if isinstance(model, NGramModel):
        return {"perplexity": model.perplexity(documents[:100])}
    value, n = 0.0, 0
    for words in documents[:100]:
        padded = ["<s>", *words, "</s>"]
        value += sum(model.logscore(b, [a]) for a, b in pairwise(padded))
        n += len(words) + 1
    return {"perplexity": 2 ** (-value / n)}


def tagged():
    rng = np.random.default_rng(2)
    step = rng.dirichlet(np.full(12, 0.3), 12)
    words, tags = [], []
    for _ in range(3000):
        path = [int(rng.integers(12))]
        while len(path) < 15:
            path.append(int(rng.choice(12, p=step[path[-1]])))
        words.append([f"s{rng.integers(800)}x{t % 9}" for t in path])
        tags.append([f"T{t}" for t in path])
    return words, tags


def our_tags(data):
    model = HMMTagger().fit(data[0][:2500], data[1][:2500])
    return model.predict(data[0][2500:])


def nltk_tags(data):
    from nltk.probability import LidstoneProbDist
    from nltk.tag.hmm import HiddenMarkovModelTrainer

    pairs = [list(zip(*pair, strict=True)) for pair in zip(*data, strict=True)]
    model = HiddenMarkovModelTrainer().train_supervised(
        pairs[:2500], estimator=lambda counts, bins: LidstoneProbDist(counts, 0.1, bins)
    )
    return [[tag for _, tag in model.tag(words)] for words in data[0][2500:]]


def workloads():
    yield Workload(
        "Lexicon of 100,000 words, distance 2: the index",
        "text.SpellCorrector",
        lexicon,
        {"panlearn": our_corrector, "symspellpy": symspell},
        lambda data, m: {"words": len(m.words_ if hasattr(m, "words_") else m.words)},
    )
    yield Workload(
        "2000 misspelt words, lexicon of 100,000",
        "text.SpellCorrector",
        lambda: (lambda data: (data, our_corrector(data), symspell(data)))(lexicon()),
        {"panlearn": ours_corrected, "symspellpy": symspell_corrected},
        lambda data, found: {"right": float(np.mean(np.array(found) == np.array(data[0][2])))},
    )
    yield Workload(
        "Bigrams of 200,000 words, add 0.1",
        "text.NGramModel",
        corpus,
        {
            "panlearn": lambda X: NGramModel(2, smoothing="add_k", k=0.1).fit(X),
            "nltk": nltk_model,
        },
        perplexity,
    )
    yield Workload(
        "Tags: learn 2500 sentences of 15 words, tag 500",
        "text.HMMTagger",
        tagged,
        {"panlearn": our_tags, "nltk HMM": nltk_tags},
        lambda data, found: {
            "right": float(np.mean(np.concatenate(found) == np.concatenate(data[1][2500:])))
        },
    )
