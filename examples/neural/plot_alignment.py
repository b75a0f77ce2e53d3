r"""
A decoder that looks where it reads
===================================

Dates in words are written again as numbers. The decoder attends to the source at every step, and
the weights show where it looks: at the year first, then at the month, then at the day.
"""

# %%
# Pairs such as ``4 july 1984`` and ``1984-07-04``, letter by letter.

import matplotlib.pyplot as plt
import numpy as np

from panlearn.neural import RecurrentSeq2Seq

MONTHS = "january february march april may june july august september october november december"
rng = np.random.default_rng(0)


def pair():
    """A date in words and in numbers."""
    day, month, year = rng.integers(1, 29), rng.integers(1, 13), rng.integers(1950, 2030)
    words = f"{day} {MONTHS.split()[month - 1]} {year}"
    return list(words), list(f"{year}-{month:02d}-{day:02d}")


sources, targets = zip(*(pair() for _ in range(1500)), strict=True)
new, answers = zip(*(pair() for _ in range(200)), strict=True)
model = RecurrentSeq2Seq(
    64, max_epochs=12, learning_rate=0.01, schedule="cosine", random_state=0
).fit(list(sources), list(targets))
print(f"{model.score(list(new), list(answers)):.0%} of new dates without a fault")

# %%
# Each row is a step of the decoder, each column a letter of the source. On the right a network that
# learned to turn words round: the same picture along the other diagonal.

words = [rng.choice(list("abcdef"), size=rng.integers(3, 9)) for _ in range(1000)]
mirror = RecurrentSeq2Seq(
    48, max_epochs=12, learning_rate=0.015, schedule="cosine", random_state=0
).fit(words, [word[::-1] for word in words])

figure, panels = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
for panel, network, text in zip(panels, (model, mirror), ("4 july 1984", "abcdefab"), strict=True):
    answer = network.predict(list(text))
    panel.imshow(network.alignment(list(text), answer), cmap="Blues", vmin=0, vmax=1)
    panel.set_xticks(range(len(text)), list(text.replace(" ", "␣")))
    panel.set_yticks(range(len(answer) + 1), [*answer, "end"])
    panel.set(title=f"{text} to {''.join(answer)}", xlabel="source", ylabel="target")
plt.show()
