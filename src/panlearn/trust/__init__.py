"""Whether a model can be relied on: attacks, fairness, other domains."""

__all__: list[str] = []
