r"""
Classes in words
================

CLIP learns from images and their captions in which space both lie. A class is then a text, and one
that was in no caption of its kind needs no training.
"""

# %%
# Digits with captions that say what there is, in several wordings. An image looks for its caption
# among those of the batch.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from panlearn.representation import CLIP, FewShotClassifier, ZeroShotClassifier

NAMES = "zero one two three four five six seven eight nine".split()
WORDINGS = ["a photo of the digit {}", "the number {}", "this is a {}", "{}"]
rng = np.random.default_rng(0)
X, y = load_digits(return_X_y=True)
X = X.reshape(-1, 8, 8)
captions = [WORDINGS[rng.integers(4)].format(NAMES[digit]) for digit in y]
X_train, X_test, y_train, y_test, texts, _ = train_test_split(X, y, captions, random_state=0)
model = CLIP(max_epochs=12, random_state=0).fit(X_train, texts)

# %%
# Several wordings of a class count as their mean. No label was seen, only captions.

prompts = {i: [wording.format(name) for wording in WORDINGS] for i, name in enumerate(NAMES)}
told = ZeroShotClassifier(prompts, model).fit()
print(f"from texts: {told.score(X_test, y_test):.3f}")
even = ZeroShotClassifier({"even": NAMES[::2], "odd": NAMES[1::2]}, model).fit()
parity = np.array(["even", "odd"])[y_test % 2]
print(f"even or odd, from texts: {even.score(X_test, parity):.3f}")

# %%
# Examples make classes, too: the mean of the vectors of a few images. Texts alone do as well as ten
# images of each digit.

counts, shares = (1, 2, 5, 10), []
order = np.stack([np.flatnonzero(y_test == digit)[:10] for digit in range(10)])
rest = np.setdiff1d(np.arange(len(y_test)), order)
for n in counts:
    chosen = order[:, :n].ravel()
    few = FewShotClassifier(model).fit(X_test[chosen], y_test[chosen])
    shares.append(few.score(X_test[rest], y_test[rest]))
    print(f"from {n} images of each: {shares[-1]:.3f}")

# %%
# Cosines of ten images and ten texts, and what texts and images are worth.

chosen = [int(np.flatnonzero(y_test == digit)[0]) for digit in range(10)]
cosines = model.encode_image(X_test[chosen]) @ model.encode_text(NAMES).T
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
shown = left.imshow(cosines, cmap="viridis")
figure.colorbar(shown, label="cosine")
left.set_xticks(range(10), NAMES, rotation=60)
left.set_yticks(range(10), [f"image of {digit}" for digit in range(10)])
right.semilogx(counts, shares, "o-", label="images")
right.axhline(told.score(X_test[rest], y_test[rest]), color="C1", ls="--", label="texts alone")
right.set(xlabel="images of each digit", ylabel="accuracy on the others", ylim=(0, 1))
right.set_xticks(counts, counts)
right.minorticks_off()
right.legend(loc="lower right")
plt.show()
