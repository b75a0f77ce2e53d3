"""Models of sequences: one sequence is one sample, and several are a list of any lengths.

`MarkovChain` is a chain of states that are seen, `CategoricalHMM` and `GaussianHMM` one whose
states are hidden behind the symbols or vectors that they emit. `KalmanFilter` has a state that is
a vector and moves linearly, `extended_kalman_filter` and `unscented_kalman_filter` one that moves
as any function says.
"""

from panlearn.sequence.categorical_hmm import CategoricalHMM
from panlearn.sequence.gaussian_hmm import GaussianHMM
from panlearn.sequence.kalman_filter import KalmanFilter
from panlearn.sequence.markov_chain import MarkovChain
from panlearn.sequence.nonlinear_filters import extended_kalman_filter, unscented_kalman_filter

__all__ = [
    "CategoricalHMM",
    "GaussianHMM",
    "KalmanFilter",
    "MarkovChain",
    "extended_kalman_filter",
    "unscented_kalman_filter",
]
