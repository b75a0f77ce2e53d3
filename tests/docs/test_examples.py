"""What can be said of the examples without running them."""

import ast
import re

import facts
import pytest

DRAWN = {"subplots", "subplot_mosaic", "figure"}


def blocks(source):
    """The parts of an example after which the gallery takes its figures."""
    return [ast.parse(block) for block in re.split(r"^# %%", source, flags=re.MULTILINE)]


def drawn_names(block):
    """The names that a block gives to new figures and their panels."""
    return {
        name.id
        for node in ast.walk(block)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and getattr(node.value.func, "attr", "") in DRAWN
        for target in node.targets
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    }


def late(source):
    """The figures and panels that a block draws on after they were taken."""
    taken, found = set(), set()
    for block in blocks(source):
        new = drawn_names(block)
        used = {
            node.value.id
            for node in ast.walk(block)
            if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.value, ast.Name)
        }
        names = [node for node in ast.walk(block) if isinstance(node, ast.Name)]
        bound = {name.id for name in names if isinstance(name.ctx, ast.Store)}
        found |= used & (taken - bound)
        taken |= new
    return found


@pytest.mark.parametrize("path", sorted(facts.scripts()), ids=lambda path: path.stem)
def test_a_figure_is_drawn_in_one_block_and_shown(path):
    source = facts.scripts()[path]
    assert late(source) == set()
    assert "plt.show()" in source  # else the page says what the last line gave back


def test_a_figure_that_is_drawn_on_too_late_is_found():
    early = "figure, (left, right) = plt.subplots(1, 2)\nleft.plot(x)\n"
    assert late(early + "# %%\n# More.\nright.plot(x)\n") == {"right"}
    assert late(early + "right.plot(x)\n# %%\n" + early) == set()
