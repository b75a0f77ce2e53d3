"""How good a model is and how sure one can be: rates, calibration, bias and variance, samples."""

__all__: list[str] = []
