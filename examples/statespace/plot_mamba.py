r"""
Mamba: a language model whose memory has one size
=================================================

A transformer keeps something of every token it has read. Mamba keeps a state: each token decides
what of it is overwritten. What a token costs does not grow with the text, and a model that was
trained on windows of 64 tokens reads on as long as it likes.
"""

# %%
# A small model learns the letters of some help pages of Python.

import pydoc_data.topics

import matplotlib.pyplot as plt
import numpy as np

from panlearn.statespace import Mamba, MambaConfig

topics = list(pydoc_data.topics.topics.values())
model = Mamba(
    MambaConfig(2, 64),
    window=64,
    max_steps=150,
    learning_rate=5e-3,
    evaluate_every=10,
    random_state=0,
)
model.fit([topic[:1500] for topic in topics[:60]])
print(repr(model.generate("The ", max_tokens=60)))

# %%
# On the left the loss as it learned. In the middle how surprising letters of new pages are, by
# their place: those far behind the 64 letters that were ever seen at once are no harder than those
# before, since it is the state that is read and not a place. On the right the numbers that are kept
# of a text, beside keys and values of a transformer of that width and depth.

pages = [topic[200:712] for topic in topics[60:] if len(topic) > 712]  # without their headings
losses = -np.array([model.log_probabilities([""], [page])[0][:480] for page in pages])
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
steps = 10 * np.arange(1, len(model.history_["loss"]) + 1)
left.plot(steps, model.history_["loss"])
left.set(xlabel="step", ylabel="loss of a letter", ylim=0)
middle.plot(np.arange(0, 480, 32) + 16, losses.mean(axis=0).reshape(-1, 32).mean(axis=1), "o-")
middle.axvline(64, color="k", ls="--", lw=1, label="window of training")
middle.set(xlabel="place in a page", ylabel="loss of a letter", ylim=0)
middle.legend(loc="lower right")
config, lengths = model.config_, np.arange(1, 2049)
kept = config.n_layers * config.channels * (config.state_size + config.conv_size - 1)
right.plot(lengths, np.full(len(lengths), kept), label="Mamba")
right.plot(lengths, 2 * config.n_layers * config.width * lengths, label="keys and values")
right.set(xlabel="tokens read", ylabel="numbers kept", yscale="log")
right.legend()
plt.show()
