"""Warnings that point at the line of the user, however deep they arise."""

from __future__ import annotations

import sys
import warnings

# What stands between the user and a method of ours: callbacks, pipelines, searches.
_OURS = ("panlearn.", "sklearn.", "joblib.")


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the first line on the stack that is not in panlearn, scikit-learn or joblib.

    Parameters
    ----------
    message : str
        What happened, and one remedy.
    category : type of warning, default=UserWarning
        Its kind.
    """
    frame, level = sys._getframe(0), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_OURS):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
