"""The README's chart: how many times faster than the fastest peer, every workload a dot."""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.harness import RESULTS

PICTURE = Path(__file__).parent.parent / "docs" / "_static" / "ratios.svg"
GREEN, ORANGE, INK = "#0f7b6c", "#d9822b", "#333333"


def ratios() -> dict[str, list[float]]:
    """The ratios of each family of workloads; those without a spread are not shown."""
    found = {}
    for path in sorted(RESULTS.glob("*.json")):
        rows = json.loads(path.read_text())["rows"]
        values = [r["ratio"] for r in rows if r.get("spread") and r["bar"] > 0.9]  # else a floor
        if values:
            found[path.stem.replace("_", " ")] = values
    return dict(sorted(found.items(), key=lambda item: np.median(item[1])))


def draw(found: dict[str, list[float]], path: Path = PICTURE) -> None:
    """A line a family, a dot a workload, on a logarithmic axis; left of 1 the peer is faster."""
    figure, axes = plt.subplots(figsize=(7.2, 0.27 * len(found) + 1.1), layout="constrained")
    for place, values in enumerate(found.values()):
        axes.plot([min(values), max(values)], [place, place], color="#cccccc", lw=2, zorder=1)
        colours = [GREEN if value >= 1 else ORANGE for value in values]
        axes.scatter(values, [place] * len(values), c=colours, s=26, alpha=0.85, lw=0, zorder=2)
    axes.axvline(1, color=INK, lw=1)
    axes.set_xscale("log")
    ticks = [t for t in (0.2, 0.5, 1, 2, 5, 10, 30, 100, 300, 1000) if t <= 2 * axes.get_xlim()[1]]
    axes.set_xticks(ticks, [f"{t:g}×" for t in ticks])
    axes.minorticks_off()
    axes.set_yticks(range(len(found)), list(found))
    axes.set_xlabel("times faster than the fastest specialist on the same data")
    axes.tick_params(length=0, colors=INK)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    draw(ratios())
