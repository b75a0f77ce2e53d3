"""The pipeline of reasoning: stages, kills, the report; and the task that it learns."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from panlearn.alignment import CarriedAddition, reasoning_pipeline
from panlearn.neural import _run
from panlearn.transformer import GPT, GPTConfig

TASK = CarriedAddition(1)
QUESTIONS = TASK.prompts(24, random_state=0)
STAGES = ["cold_start", "grpo", "rejection", "distillation"]


def pipeline(folder, **changes):
    how = dict(batch_size=8, checkpoint_every=1, max_steps=4, learning_rate=1e-2)
    group = dict(batch_size=3, num_generations=3, max_steps=3, checkpoint_every=1, beta=0.1)
    settings = dict(
        model=GPT(GPTConfig(1, 16, 2, 48)),
        student=GPT(GPTConfig(1, 8, 2, 48)),
        max_tokens=6,
        n_samples=2,
        threshold=0.0,
        test=(QUESTIONS[:4], [TASK.answer(q) for q in QUESTIONS[:4]]),
        cold_start=how,
        grpo=group,
        rejection=how,
        distillation=how,
        random_state=1,
    )
    examples = [(q, TASK.answer(q)) for q in QUESTIONS]
    answers = [TASK.answer(q) for q in QUESTIONS]
    return reasoning_pipeline(
        folder, examples, QUESTIONS, answers, TASK.reward, **{**settings, **changes}
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return pipeline(tmp_path_factory.mktemp("whole"))


def test_each_stage_is_a_folder_with_a_model_and_what_was_measured(whole):
    assert list(whole.models) == STAGES == list(whole.measured)
    for stage in STAGES:
        assert (whole.folder / stage / "model.panlearn").is_file()
        assert (whole.folder / stage / "measured.json").is_file()
        assert {"reward", "sampled_reward", "length", "kl"} < set(whole.measured[stage])
    assert whole.measured["cold_start"]["kl"] == 0.0
    assert whole.measured["rejection"]["kl"] != 0.0
    assert whole.models["distillation"].config_.width == 8
    assert whole.models["distillation"].tokenizer_.vocab_ == whole.models["grpo"].tokenizer_.vocab_


class Killed(BaseException):
    pass


def test_a_pipeline_that_is_killed_anywhere_ends_with_the_same_bits(whole, tmp_path, monkeypatch):
    take, taken = _run.Run._take, []

    def dying(self, batch):
        taken.append(0)
        if len(taken) in (3, 6, 9, 11, 14, 16):  # in the midst of every stage
            raise Killed
        take(self, batch)

    monkeypatch.setattr(_run.Run, "_take", dying)
    kills = 0
    while True:
        try:
            again = pipeline(tmp_path)
            break
        except Killed:
            kills += 1
    assert kills == 6
    assert again.measured == whole.measured
    for stage in STAGES:
        for name, value in whole.models[stage].weights_.items():
            np.testing.assert_array_equal(again.models[stage].weights_[name], value)
        assert again.models[stage].history_ == whole.models[stage].history_
    assert again.report.read_text() == whole.report.read_text()


def test_a_pipeline_that_is_done_learns_nothing_more(whole, monkeypatch):
    monkeypatch.setattr(_run.Run, "_take", None)
    again = pipeline(whole.folder)
    assert again.measured == whole.measured


def test_other_settings_and_data_are_refused_by_name(whole):
    with pytest.raises(ValueError, match="a pipeline with other max_tokens"):
        pipeline(whole.folder, max_tokens=7)
    with pytest.raises(ValueError, match="a pipeline with other grpo"):
        pipeline(whole.folder, grpo=dict(max_steps=5))
    with pytest.raises(ValueError, match="random_state=None must be an int"):
        pipeline(whole.folder, random_state=None)


def test_a_threshold_that_nothing_reaches_is_told(whole, tmp_path):
    with pytest.raises(ValueError, match=r"no completion of 24 prompts has a reward of 99\.0"):
        pipeline(tmp_path, threshold=99.0)


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.tags = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "rect", "polyline"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in ("meta", "rect", "polyline"):
            assert self.open.pop() == tag


def test_the_report_stands_alone_and_escapes_what_models_say(whole):
    from panlearn.alignment._reasoning_report import page

    text = whole.report.read_text()
    parser = Page()
    parser.feed(text)
    assert not parser.open
    assert not re.search(r"(src|href)=|https?:|<script", text)
    captions = re.findall(r"<figcaption>(\w+):", text)
    assert {"loss", "reward", "length", "kl"} <= set(captions)
    evil = "<script>alert(1)</script>"
    sample = [{"prompt": evil, "completion": evil + "&"}]
    hostile = page({evil: {"reward": 1.0, "samples": sample}}, {evil: {evil: [1.0, 2.0]}})
    assert "<script" not in hostile
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&amp;" in hostile


def test_the_task_is_right():
    task = CarriedAddition(2)
    for prompt in task.prompts(50, random_state=0):
        a, b = map(int, prompt.rstrip("=").split("+"))
        assert task.answer(prompt) == str(a + b)
        solution = task.solution(prompt)
        assert task.reward([prompt], [solution], [str(a + b)]) == pytest.approx(1.5)
        assert len(solution) <= task.longest
        for step in re.search("<think>(.*)</think>", solution)[1].split():
            left, right = step.split("=")
            assert sum(map(int, left.split("+"))) == int(right)
    assert task.solution("05+07=") == "<think>5+7=12 0+0+1=1</think><answer>12</answer>"
    assert len(set(CarriedAddition(1).prompts(100, 0))) == 100
    with pytest.raises(ValueError, match="n=101: there are 100 sums"):
        CarriedAddition(1).prompts(101)
    with pytest.raises(ValueError, match="n_digits=0"):
        CarriedAddition(0)
