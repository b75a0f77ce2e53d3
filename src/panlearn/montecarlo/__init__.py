"""Monte Carlo: draws from a law that is known by its density, and what they are worth.

Independent draws come from `inverse_transform`, `rejection` and `importance`; Markov chains from
`metropolis_hastings` with any of `proposals`, `gibbs`, `langevin` and `hamiltonian`. All chains
step at once: a log density maps positions of shape (chains, dim) to (chains,). A result is `Draws`,
of shape (chains, draws, dim), or `WeightedDraws`; `diagnostics` tell whether chains agree and how
many independent draws they are worth.

Reading order: `_chains` (one shape for every sampler), `_metropolis`, `_adaptation`, the rest.
"""

from panlearn.montecarlo import diagnostics, proposals
from panlearn.montecarlo._direct import importance, inverse_transform, rejection
from panlearn.montecarlo._gibbs import gibbs
from panlearn.montecarlo._hamiltonian import hamiltonian
from panlearn.montecarlo._langevin import langevin
from panlearn.montecarlo._metropolis import metropolis_hastings
from panlearn.montecarlo.draws import Draws, WeightedDraws

__all__ = [
    "Draws",
    "WeightedDraws",
    "diagnostics",
    "gibbs",
    "hamiltonian",
    "importance",
    "inverse_transform",
    "langevin",
    "metropolis_hastings",
    "proposals",
    "rejection",
]
