"""The mathematics of the course as tools: plain functions and values, tested against closed forms.

`information` has entropies, divergences and distances of laws; `probability` tables, Gaussians as
values that compose, generating functions and tail bounds; `fourier` series and transforms as
changes of basis; `approximation` Bernstein polynomials, ReLU interpolants and the linear regions of
a network; `convexity` the constants of losses and the rates that they promise.
"""

from panlearn.theory import approximation, convexity, fourier, information, probability

__all__ = ["approximation", "convexity", "fourier", "information", "probability"]
