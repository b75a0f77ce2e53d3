"""The classes of logistic regression, and the codes and weights that their rows get."""

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

    @classmethod
    def among(cls, rows: Rows, class_weight: Any, classes: Any) -> Labels:
        """Count the labels of a part of the rows, which must be among the classes if given."""
        if classes is None:
            return cls.of(rows, class_weight)
        known = np.unique(np.asarray(classes))
        require_two_classes(known)
        found = map_reduce(_label_counts, rows)
        if other := [c for c in found.labels.tolist() if c not in known]:
            raise ValueError(f"y holds labels {other}, which are not among classes {known}")
        count = np.zeros(len(known))
        count[np.searchsorted(known, found.labels)] = found.count
        if class_weight is None:
            return cls(known, count, None)
        weight = class_weights(class_weight, known, count)
        return cls(known, count * weight, weight)

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
