"""Chat templates against the package transformers, on the templates that the package trl ships."""

from importlib.resources import files

import pytest

from panlearn.text import ChatTemplate
from panlearn.text._jinja_names import TemplateError

peer = pytest.importorskip("transformers.utils.chat_template_utils")
SAID = [
    {"role": "system", "content": " Be brief. "},
    {"role": "user", "content": "Hi <b> ü"},
    {"role": "assistant", "content": "<think>hm</think>\n\nHello."},
    {"role": "user", "content": "Bye"},
]
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}
FOLDER = files(pytest.importorskip("trl")).joinpath("chat_templates")
NAMES = ("cohere2", "deepseekv3", "gemma", "gemma3_training", "glm4moe", "gptoss", "llama3_2")


@pytest.mark.parametrize("name", [*NAMES, "phi3", "qwen2_5", "qwen3"])
def test_a_conversation_is_written_alike(name):
    text = FOLDER.joinpath(f"{name}.jinja").read_text("utf-8")
    compiled = peer._compile_jinja_template(text)
    for said in (SAID, SAID[1:]):
        for asked in (False, True):
            given = {"tools": None, "documents": None, "strftime_now": lambda form: f"now {form}"}
            try:
                expected = compiled.render(
                    messages=said, add_generation_prompt=asked, **TOKENS, **given
                )
            except Exception:
                with pytest.raises(TemplateError):
                    ChatTemplate(text, TOKENS).render(said, asked, **given)
                continue
            assert ChatTemplate(text, TOKENS).render(said, asked, **given) == expected
