"""PyDP: Google's C++ building blocks for Python. One record more or less; it draws from the operating system."""

import numpy as np
from attack import Attack, Given
from pydp.algorithms import laplacian
from pydp.algorithms.numerical_mechanisms import GaussianMechanism, LaplaceMechanism
from pydp.algorithms.partition_selection import (
    create_laplace_partition_strategy,
    create_truncated_geometric_partition_strategy,
)

PACKAGE = "python-dp"
PROMISE = (
    "“epsilon”, with l0_sensitivity and linf_sensitivity 1 (pydp/algorithms/laplacian); "
    "one user more or less, as in the library below (google/differential-privacy)"
)
WIDE = "noise for the sensitivity that is given (pydp/algorithms/numerical_mechanisms.py)"


def of(name, data, neighbour, draws=4_000, **settings):
    """Return the attack on an algorithm of `pydp.algorithms.laplacian`."""

    def mechanism(value, repeats, rng):
        return np.array([getattr(laplacian, name)(epsilon=1.0, **settings).quick_result(value) for _ in range(repeats)])

    words = ", ".join(f"{key}={value!r}" for key, value in settings.items())
    return Attack(
        f"{name}({words})",
        lambda relation: Given(mechanism, data, neighbour, f"{data} or {neighbour}"),
        PROMISE,
        relations=("add_remove",),
        stated=True,
        draws=draws,
    )


def added(name, make, delta=0.0):
    """Return the attack on a mechanism that adds noise to a number, at 0 and 1."""

    def mechanism(value, repeats, rng):
        drawn = make()
        return np.array([drawn.add_noise(value) for _ in range(repeats)])

    pair = Given(mechanism, 0.0, 1.0, "0.0 or 1.0")
    return Attack(name, lambda relation: pair, WIDE, relations=("inputs",), stated=True, delta=delta)


def kept(name, make, delta):
    """Return the attack on a choice of partitions: is one of n users kept, or of one user less?"""

    def mechanism(users, repeats, rng):
        strategy = make(1.0, delta, 1)
        return np.array([strategy.should_keep(users) for _ in range(repeats)], dtype=float)

    pair = Given(mechanism, 3, 2, "a partition of 3 users or of 2")
    return Attack(name, lambda relation: pair, PROMISE, relations=("add_remove",), stated=True, delta=delta)


UNIT = {"lower_bound": 0, "upper_bound": 1, "dtype": "float"}
ONES = [1.0, 1.0, 1.0]
ATTACKS = [
    of("Count", [1, 1, 1], [1, 1], dtype="int"),
    of("BoundedSum", ONES, ONES[1:], **UNIT),
    of("BoundedSum", ONES, ONES[1:], lower_bound=-2, upper_bound=1, dtype="float"),
    of("BoundedMean", [0.0, 0.0, 1.0], [0.0, 0.0], **UNIT),
    of("BoundedVariance", [0.0, 0.0, 1.0], [0.0, 0.0], **UNIT),
    of("BoundedStandardDeviation", [0.0, 0.0, 1.0], [0.0, 0.0], **UNIT),
    of("Max", [0.0, 0.0, 1.0], [0.0, 0.0], draws=2_000, **UNIT),
    of("Min", [1.0, 1.0, 0.0], [1.0, 1.0], draws=2_000, **UNIT),
    of("Median", [0.0, 1.0, 1.0], [0.0, 1.0], draws=2_000, **UNIT),
    of("Percentile", [0.0, 1.0, 1.0], [0.0, 1.0], draws=2_000, percentile=0.9, **UNIT),
    added("LaplaceMechanism(epsilon=1, sensitivity=1)", lambda: LaplaceMechanism(1.0, 1.0)),
    added("GaussianMechanism(epsilon=1, delta=0.05, sensitivity=1)", lambda: GaussianMechanism(1.0, 0.05, 1.0), 0.05),
    kept("create_laplace_partition_strategy(1, 0.05, 1)", create_laplace_partition_strategy, 0.05),
    kept(
        "create_truncated_geometric_partition_strategy(1, 0.05, 1)", create_truncated_geometric_partition_strategy, 0.05
    ),
]
