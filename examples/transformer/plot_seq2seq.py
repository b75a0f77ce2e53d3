r"""
Dates, rewritten
================

A transformer reads dates as people write them and writes them as computers like them. It is shown
pairs and no rule: it has to find out which part of the source each symbol comes from.
"""

# %%
# Dates in three styles, letter by letter.

import datetime

import matplotlib.pyplot as plt
import numpy as np

from panlearn.transformer import Seq2Seq

STYLES = ["%d %b %Y", "%b %d, %Y", "%d/%m/%Y"]


def dates(seed, n):
    """Dates at random, as they are written and as they are to be."""
    rng = np.random.default_rng(seed)
    days = [
        datetime.date(1970, 1, 1) + datetime.timedelta(int(d)) for d in rng.integers(25000, size=n)
    ]
    written = [
        day.strftime(STYLES[k]) for day, k in zip(days, rng.integers(3, size=n), strict=True)
    ]
    return [list(text) for text in written], [list(day.isoformat()) for day in days]


sources, targets = dates(0, 1500)
new_sources, new_targets = dates(1, 100)
model = Seq2Seq(64, n_layers=2, dropout=0.0, learning_rate=2e-3, max_epochs=20, random_state=0)
model.fit(sources, targets)
print(f"{model.score(new_sources, new_targets):.2f} of new dates without a fault")
for source in new_sources[:5]:
    print(f"{''.join(source):14} {''.join(model.predict(source))}")

# %%
# Where the decoder looks while it writes: at the year first, wherever that stands, then at the
# month and the day.

figure, grid = plt.subplots(1, 3, figsize=(13, 4.6), layout="constrained")
for style, axes in zip(STYLES, grid, strict=True):
    source = list(datetime.date(1999, 3, 27).strftime(style))
    answer = model.predict(source)
    axes.imshow(model.alignment(source)[:-1], cmap="viridis", vmin=0)
    axes.set_xticks(range(len(source)), source)
    axes.set_yticks(range(len(answer)), answer)
    axes.set(xlabel="source", ylabel="target")
plt.show()
