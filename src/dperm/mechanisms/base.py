"""What the batched cores share: the record of a release, and the bounds they may rely on."""

from dataclasses import dataclass

import numpy as np

from dperm.domain import Budget, Domain, Guarantee
from dperm.losses import Loss


@dataclass(frozen=True)
class Release:
    """What a batched core returns.

    Parameters
    ----------
    theta : ndarray, shape (repeats, p)
        Independent releases. Each of them spends the budget.
    certificate : ndarray, shape (repeats,)
        Upper bound on the distance of each from the point that the proof speaks of, in units of theta.
    converged : ndarray of bool, shape (repeats,)
        Whether the certificate is within the public target; where it is not, nothing is promised of that row.
    guarantee : {"proved", "proved_exact", "none"}
    event : tuple
        Name of the `dp_accounting` event, or of ours in `dperm.accounting.events`, and its keyword arguments.
    """

    theta: np.ndarray
    certificate: np.ndarray
    converged: np.ndarray
    guarantee: Guarantee
    event: tuple[str, dict[str, float]]


def budget_event(budget: Budget) -> tuple[str, dict[str, float]]:
    """Return the event of a release about which only its (epsilon, delta) is known."""
    return "EpsilonDeltaDpEvent", {"epsilon": budget.epsilon, "delta": budget.delta}


def bounds_everywhere(loss: Loss, domain: Domain) -> tuple[float, float]:
    """Return (zeta, lambda) of a mechanism that minimises over all of R^p.

    Raises
    ------
    DomainViolation
        If the loss is bounded on part of R^p only: its minimiser may lie outside, where the bounds say nothing.
    """
    everywhere = Domain(x_norm=domain.x_norm, y_bound=domain.y_bound)
    return loss.gradient_bound(everywhere), loss.curvature_bound(everywhere)
