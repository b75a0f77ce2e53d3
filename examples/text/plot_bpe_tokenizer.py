r"""
Bytes that grow together
========================

Byte pair encoding starts from the 256 bytes and makes the most frequent pair of neighbours a token,
again and again. First come letters that go together, then syllables, words, and words with the
space before them. The more tokens, the fewer a text needs; each merge is worth less than the last.
"""

# %%
# The help pages of Python's standard library, a fifth of them held out.

from pydoc_data.topics import topics

import matplotlib.pyplot as plt

from panlearn.text import BPETokenizer

texts = [topics[name] for name in sorted(topics)]
train, test = [t for i, t in enumerate(texts) if i % 5], texts[::5]
sentence = "If no expression is given, the exception that is being handled is re-raised."

# %%
# The tokens of one sentence, by the size of the vocabulary; and characters a token on held-out
# pages.


def draw_tokens(axes, tokenizer, text, height):
    """Each token on a colour of its own."""
    ids, offsets = tokenizer.encode_offsets(text)
    for place, (start, stop) in enumerate(offsets):
        axes.barh(height, stop - start, 0.8, left=start, color=f"C{place % 8}", alpha=0.35)
    for place, character in enumerate(text):
        axes.text(place + 0.5, height, character, ha="center", va="center", family="monospace")
    return len(ids)


sizes = [256, 300, 400, 600, 1000, 2000, 4000]
models = [BPETokenizer(size).fit(train) for size in sizes]
figure, (top, bottom) = plt.subplots(2, 1, figsize=(11, 6.5), layout="constrained")
for height, (size, model) in enumerate(zip(sizes[::-1], models[::-1], strict=True)):
    count = draw_tokens(top, model, sentence, height)
    top.text(-0.5, height, f"{size}", ha="right", va="center")
    top.text(len(sentence) + 0.7, height, f"{count} tokens", ha="left", va="center")
top.set(xlim=(-4, len(sentence) + 8), title="tokens of a sentence by the size of the vocabulary")
top.axis("off")
characters = sum(map(len, test))
ratio = [characters / sum(map(len, model.transform(test))) for model in models]
bottom.plot(sizes, ratio, "o-")
bottom.set(xscale="log", xlabel="tokens in the vocabulary", ylabel="characters a token, held out")
bottom.set_xticks(sizes, labels=map(str, sizes))
bottom.minorticks_off()
plt.show()

# %%
# Every byte is a token, so that nothing is unknown: any text is encoded, and decoded to itself.

tokenizer = models[-1]
for text in ("raise ValueError", "Grüße, 世界! 😀", "\x00\ud800"):
    ids = tokenizer.encode(text)
    print(tokenizer.tokens(ids), tokenizer.decode(ids) == text)
