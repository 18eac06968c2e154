"""Attacks on `diffprivlib.mechanisms`, each told a sensitivity, at two inputs that far apart."""

import numpy as np
from attack import Attack, Given
from diffprivlib import mechanisms
from setting import state

INPUTS = (
    "“sensitivity: The sensitivity of the mechanism” of each class of diffprivlib/mechanisms: inputs that far apart"
)


def of_mechanism(
    name, pair=(0, 1), *, epsilon=1.0, delta=0.0, value=float, read=lambda out: out, draws=4_000, **settings
):
    """Return the attack on a mechanism at two inputs, or (where `value` gives a dict) two settings."""
    budget = {"epsilon": epsilon} if epsilon else {}
    budget |= {"delta": delta} if delta else {}

    def mechanism(data, repeats, rng):
        given = value(data)
        more, inputs = (given, ()) if isinstance(given, dict) else ({}, (given,))
        drawn = getattr(mechanisms, name)(random_state=state(rng), **budget, **settings, **more)
        return np.array([read(drawn.randomise(*inputs)) for _ in range(repeats)], dtype=float)

    words = ", ".join(f"{key}={of}" for key, of in (budget | settings).items())
    return Attack(
        f"mechanisms.{name}({words})",
        lambda relation: Given(mechanism, *pair, f"{np.array(pair[0]).tolist()} or {np.array(pair[1]).tolist()}"),
        INPUTS,
        relations=("inputs",),
        stated=True,
        epsilon=epsilon or 1e-9,
        delta=delta,
        draws=draws,
    )


def utilities(data):
    """Return settings that carry the data: utilities of three candidates."""
    return {"utility": list(map(float, data))}


ENDS = {"lower": 0, "upper": 2}
TREE = [["a", "b"], ["c", "d"]]
DISTANCES = [["a", "b", 1], ["a", "c", 2], ["b", "c", 2]]
MECHANISMS = [
    of_mechanism("Laplace", sensitivity=1),
    of_mechanism("Laplace", delta=0.05, sensitivity=1),
    of_mechanism("LaplaceTruncated", sensitivity=1, **ENDS),
    of_mechanism("LaplaceFolded", sensitivity=1, **ENDS),
    of_mechanism("LaplaceBoundedDomain", sensitivity=1, **ENDS),
    of_mechanism("LaplaceBoundedNoise", sensitivity=1, delta=0.05),
    of_mechanism("Geometric", value=int, sensitivity=1),
    of_mechanism("GeometricTruncated", value=int, sensitivity=1, **ENDS),
    of_mechanism("GeometricFolded", value=int, sensitivity=1, lower=0.5, upper=2.5, pair=(1, 2)),
    of_mechanism("Staircase", sensitivity=1),
    of_mechanism("Snapping", sensitivity=1, **ENDS),
    of_mechanism("Gaussian", sensitivity=1, delta=0.05),
    of_mechanism("GaussianAnalytic", sensitivity=1, delta=0.05),
    of_mechanism("GaussianDiscrete", value=int, sensitivity=1, delta=0.05),
    of_mechanism("Uniform", sensitivity=1, epsilon=0.0, delta=0.1),
    of_mechanism("Exponential", ((0, 1, 1), (1, 0, 0)), value=utilities, sensitivity=1),
    of_mechanism("PermuteAndFlip", ((0, 1, 1), (1, 0, 0)), value=utilities, sensitivity=1),
    of_mechanism("PermuteAndFlip", ((0, 3, 3), (1, 3, 3)), value=utilities, sensitivity=1, monotonic=True),
    of_mechanism("Binary", ("a", "b"), value=str, read=ord, value0="a", value1="b"),
    of_mechanism("ExponentialCategorical", ("a", "c"), value=str, read=ord, utility_list=DISTANCES),
    of_mechanism("ExponentialHierarchical", ("a", "c"), value=str, read=ord, hierarchy=TREE),
    of_mechanism("Bingham", (np.diag([1.0, 0]), np.diag([0, 1.0])), value=np.array, read=np.abs, draws=1_500),
]
