"""The mathematics of the course as tools: information, probability, Fourier analysis, approximation, convexity."""

__all__: list[str] = []
