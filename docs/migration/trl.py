"""
From trl
========

A tuner is an estimator that starts from a model and gives one: pairs or prompts in, the tuned model
in ``model_``. Settings of training are those of every deep model here.
"""
# ruff: noqa: E402

# %% data
import tempfile
from pathlib import Path

from panlearn.transformer import GPT, GPTConfig

folder = Path(tempfile.mkdtemp())
start = GPT(GPTConfig(2, 32, 2, 16), learning_rate=1e-2, max_epochs=20, random_state=0)
start.fit(["one two three four five " * 10]).save_pretrained(folder)
pairs = [
    {"prompt": "one", "chosen": " two", "rejected": " five"},
    {"prompt": "two", "chosen": " three", "rejected": " one"},
]

# %% theirs: Tune by preferences
from datasets import Dataset
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast
from trl import DPOConfig, DPOTrainer

end = "<|endoftext|>"
tokenizer = PreTrainedTokenizerFast(
    tokenizer_file=str(folder / "tokenizer.json"), eos_token=end, pad_token=end
)
settings = DPOConfig(
    output_dir=str(folder / "run"),
    beta=0.1,
    learning_rate=1e-3,
    max_steps=10,
    use_cpu=True,
    bf16=False,
    report_to=[],
    save_strategy="no",
    disable_tqdm=True,
    dataloader_pin_memory=False,
)
trainer = DPOTrainer(
    AutoModelForCausalLM.from_pretrained(folder),
    AutoModelForCausalLM.from_pretrained(folder),
    args=settings,
    train_dataset=Dataset.from_list(pairs),
    processing_class=tokenizer,
)
trainer.train()
accuracy = [row for row in trainer.state.log_history if "train_loss" in row][-1]["train_loss"]

# %% ours
from panlearn.alignment import DPO

tuner = DPO(GPT.from_pretrained(folder), beta=0.1, learning_rate=1e-3, max_steps=10, random_state=0)
tuner.fit(pairs)

# %% same
assert tuner.score(pairs) == 1  # every chosen answer has the higher reward
assert accuracy < 0.6931  # which is the loss before the first step
