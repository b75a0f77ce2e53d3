"""Tokens and edits: byte pair encoding, and distances of strings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pydoc_data.topics import topics

import numpy as np

from panlearn.claims.claim import Evidence, at_most, claim, equal, true
from panlearn.text import BPETokenizer, edit_distance, edit_distances

_PAGES = [topics[name] for name in sorted(topics)[:8]]


def _strings(n: int, longest: int, alphabet: str | None = None) -> list[str]:
    """Strings at random, of the letters given or of all of Unicode."""
    rng = np.random.default_rng(n)
    if alphabet:
        letters = list(alphabet)
        return ["".join(rng.choice(letters, rng.integers(longest))) for _ in range(n)]
    codes = [rng.integers(0x110000, size=rng.integers(longest)) for _ in range(n)]
    return ["".join(map(chr, code)) for code in codes]


@claim("A129")
def merges_shorten() -> Iterator[Evidence]:
    """Byte pair encoding is decoded to the text; one merge more never makes a text longer in
    tokens; k merges add k tokens to the 256 bytes.
    """
    k = 60
    model = BPETokenizer(vocab_size=256 + k).fit(_PAGES)
    yield equal("tokens after k merges", [len(model.vocab_), len(model.merges_)], [256 + k, k])
    texts = [*_PAGES, *_strings(50, 40), "", "\x00", "\ud800"]
    back = [model.decode(ids, errors="strict") for ids in model.encode_batch(texts)]
    yield true("decoding gives every text back", back == texts)
    lengths = []
    for n in range(0, k + 1, 10):
        shorter = BPETokenizer(vocab_size=256 + n).fit(_PAGES)
        lengths.append([len(ids) for ids in shorter.encode_batch(texts)])
    yield at_most("largest growth by further merges", np.diff(lengths, axis=0).max(), 0)
    saved = 1 - sum(lengths[-1][:8]) / sum(lengths[0][:8])
    yield true(f"60 merges save a part of the tokens ({saved:.2f})", saved > 0.2)


@claim("B297")
def the_most_frequent_pair_is_merged() -> Iterator[Evidence]:
    """Byte pair encoding merges the pair of neighbours that is the most frequent; the vocabulary is
    the bytes and one token a merge; encoding is undone by decoding. The text only names it.
    """
    words = "low low low low low lower lower newest newest newest widest widest widest".split()
    n_merges = 6
    model = BPETokenizer(vocab_size=256 + n_merges).fit([[word] for word in words])
    split = {word: list(word) for word in set(words)}
    counts = Counter(words)
    for merge in model.merges_:
        pairs: Counter[tuple[str, str]] = Counter()
        for word, symbols in split.items():
            for pair in pairwise(symbols):
                pairs[pair] += counts[word]
        yield equal(f"count of {merge} and the largest", pairs[merge], max(pairs.values()))
        for word, symbols in split.items():
            split[word] = "\0".join(symbols).replace("\0".join(merge), "".join(merge)).split("\0")
    yield true(
        "words are cut as the merges say",
        all(model.tokens(model.encode(word)) == symbols for word, symbols in split.items()),
    )
    yield equal("tokens", len(model.vocab_), 256 + n_merges)
    texts = _strings(200, 30)
    yield true("random texts come back", model.inverse_transform(model.transform(texts)) == texts)


@claim("B284")
def distances_of_carr() -> Iterator[Evidence]:
    """The edit distance counts insertions, deletions and substitutions: from "carr" it is 2 to cat,
    1 to car, 1 to cart, 1 to care, 2 to cards, 2 to cast, so that three corrections tie. The text
    defines it so, but prints for cat, car and cart what insertions and deletions alone give, which
    are 3, 1, 2, 2, 3 and 4. Both are metrics.
    """
    words = ["cat", "car", "cart", "care", "cards", "cast"]
    unit, indel = edit_distances(["carr"], words)[0], edit_distances(["carr"], words, substitute=2)
    yield equal("with substitutions", unit, [2, 1, 1, 1, 2, 2])
    yield equal("by insertions and deletions", indel[0], [3, 1, 2, 2, 3, 4])
    for name, cost in (("edit distance", 1), ("of insertions and deletions", 2)):
        strings = _strings(60, 12, "abc")
        D = edit_distances(strings, substitute=cost)
        yield equal(f"{name}: symmetry", D, D.T)
        same = np.array([[a == b for b in strings] for a in strings])
        yield true(f"{name}: zero for equal strings alone", ((D == 0) == same).all())
        detour = (D[:, :, None] + D[None, :, :]).min(axis=1)
        yield at_most(f"{name}: triangle", (D - detour).max(), 0)
    yield equal("one pair and the matrix", edit_distance("carr", "cast"), unit[5])
