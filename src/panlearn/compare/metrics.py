"""The scores that a comparison shows, under the names that people read."""

from __future__ import annotations

from dataclasses import dataclass

from sklearn.pipeline import Pipeline


@dataclass(frozen=True)
class Metric:
    """A score as people read it, and scikit-learn's scorer for it."""

    name: str
    scorer: str
    sign: int = 1
    needs: tuple[str, ...] = ("predict",)


def metrics_for(task: str, n_classes: int = 2) -> tuple[Metric, ...]:
    """List the metrics of a task, the one that ranks first."""
    if task == "regression":
        return (
            Metric("R²", "r2"),
            Metric("RMSE", "neg_root_mean_squared_error", -1),
            Metric("MAE", "neg_mean_absolute_error", -1),
        )
    area = (
        Metric("ROC AUC", "roc_auc", needs=("decision_function", "predict_proba"))
        if n_classes == 2
        else Metric("ROC AUC", "roc_auc_ovr", needs=("predict_proba",))
    )
    return (
        Metric("balanced accuracy", "balanced_accuracy"),
        Metric("accuracy", "accuracy"),
        Metric("macro F1", "f1_macro"),
        area,
        Metric("log loss", "neg_log_loss", -1, needs=("predict_proba",)),
    )


def offered(pipeline: Pipeline, metrics: tuple[Metric, ...]) -> list[Metric]:
    """Pick the metrics for which the model has one of the methods that they need."""
    return [m for m in metrics if any(hasattr(pipeline, method) for method in m.needs)]
