"""Formulas within a sentence as a terminal shows them: letters and signs, no LaTeX."""

from __future__ import annotations

import re

_LETTERS = dict(
    zip(
        "alpha beta gamma delta epsilon zeta eta theta kappa lambda mu nu xi pi rho sigma tau phi "
        "chi psi omega Gamma Delta Theta Lambda Sigma Phi Psi Omega ell nabla partial".split(),
        "αβγδεζηθκλμνξπρστφχψωΓΔΘΛΣΦΨΩℓ∇∂",
        strict=True,
    )
)
_SIGNS = {
    **{"sum": "Σ", "prod": "Π", "int": "∫", "infty": "∞", "cdot": "·", "times": "×", "star": "⋆"},
    **{"le": "≤", "ge": "≥", "ne": "≠", "in": "∈", "to": "→", "succeq": "⪰", "approx": "≈"},
    **{"preceq": "⪯", "propto": "∝", "mapsto": "↦", "leftarrow": "←", "varepsilon": "ε"},
    **{"mid": "|", "lVert": "‖", "rVert": "‖", "top": "ᵀ", "ldots": "…", "dots": "…", "sim": "~"},
}
_ACCENTS = {"hat": "\u0302", "bar": "\u0304", "tilde": "\u0303", "dot": "\u0307"}
_POWERS = {"^0": "⁰", "^1": "¹", "^2": "²", "^3": "³", "^ᵀ": "ᵀ", "^*": "*"}
_BRACED = r"\{((?:[^{}]|\{[^{}]*\})*)\}"


def spoken(formula: str) -> str:
    r"""Write a formula of LaTeX with letters and signs.

    Parameters
    ----------
    formula : str
        Such as ``\sum_i x_i^2 \le r``.

    Returns
    -------
    str
        Such as ``Σ_i x_i² ≤ r``.
    """
    text = formula.replace("\\{", "\0").replace("\\}", "\1").replace("\\#", "#")
    text = re.sub(r"\\(?:mathrm|operatorname|mathbf|mathbb|mathcal|text)\s*" + _BRACED, r"\1", text)
    for name, mark in _ACCENTS.items():
        text = re.sub(rf"\\{name}(?:\s*\{{(\w)\}}|\s+(\w))", rf"\1\2{mark}", text)
    text = text.replace(r"\|", "‖")
    text = re.sub(r"\\t?frac\s*(\d)\s*(\w)", r"\1/\2 ", text)
    text = re.sub(rf"\\t?frac\s*(?:{_BRACED}|(\w))\s*(?:{_BRACED}|(\w))", _fraction, text)
    text = re.sub(rf"\\binom\s*(?:{_BRACED}|(\w))\s*(?:{_BRACED}|(\w))", _choices, text)
    text = re.sub(rf"\\sqrt\s*(?:{_BRACED}|(\w))", _root, text)
    text = re.sub(r"\\([A-Za-z]+)\s*", _named, text)
    text = re.sub(r"\\[,;:! ]", " ", text)
    for plain, raised in _POWERS.items():
        text = re.sub(re.escape(plain) + r"(?!\w)", raised, text)
    text = re.sub(r"([_^])\{(\w)\}", r"\1\2", text)
    text = re.sub(rf"([_^]){_BRACED}", r"\1(\2)", text)
    text = text.replace("{", "").replace("}", "").replace("\\", "")
    return re.sub(r" +", " ", text.replace("\0", "{").replace("\1", "}")).strip()


def _named(found: re.Match[str]) -> str:
    """A letter or a sign for a command; a function keeps its name and a blank behind it."""
    name, blank = found[1], found[0][len(found[1]) + 1 :]
    if name in _LETTERS or name in _SIGNS:
        return (_LETTERS.get(name) or _SIGNS[name]) + blank
    return name + blank


def _fraction(found: re.Match[str]) -> str:
    parts = [found[1] or found[2], found[3] or found[4]]
    above, below = (part if re.fullmatch(r"\w+", part) else f"({part})" for part in parts)
    return f"{above}/{below}"


def _choices(found: re.Match[str]) -> str:
    return f"C({found[1] or found[2]}, {found[3] or found[4]})"


def _root(found: re.Match[str]) -> str:
    return f"√{found[2]}" if found[2] else f"√({found[1]})"
