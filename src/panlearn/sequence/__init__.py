"""Models of sequences: one sequence is one sample, and several are a list of any lengths.

`MarkovChain` is a chain of states that are seen; `CategoricalHMM`, `GaussianHMM` and `GMMHMM` have
states that are hidden behind the symbols or vectors that they emit. `LinearStateSpace` is a linear
system with a state, in continuous or in discrete time.
"""

from panlearn.sequence.categorical_hmm import CategoricalHMM
from panlearn.sequence.gaussian_hmm import GaussianHMM
from panlearn.sequence.gmm_hmm import GMMHMM
from panlearn.sequence.linear_state_space import LinearStateSpace
from panlearn.sequence.markov_chain import MarkovChain

__all__ = ["GMMHMM", "CategoricalHMM", "GaussianHMM", "LinearStateSpace", "MarkovChain"]
