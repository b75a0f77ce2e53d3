import json
import time

import pytest

from panlearn.text import ChatTemplate
from panlearn.text._jinja_names import TemplateError

SAID = [
    {"role": "system", "content": " Be brief. "},
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Hello."},
]


def test_styles():
    assert ChatTemplate("chatml").render(SAID[1:], add_generation_prompt=True) == (
        "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHello.<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    llama = ChatTemplate("llama", {"bos_token": "<|begin_of_text|>"})
    assert llama.render(SAID[:2]) == (
        "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>"
        "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
    )
    assert llama.render([], True).endswith("<|start_header_id|>assistant<|end_header_id|>\n\n")
    with pytest.raises(TemplateError, match="did you mean 'chatml'"):
        ChatTemplate("chatlm").render(SAID)


@pytest.mark.parametrize(
    "text",
    [
        "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}"
        "{{ ns.n }}",
        "{% set x = 1 %}{% for m in messages %}{% set x = 2 %}{% endfor %}{{ x }}",
        "{% for m in messages if m.role != 'user' %}{{ loop.index }}{{ loop.last }}{% endfor %}",
        "{% for m in [] %}{% else %}none{% endfor %}{{ nothing }}{{ 'a' if nothing else 'b' }}",
        "{% for m in messages[::-1] %}{{ m['content'] | trim | upper }}{% endfor %}",
        "{{ messages | selectattr('role', 'equalto', 'user') | map(attribute='content') | list "
        "| tojson(indent=2) }}",
        "{{ messages[0] | tojson }}{{ messages[9] is defined }}{{ messages[0].no is undefined }}",
        "{% macro say(m, end='.') %}<{{ m.content.strip() }}{{ end }}>{% endmacro %}"
        "{{ say(messages[0]) }}{{ say(messages[1], end='!') }}",
        "{% for m in messages %}{% if loop.first %}{% continue %}{% endif %}{{ m.role }}"
        "{% break %}{% endfor %}",
        "{% for k, v in messages[1].items() %}{{ k ~ '=' ~ v }}{% endfor %}{{ 7 % 3 - 5 }}",
        "{{ 'a-b-c'.split('-')[-1] + ','.join(['x', 'y']) + 'aaa'.replace('a', 'bc') }}",
        "{{ messages | length > 2 and 'user' in messages[1].values() }}{{ none is none }}{{ 1.5 }}",
        "{% set held %}  <{{ messages[0].role }}>  {% endset %}{{ held | trim }}",
        "{{ loop is defined }}{{ nothing | default('d') }}{{ '' | default('e', true) }}",
        "{%- if messages %}\n   yes\n{%- endif %}\n  {# a comment #}\n{{- ' end' }}",
    ],
)
def test_means_what_it_means_in_jinja(text):
    sandbox = pytest.importorskip("jinja2.sandbox").ImmutableSandboxedEnvironment
    peer = sandbox(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
    peer.filters["tojson"] = lambda value, indent=None: json.dumps(value, indent=indent)
    assert ChatTemplate(text).render(SAID) == peer.from_string(text).render(messages=SAID)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{% include '/etc/passwd' %}", "Include"),
        ("{% import 'os' as os %}{{ os }}", "Import"),
        ("{{ ''.__class__.__mro__ }}", "is not given"),
        ("{{ messages.__class__ }}{{ messages.__class__() }}", "__class__"),
        ("{{ ''.format(messages) }}", "method 'format'"),
        ("{{ 'a'.center(9999999999) }}", "method 'center'"),
        ("{{ cycler(1, 2) }}", "function 'cycler'"),
        ("{{ messages | attr('append') }}", "filter 'attr'"),
        ("{{ messages is callable }}", "test 'callable'"),
        ("{{ 'a' * 9999999999 }}", "Mul"),
        ("{{ 9 ** 99999999 }}", "Pow"),
        ("{{ '%0999999999d' % 1 }}", "no number"),
        ("{{ messages[0] | tojson(indent=999999999) }}", "indents"),
        ("{{ messages }}", "tojson"),
        ("{{ no.where }}", "'no' is not given"),
        ("{{ raise_exception('roles must alternate') }}", "roles must alternate"),
        ("{% if %}", "cannot be read"),
        ("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", "cannot be read"),
        ("{% set x = [[1]] %}", "list into another"),
        ("{{ strftime_now('%Y') }}", "strftime_now"),
    ],
)
def test_what_is_beyond_the_subset_is_refused_by_name(text, says):
    with pytest.raises(TemplateError, match=says):
        ChatTemplate(text).render(SAID)


@pytest.mark.parametrize(
    "text",
    [
        "{% set ns = namespace(x='ab') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}"
        "{% endfor %}",
        "{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}"
        "{% endfor %}",
        "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
        "{{ range(99999999999) | length }}",
        "{% set ns = namespace(x='aa') %}{% for i in range(99) %}"
        "{% set ns.x = ns.x.replace('a', ns.x) %}{% endfor %}",
        "{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}",
    ],
)
def test_a_template_cannot_outgrow_its_budget(text):
    begun = time.process_time()
    with pytest.raises(TemplateError, match=r"too much text|too deeply"):
        ChatTemplate(text).render(SAID)
    assert time.process_time() - begun < 20  # 99,999 squared steps would take hours


def test_a_folder(tmp_path):
    with pytest.raises(TemplateError, match="holds no chat template"):
        ChatTemplate.from_pretrained(tmp_path)
    config = {"bos_token": {"content": "<s>"}, "eos_token": "</s>", "pad_token": None}
    several = [
        {"name": "tool_use", "template": "no"},
        {"name": "default", "template": "{{ 'yes' }}"},
    ]
    file = tmp_path / "tokenizer_config.json"
    file.write_text(json.dumps(config | {"chat_template": several}), "utf-8")
    assert ChatTemplate.from_pretrained(tmp_path).render([]) == "yes"
    alone = "{{ bos_token + messages[0].content + eos_token }}"
    (tmp_path / "chat_template.jinja").write_text(alone, "utf-8")
    assert ChatTemplate.from_pretrained(tmp_path).render(SAID[1:]) == "<s>Hi</s>"
    file.write_text("[" * 100_000, "utf-8")
    with pytest.raises(TemplateError, match="no JSON"):
        ChatTemplate.from_pretrained(tmp_path)


def test_messages_are_dicts_with_a_role():
    for wrong in (["Hi"], [{"content": "Hi"}], [{"role": 1, "content": "Hi"}]):
        with pytest.raises(TemplateError, match="dict with a role"):
            ChatTemplate().render(wrong)
