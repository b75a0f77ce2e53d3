"""The optimisers of the course."""

__all__: list[str] = []
