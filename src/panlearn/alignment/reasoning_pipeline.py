"""From worked examples to a small model that reasons, in four stages that can be resumed."""

from __future__ import annotations

import copy
import json
import os
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from panlearn.alignment._policy import as_policy, with_weights
from panlearn.alignment._reasoning_report import page
from panlearn.alignment._rollouts import text_of
from panlearn.alignment.distill import distill
from panlearn.alignment.grpo import GRPO
from panlearn.alignment.losses import ForwardKL
from panlearn.alignment.rejection_sampling import rejection_sampling
from panlearn.alignment.rewards import Reward, as_reward
from panlearn.alignment.supervised_finetune import supervised_finetune
from panlearn.core.files import write_file
from panlearn.core.persistence import load, save
from panlearn.transformer import GPT
from panlearn.transformer._decoder_model import DecoderModel

STAGES = ("cold_start", "grpo", "rejection", "distillation")


@dataclass(frozen=True)
class ReasoningRun:
    """What a pipeline left behind.

    Parameters
    ----------
    folder : Path
    models : dict of {stage: GPT}
    measured : dict of {stage: dict}
        On the test prompts: ``reward`` of the most probable completions and that of each rule,
        ``sampled_reward`` at temperature one, ``length`` in tokens, ``kl`` from the cold start for
        each token, and ``samples``.
    report : Path
    """

    folder: Path
    models: dict[str, DecoderModel]
    measured: dict[str, dict[str, Any]]
    report: Path


def reasoning_pipeline(
    folder: str | os.PathLike[str],
    examples: Any,
    prompts: Any,
    answers: Any,
    reward: Any,
    *,
    model: Any = None,
    student: Any = None,
    test: tuple[Any, Any] | None = None,
    max_tokens: int = 64,
    n_samples: int = 4,
    threshold: float = 1.0,
    cold_start: Mapping[str, Any] | None = None,
    grpo: Mapping[str, Any] | None = None,
    rejection: Mapping[str, Any] | None = None,
    distillation: Mapping[str, Any] | None = None,
    random_state: int = 0,
) -> ReasoningRun:
    r"""Teach a language model to reason, and a smaller one to do as it does.

    .. math::
        \pi_0 \xrightarrow{\text{worked examples}} \pi_1 \xrightarrow{\text{GRPO}} \pi_2
        \xrightarrow{\ y \sim \pi_2,\ r(x, y) \ge c\ } \pi_3
        \xrightarrow{\text{distillation}} \pi_{\text{small}}

    Parameters
    ----------
    folder : path
        Is made if need be. A pipeline that stands in it is gone on with.
    examples : list of (prompt, completion), or of dicts
        Worked examples for the cold start, as `supervised_finetune` takes them.
    prompts : list of str
        What completions are drawn for, and rewarded.
    answers : list
        The right answer of each prompt, which the reward is told.
    reward : Reward, callable, or list of these
        What completions are worth, see `alignment.rewards`.
    model : GPT or path, default=None
        Where to start from. One that is not fitted starts from nothing, with its configuration;
        its tokenizer is fitted to the examples. None is ``GPT()``.
    student : GPT or path, default=None
        The smaller model. One that is not fitted starts from nothing and has the tokens of the
        teacher. None has half the layers and half the width.
    test : tuple of list, default=None
        Prompts and answers to measure all stages on; the first 100 of `prompts` if None.
    max_tokens : int, default=64
        The most tokens of a completion.
    n_samples : int, default=4
        How many completions of each prompt are drawn to choose from.
    threshold : float, default=1.0
        c, the reward from which on a completion is learned from.
    cold_start : dict, default=None
        Settings of the first stage, see `supervised_finetune`.
    grpo : dict, default=None
        Parameters of the second, see `GRPO`.
    rejection : dict, default=None
        Settings of the third, which goes on from the second's model.
    distillation : dict, default=None
        Settings of the last, see `distill`. Its ``divergence`` is that of all tokens if nothing is
        said.
    random_state : int, default=0
        Seeds all that is drawn.

    Returns
    -------
    ReasoningRun
        ``models``, ``measured`` and ``report``, the path of a page of HTML with curves, samples,
        lengths and divergences.

    Notes
    -----
    Each stage has a folder with the state of its run, its model and what was measured. A pipeline
    that was killed at any moment and is called again in the same way ends with the same bits as one
    that was not: stages that are done are read, the one that was not goes on. Other data or
    settings than those that the folder was made with are refused by name.

    References
    ----------
    DeepSeek-AI (2025). DeepSeek-R1: incentivizing reasoning capability in LLMs via reinforcement
    learning. https://arxiv.org/abs/2501.12948

    Examples
    --------
    >>> import tempfile
    >>> from panlearn.alignment import CarriedAddition, reasoning_pipeline
    >>> from panlearn.transformer import GPT, GPTConfig
    >>> task = CarriedAddition(n_digits=1)
    >>> questions = task.prompts(20, random_state=0)
    >>> brief = {"max_steps": 2}
    >>> run = reasoning_pipeline(
    ...     tempfile.mkdtemp(), [(q, task.solution(q)) for q in questions], questions,
    ...     [task.answer(q) for q in questions], task.reward, threshold=0.0, n_samples=1,
    ...     model=GPT(GPTConfig(1, 16, 2, 64)), student=GPT(GPTConfig(1, 8, 2, 64)), max_tokens=8,
    ...     cold_start={"max_steps": 20, "learning_rate": 0.01}, grpo=brief, rejection=brief,
    ...     distillation=brief)
    >>> list(run.models), run.report.name
    (['cold_start', 'grpo', 'rejection', 'distillation'], 'report.html')
    """
    if isinstance(random_state, bool) or not isinstance(random_state, int):
        raise ValueError(f"random_state={random_state!r} must be an int, to be the same again")
    given = {name: list(rows) for name, rows in (("prompts", prompts), ("answers", answers))}
    held = (given["prompts"][:100], given["answers"][:100]) if test is None else test
    plan = {
        "cold_start": {"max_steps": 300, "learning_rate": 1e-3, **(cold_start or {})},
        "grpo": {"max_steps": 100, "evaluate_every": 5, **(grpo or {})},
        "rejection": {"max_steps": 100, "learning_rate": 1e-4, **(rejection or {})},
        "distillation": {
            **{"max_steps": 300, "learning_rate": 1e-3, "divergence": ForwardKL()},
            **(distillation or {}),
        },
    }
    own: dict[str, Any] = {"max_tokens": max_tokens, "n_samples": n_samples, "threshold": threshold}
    made = Pipeline(Path(folder), as_reward(reward), random_state, **own)
    data = {"examples": list(examples), **given, "test": [list(part) for part in held]}
    starts = {"model": model or GPT(), "student": student}
    made.begin({**data, **plan, **own, **starts, "reward": reward, "random_state": random_state})

    def taught() -> DecoderModel:
        begun = _beginning(starts["model"], data["examples"], random_state)
        return made.tune("cold_start", plan["cold_start"], begun, data["examples"])

    def rewarded() -> DecoderModel:
        return made.reinforce(base, plan["grpo"], given["prompts"], given["answers"])

    def chosen() -> DecoderModel:
        return made.tune("rejection", plan["rejection"], policy, kept())

    def distilled() -> DecoderModel:
        begun = _small(student, better, random_state)
        return made.distil(begun, better, kept(), plan["distillation"])

    base = made.stage("cold_start", taught)
    policy = made.stage("grpo", rewarded)
    kept = partial(made.kept, policy, *given.values())
    better = made.stage("rejection", chosen)
    small = made.stage("distillation", distilled)
    models = dict(zip(STAGES, (base, policy, better, small), strict=True))
    measured = {name: made.measure(name, found, base, *held) for name, found in models.items()}
    report = made.folder / "report.html"
    histories = {name: found.history_ for name, found in models.items()}
    write_file(report, page(measured, histories).encode())
    return ReasoningRun(made.folder, models, measured, report)


@dataclass(frozen=True)
class Pipeline:
    """A folder with a folder for each stage."""

    folder: Path
    reward: Reward
    seed: int
    max_tokens: int
    n_samples: int
    threshold: float

    def begin(self, description: dict[str, Any]) -> None:
        """Note what the pipeline is of, or refuse what it is not of."""
        told = {name: _told(value) for name, value in description.items()}
        for stage in STAGES:
            (self.folder / stage).mkdir(parents=True, exist_ok=True)
        file = self.folder / "pipeline.json"
        if not file.exists():
            write_file(file, json.dumps(told, indent=1).encode())
            return
        known = json.loads(file.read_text("utf-8"))
        if other := [name for name in told if known.get(name) != told[name]]:
            raise ValueError(
                f"{self.folder} holds a pipeline with other {other[0]}: give what it had, or "
                "another folder"
            )

    def stage(self, name: str, make: Callable[[], DecoderModel]) -> DecoderModel:
        """The model of a stage: read if it is done, else made, as far as it is not made yet."""
        file = self.folder / name / "model.panlearn"
        if not file.exists():
            found = make()
            if not found.converged_:
                raise KeyboardInterrupt(f"the stage {name} was interrupted; call again to go on")
            save(found, file)
        return load(file)

    def run(self, name: str) -> dict[str, Any]:
        """How the run of a stage is kept."""
        folder = self.folder / name / "run"
        return {"checkpoint": folder, "resume": True, "random_state": self._seed(name)}

    def tune(self, name: str, plan: dict[str, Any], model: Any, rows: Any) -> DecoderModel:
        """Fine-tune on examples."""
        return supervised_finetune(model, rows, **plan, **self.run(name))

    def reinforce(self, model: Any, plan: dict[str, Any], X: Any, y: Any) -> DecoderModel:
        """Let rewards teach."""
        how = {"max_tokens": self.max_tokens, **plan, **self.run("grpo")}
        return GRPO(model, self.reward, **how).fit(X, y).model_

    def kept(self, policy: DecoderModel, prompts: list[Any], answers: list[Any]) -> list[Any]:
        """Completions of the policy that passed; drawn once, then read."""
        file = self.folder / "rejection" / "samples.jsonl"
        if not file.exists():
            rows = rejection_sampling(
                *(policy, prompts, self.reward),
                answers=answers,
                n_samples=self.n_samples,
                threshold=self.threshold,
                max_tokens=self.max_tokens,
                random_state=self._seed("samples"),
            )
            if not rows:
                raise ValueError(
                    f"no completion of {len(prompts)} prompts has a reward of {self.threshold}: "
                    "lower threshold, or let GRPO learn for longer"
                )
            write_file(file, "".join(json.dumps(row) + "\n" for row in rows).encode())
        return [json.loads(line) for line in file.read_text("utf-8").splitlines()]

    def distil(
        self, student: Any, teacher: Any, rows: list[Any], plan: dict[str, Any]
    ) -> DecoderModel:
        """Teach the smaller model."""
        prompts, completions = ([row[name] for row in rows] for name in ("prompt", "completion"))
        how = {**plan, **self.run("distillation")}
        return distill(student, teacher, prompts, completions, **how)

    def measure(
        self, name: str, model: DecoderModel, base: DecoderModel, prompts: Any, answers: Any
    ) -> dict[str, Any]:
        """What a model does on prompts; measured once, then read."""
        file = self.folder / name / "measured.json"
        if not file.exists():
            how = {"max_tokens": self.max_tokens, "random_state": self._seed("test")}
            best, drawn = (
                [row[0] for row in model.complete(prompts, temperature=t, **how)]
                for t in (0.0, 1.0)
            )
            texts = [text_of(completion) for completion in best]
            found: dict[str, Any] = {"reward": float(self.reward(prompts, texts, answers).mean())}
            if len(self.reward.terms) > 1:
                for _, term in self.reward.terms:
                    found[term.name] = float(term(prompts, texts, answers).mean())
            sampled = self.reward(prompts, [text_of(c) for c in drawn], answers)
            found["sampled_reward"] = float(sampled.mean())
            found["length"] = float(np.mean([len(c.tokens) for c in drawn]))
            found["kl"] = _divergence(model, base, prompts, [c.tokens for c in drawn])
            shown = zip(prompts[:8], texts[:8], strict=True)
            found["samples"] = [{"prompt": p, "completion": text} for p, text in shown]
            write_file(file, json.dumps(found).encode())
        return json.loads(file.read_text("utf-8"))

    def _seed(self, name: str) -> int:
        return zlib.crc32(f"{self.seed} {name}".encode())


def _beginning(model: Any, examples: list[Any], seed: int) -> DecoderModel:
    """The model to start from: as it is, or with random weights and tokens of the examples."""
    if not isinstance(model, GPT) or model.__sklearn_is_fitted__():
        return as_policy(model)
    made = copy.copy(model)
    made._tokens(["".join(map(str, _texts(row))) for row in examples])
    return with_weights(made, made._initial(np.random.default_rng(seed)))


def _small(student: Any, teacher: DecoderModel, seed: int) -> DecoderModel:
    """The model that the teacher teaches."""
    if student is None:
        config = teacher.config_
        half = {"n_layers": max(config.n_layers // 2, 1), "width": config.width // 2}
        student = GPT(replace(config, **half))
    if not isinstance(student, GPT) or student.__sklearn_is_fitted__():
        return as_policy(student, "student")
    made = copy.copy(teacher)
    made.config = made.config_ = student.config or GPT._default()
    made.warm_start = False
    del made.weights_
    return with_weights(made, made._initial(np.random.default_rng(seed)))


def _texts(row: Any) -> list[Any]:
    """What an example says."""
    values = list(row.values()) if isinstance(row, Mapping) else list(row)
    return [v for value in values for v in (value if isinstance(value, list) else [value])]


def _divergence(model: Any, base: Any, prompts: list[Any], tokens: list[np.ndarray]) -> float:
    """The mean of log p - log p_base over tokens that the model drew."""
    if model is base:
        return 0.0
    there = [i for i, ids in enumerate(tokens) if len(ids)]
    asked, said = [prompts[i] for i in there], [tokens[i] for i in there]
    one, other = (np.concatenate(m.log_probabilities(asked, said)) for m in (model, base))
    return float(np.mean(one - other))


def _told(value: Any) -> str:
    """What tells a value from others, in a line."""
    if isinstance(value, list):
        return f"{len(value)} rows {zlib.crc32(repr(value).encode())}"
    if isinstance(value, dict):
        return repr({name: _told(part) for name, part in sorted(value.items())})
    if isinstance(value, DecoderModel) and value.__sklearn_is_fitted__():
        marks = [zlib.crc32(np.ascontiguousarray(w).tobytes()) for w in value.weights_.values()]
        return f"{type(value).__name__} {zlib.crc32(repr(marks).encode())}"
    if callable(value) and hasattr(value, "__qualname__"):
        return str(value.__qualname__)
    return repr(value)
