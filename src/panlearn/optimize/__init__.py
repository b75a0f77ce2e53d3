"""The optimisers of the course."""
