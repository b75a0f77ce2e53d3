"""How good a model is and how sure one can be: rates, calibration, bias and variance, samples.

`rates` has every rate of a decision at a threshold and along all; `calibration` reliability tables,
calibration errors without the part of chance, and temperatures; `bias_variance` splits the loss of
any estimator; `comparison` tells whether two models differ; `sample_quality` how good generated
rows are, each number beside what real rows reach against real rows.
"""

from panlearn.evaluate import bias_variance, calibration, comparison, rates, sample_quality

__all__ = ["bias_variance", "calibration", "comparison", "rates", "sample_quality"]
