"""The scanners cut text where the regular expressions do, character by character of Unicode."""

import sys
import unicodedata

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from panlearn.text._bpe_files import GPT2, LLAMA3, QWEN2
from panlearn.text._piece_counts import to_utf8
from panlearn.text._pretokenize import PATTERNS, boundaries, character_classes

REGEX = {"gpt2": GPT2, "llama3": LLAMA3, "qwen2": QWEN2, "spaces": "(?s:.)[^\u2581]*"}
# The tables of Python and of regex are of different years: only what both know to be assigned.
KNOWN = [c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(c) != "Cn"]
TRICKY = st.text(
    "\u2581'sStTdDmMlLvVrReEſK \n\r\t\x0b\xa0\u3000\u2028aé世१Ⅷ²0.-\u0301\ud800\x1c\x00😀"
)
ANY = st.lists(st.sampled_from(KNOWN), max_size=40).map("".join)


def cut(text, name):
    content = to_utf8(text)
    ends = boundaries(np.frombuffer(content, np.uint8), PATTERNS[name], character_classes())
    starts = [0, *ends.tolist()[:-1]]
    pieces = [content[a:b] for a, b in zip(starts, ends.tolist(), strict=True)] if content else []
    return [piece.decode("utf-8", "surrogatepass") for piece in pieces]


def matches(text, name):
    """What the pattern finds; digits are cut out first."""
    if name != "digits":
        return regex.findall(REGEX[name], text)
    parts = regex.split(r"(\p{N})", text)  # digits stand in the odd places
    found = [[p] if i % 2 else matches(p, "gpt2") for i, p in enumerate(parts)]
    return [piece for pieces in found for piece in pieces]


@pytest.mark.parametrize("name", PATTERNS)
@given(text=TRICKY | ANY | st.text())
def test_pieces_are_the_matches_of_the_pattern(name, text):
    text = "".join(c for c in text if unicodedata.category(c) != "Cn")
    assert cut(text, name) == matches(text, name)


@pytest.mark.parametrize("name", PATTERNS)
def test_every_character_between_others_is_cut_as_the_pattern_cuts_it(name):
    text = "".join(f"a{c}1 {c}'{c}" for c in KNOWN)
    newer = regex.compile(r"\p{L}|\p{N}|\s")
    # a few assigned characters have changed their category since
    ours = {c for c in KNOWN if character_classes()[ord(c)]}
    changed = ours.symmetric_difference(newer.findall("".join(KNOWN)))
    assert len(changed) < 20
    text = "".join(c for c in text if c not in changed)
    assert cut(text, name) == matches(text, name)


def test_classes_are_the_categories_of_unicode():
    classes = character_classes()
    kinds = [unicodedata.category(chr(code))[0] for code in range(0x110000)]
    spaces = set(map(ord, regex.findall(r"\s", "".join(map(chr, range(0x110000))))))
    expected = [3 if i in spaces else {"L": 1, "N": 2}.get(kind, 0) for i, kind in enumerate(kinds)]
    assert (classes == np.array(expected)).all()
