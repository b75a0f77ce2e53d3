"""Models of sequences: one sequence is one sample, and several are a list of any lengths.

`MarkovChain` is a chain of states that are seen; `CategoricalHMM`, `GaussianHMM` and `GMMHMM` have
states that are hidden behind the symbols or vectors that they emit. `KalmanFilter` has a state that
is a vector and moves linearly, `extended_kalman_filter` and `unscented_kalman_filter` one that
moves as any function says. `LinearStateSpace` is a linear system with inputs and outputs, in
continuous or in discrete time.
"""

from panlearn.sequence.categorical_hmm import CategoricalHMM
from panlearn.sequence.gaussian_hmm import GaussianHMM
from panlearn.sequence.gmm_hmm import GMMHMM
from panlearn.sequence.kalman_filter import KalmanFilter
from panlearn.sequence.linear_state_space import LinearStateSpace
from panlearn.sequence.markov_chain import MarkovChain
from panlearn.sequence.nonlinear_filters import extended_kalman_filter, unscented_kalman_filter

__all__ = [
    "GMMHMM",
    "CategoricalHMM",
    "GaussianHMM",
    "KalmanFilter",
    "LinearStateSpace",
    "MarkovChain",
    "extended_kalman_filter",
    "unscented_kalman_filter",
]
