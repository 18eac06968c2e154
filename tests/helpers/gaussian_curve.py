"""The privacy curve of the Gaussian mechanism by its textbook formula, with SciPy alone."""

import numpy as np
from scipy import optimize, stats


def divergence(epsilon, a):
    """Return the hockey-stick divergence of two unit Gaussians a distance a apart."""
    return stats.norm.cdf(a / 2 - epsilon / a) - np.exp(epsilon) * stats.norm.cdf(-a / 2 - epsilon / a)


def ratio(epsilon, delta):
    """Return the sensitivity over the scale at which the Gaussian mechanism spends (epsilon, delta)."""
    return optimize.brentq(lambda a: divergence(epsilon, a) - delta, 1e-2, 5.0)
