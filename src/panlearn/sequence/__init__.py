"""Models of sequences: so far the Markov chain, its long run and its counts."""

from panlearn.sequence.markov_chain import MarkovChain

__all__ = ["MarkovChain"]
