"""The record of a release, which every batched core returns."""

from dataclasses import dataclass

import numpy as np

from dperm.domain import Budget, Guarantee, Neighbours, one_of


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


def sensitivity_factor(neighbours: Neighbours) -> int:
    """Return by how many gradients the data sets of a pair differ: 1 for add/remove, 2 for replace-one."""
    one_of("neighbours", neighbours, Neighbours)
    return {"add_remove": 1, "replace": 2}[neighbours]
