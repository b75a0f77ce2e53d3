"""The report of a reasoning pipeline: one page of HTML that needs nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 62em; padding: 0 1em;
       color: #222; background: #fff; }
table { border-collapse: collapse; margin: 1em 0; width: 100%; }
th, td { border-bottom: 1px solid #ddd; padding: .3em .6em; text-align: left;
         vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; font-size: 13px; }
figure { display: inline-block; margin: 0 1em 1em 0; }
figcaption { font-size: 13px; color: #555; }
"""
_WIDTH, _HEIGHT, _EDGE = 300, 130, 8


def page(measured: Mapping[str, Mapping[str, Any]], histories: Mapping[str, Any]) -> str:
    """Write the page.

    Parameters
    ----------
    measured : dict of {stage: dict}
        Numbers of each stage, and under ``samples`` its completions of the same prompts.
    histories : dict of {stage: dict of {str: list}}
        What training noted.

    Returns
    -------
    str
    """
    curves = "".join(
        f"<h3>{escape(stage)}</h3>{_curves(history)}" for stage, history in histories.items()
    )
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Reasoning pipeline</title>
<style>{_STYLE}</style></head><body>
<h1>Reasoning pipeline</h1>
<h2>Stages</h2>{_numbers(measured)}
<h2>Curves</h2>{curves}
<h2>Samples</h2>{_samples(measured)}
</body></html>
"""


def _numbers(measured: Mapping[str, Mapping[str, Any]]) -> str:
    names = [name for name in next(iter(measured.values())) if name != "samples"]
    head = "".join(f"<th>{escape(name)}</th>" for name in ("stage", *names))
    rows = [
        f"<tr><td>{escape(stage)}</td>"
        + "".join(f'<td class="number">{_told(found[name])}</td>' for name in names)
        + "</tr>"
        for stage, found in measured.items()
    ]
    return f"<table><tr>{head}</tr>{''.join(rows)}</table>"


def _samples(measured: Mapping[str, Mapping[str, Any]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in ("prompt", *measured))
    rows = []
    for together in zip(*(found["samples"] for found in measured.values()), strict=True):
        cells = [together[0]["prompt"], *(sample["completion"] for sample in together)]
        texts = (f"<td><pre>{escape(str(cell))}</pre></td>" for cell in cells)
        rows.append(f"<tr>{''.join(texts)}</tr>")
    return f"<table><tr>{head}</tr>{''.join(rows)}</table>"


def _curves(history: Mapping[str, Sequence[float]]) -> str:
    left_out = ("learning_rate", "step", "change")
    return "".join(_curve(k, v) for k, v in history.items() if k not in left_out)


def _curve(name: str, values: Sequence[float]) -> str:
    """A line over the rows of the history, with its first and last value."""
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return ""
    low, high = min(finite), max(finite)
    across = (_WIDTH - 2 * _EDGE) / max(len(finite) - 1, 1)
    up = (_HEIGHT - 2 * _EDGE) / ((high - low) or 1.0)
    points = " ".join(
        f"{_EDGE + i * across:.1f},{_HEIGHT - _EDGE - (value - low) * up:.1f}"
        for i, value in enumerate(finite)
    )
    label = f"{escape(name)}: {_told(finite[0])} to {_told(finite[-1])}"
    return (
        f'<figure><svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{label}">'
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#f6f6f6"/>'
        f'<polyline points="{points}" fill="none" stroke="#1f6feb" stroke-width="2"/></svg>'
        f"<figcaption>{label}</figcaption></figure>"
    )


def _told(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, int | float) else escape(str(value))
