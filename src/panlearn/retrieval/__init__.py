"""Retrieval: documents in, ranked passages out; by words, by vectors, and by both."""

__all__: list[str] = []
