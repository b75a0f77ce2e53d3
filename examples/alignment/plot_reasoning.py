"""
A small model learns to reason
==============================

A decoder of 120,000 weights learns to add numbers of two digits and to write down what it carries:
first from worked examples, then from rewards of what it draws itself, then from its own right
solutions; in the end a smaller one learns from it. All stages are measured on 200 questions that
none has seen. A right solution in its form is worth 1.5. What the cold start draws is worth 1.12,
after forty steps of GRPO 1.17, and after learning from its own right solutions 1.30; the smaller
one, which learns for a few seconds only, has the form by then but few of the sums: 0.24.
The most probable solution is worth 1.47 from the cold start on and stays there: what the later
stages change is how often a draw is right.
"""

import tempfile

import matplotlib.pyplot as plt

from panlearn.alignment import CarriedAddition, reasoning_pipeline
from panlearn.text import BPETokenizer
from panlearn.transformer import GPT, GPTConfig

task = CarriedAddition(n_digits=2)
questions = task.prompts(4200, random_state=0)
cold, asked, test = questions[:3000], questions[3000:4000], questions[4000:]
print(questions[0], task.solution(questions[0]))

# %%
# The cold start is short: the most probable solution is often right, but what is drawn is not.

run = reasoning_pipeline(
    tempfile.mkdtemp(),
    [(question, task.solution(question)) for question in cold],
    asked,
    [task.answer(question) for question in asked],
    task.reward,
    model=GPT(GPTConfig(2, 64, 4, 48), BPETokenizer(272)),
    student=GPT(GPTConfig(2, 32, 4, 48)),
    test=(test, [task.answer(question) for question in test]),
    max_tokens=36,
    n_samples=2,
    threshold=1.5,
    cold_start={"max_steps": 450, "learning_rate": 4e-3, "schedule": "warmup_cosine"},
    grpo={
        **{"max_steps": 40, "batch_size": 32, "learning_rate": 4e-4},
        **{"schedule": "warmup_cosine", "beta": 0.01},
    },
    rejection={"max_steps": 120, "learning_rate": 1e-3, "schedule": "cosine"},
    distillation={"max_steps": 400, "learning_rate": 4e-3, "schedule": "warmup_cosine"},
)
for stage, found in run.measured.items():
    print(f"{stage:13} reward {found['reward']:.2f}, drawn {found['sampled_reward']:.2f}")
print(run.measured["grpo"]["samples"][0])

# %%
# The reward of what is drawn, over the steps of GRPO and over the stages:

history = run.models["grpo"].history_
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4))
left.plot(history["step"], history["reward"])
left.set(xlabel="step of GRPO", ylabel="reward of what is drawn")
names = [stage.replace("_", "\n") for stage in run.measured]
right.bar(names, [found["sampled_reward"] for found in run.measured.values()])
right.set(ylabel="reward of what is drawn", ylim=(0, 1.5))
fig.tight_layout()
plt.show()
