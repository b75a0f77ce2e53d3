"""The labels of a logistic regression: the classes, their codes, and what a row of each weighs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from panlearn.core.labels import class_weights, require_two_classes
from panlearn.core.map_reduce import map_reduce
from panlearn.core.sources import Rows
from panlearn.core.statistics import LabelCounts


@dataclass(frozen=True)
class Labels:
    """The classes, their weighted counts, and the weight that each row of a class gets."""

    classes: np.ndarray
    count: np.ndarray
    class_weight: np.ndarray | None

    @classmethod
    def of(cls, rows: Rows, class_weight: Any) -> Labels:
        """Find the classes of the rows; one whose rows weigh nothing is absent."""
        found = map_reduce(_label_counts, rows)
        classes, count = found.labels[found.count > 0], found.count[found.count > 0]
        require_two_classes(classes)
        if class_weight is None:
            return cls(classes, count, None)
        weight = class_weights(class_weight, classes, count)
        return cls(classes, count * weight, weight)

    @property
    def n_scores(self) -> int:
        """One score for two classes, one a class for more."""
        return 1 if len(self.classes) == 2 else len(self.classes)

    def encode(self, y: Any, weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
        """Codes of labels, and the weights of their rows."""
        codes = np.minimum(np.searchsorted(self.classes, y), len(self.classes) - 1)
        if self.class_weight is not None:
            share = self.class_weight[codes]
            weight = share if weight is None else (share * weight).astype(weight.dtype)
        return codes, weight


def _label_counts(X: Any, y: Any, weight: Any) -> LabelCounts:
    return LabelCounts.of(y, weight)
