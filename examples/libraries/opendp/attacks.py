"""OpenDP: measurements whose own `map` states what they spend at `d_in` under the metric that is given.

`symmetric_distance` at 1 is a record more or less; noisy max, top k and randomized response are at two inputs as far
apart as their metric's `d_in` says. OpenDP draws from the operating system, so other runs give other bits.
"""

import numpy as np
import opendp.prelude as dp
from attack import Attack, Given

PACKAGE = "opendp"
SYMMETRIC = (
    "“The smallest number of additions or removals to make two datasets equivalent” "
    "(opendp::metrics::SymmetricDistance); the claim is `measurement.map(1)`"
)
APART = "the claim is `measurement.map(d_in)` under the measurement's input metric"
dp.enable_features("contrib", "honest-but-curious", "idealized-numerics")

FLOATS = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
CLAMPED = FLOATS >> dp.t.then_clamp((0.0, 1.0))
INTS = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
VECTOR = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.linf_distance(T=float)
QUARTERS = [0.0, 0.25, 0.5, 0.75, 1.0]


def of(claim, measurement, data, neighbour, *, d_in=1, apart=False, draws=3_000, read=None):
    """Return the attack on a measurement, at the epsilon (and delta) that its map states."""
    stated = measurement.map(d_in)
    epsilon, delta = stated if isinstance(stated, tuple) else (stated, 0.0)

    def mechanism(value, repeats, rng):
        drawn = [measurement(value) for _ in range(repeats)]
        return np.array([read(one) for one in drawn] if read else drawn, dtype=float)

    return Attack(
        claim,
        lambda relation: Given(mechanism, data, neighbour, f"{data} or {neighbour}"),
        APART if apart else SYMMETRIC,
        relations=("inputs" if apart else "add_remove",),
        stated=True,
        epsilon=float(epsilon),
        delta=float(delta),
        draws=draws,
    )


GAUSSIAN = CLAMPED >> dp.t.then_sum() >> dp.m.then_gaussian(1.0)
THREE = [1.0, 1.0, 1.0]
ATTACKS = [
    of("then_count >> then_laplace(1)", FLOATS >> dp.t.then_count() >> dp.m.then_laplace(1.0), THREE, THREE[1:]),
    of(
        "then_sum of clamped >> then_laplace(1)", CLAMPED >> dp.t.then_sum() >> dp.m.then_laplace(1.0), THREE, THREE[1:]
    ),
    of(
        "then_resize(4) >> then_mean >> then_laplace(1/4)",
        CLAMPED >> dp.t.then_resize(4, constant=0.0) >> dp.t.then_mean() >> dp.m.then_laplace(0.25),
        [0.0, 0.0, 0.0, 1.0],
        [0.0, 0.0, 0.0],
    ),
    of(
        "then_resize(4) >> then_variance >> then_laplace(1/4)",
        CLAMPED >> dp.t.then_resize(4, constant=0.0) >> dp.t.then_variance() >> dp.m.then_laplace(0.25),
        [0.0, 0.0, 0.0, 1.0],
        [0.0, 0.0, 0.0],
    ),
    of(
        "then_clamp >> then_sum >> then_geometric(1, bounds=(0, 3))",
        INTS >> dp.t.then_clamp((0, 1)) >> dp.t.then_sum() >> dp.m.then_geometric(1.0, bounds=(0, 3)),
        [1, 1, 1],
        [1, 1],
    ),
    of(
        "then_count_by_categories >> then_laplace(1)",
        INTS >> dp.t.then_count_by_categories([0, 1]) >> dp.m.then_laplace(1.0),
        [0, 1, 1],
        [0, 1],
    ),
    of(
        "then_count_by_categories >> then_b_ary_tree >> then_laplace(2)",
        INTS
        >> dp.t.then_count_by_categories([0, 1, 2], null_category=False)
        >> dp.t.then_b_ary_tree(leaf_count=3, branching_factor=2)
        >> dp.m.then_laplace(2.0),
        [0, 1, 2, 2],
        [0, 1, 2],
    ),
    of(
        "then_quantile_score_candidates >> then_noisy_max(scale=1)",
        FLOATS
        >> dp.t.then_quantile_score_candidates([0.25, 0.5, 0.75], 0.5)
        >> dp.m.then_noisy_max(dp.max_divergence(), 1.0, negate=True),
        [0.3, 0.3, 0.6, 0.6],
        [0.3, 0.3, 0.6, 0.6, 0.6],
    ),
    of(
        "then_private_quantile(alpha=0.5, scale=1)",
        FLOATS >> dp.m.then_private_quantile(dp.max_divergence(), candidates=QUARTERS, alpha=0.5, scale=1.0),
        [0.3, 0.3, 0.6, 0.6],
        [0.3, 0.3, 0.6, 0.6, 0.6],
    ),
    of(
        "make_noisy_max(scale=2)",
        dp.m.make_noisy_max(*VECTOR, dp.max_divergence(), scale=2.0),
        [0.0, 1.0, 1.0],
        [1.0, 0.0, 0.0],
        d_in=1.0,
        apart=True,
    ),
    of(
        "make_noisy_top_k(k=2, scale=4)",
        dp.m.make_noisy_top_k(*VECTOR, dp.max_divergence(), k=2, scale=4.0),
        [0.0, 0.0, 1.0, 1.0],
        [1.0, 1.0, 0.0, 0.0],
        d_in=1.0,
        apart=True,
    ),
    of(
        "make_randomized_response_bool(0.75)",
        dp.m.make_randomized_response_bool(0.75),
        True,
        False,
        apart=True,
    ),
    of(
        "make_randomized_response(three words, 0.6)",
        dp.m.make_randomized_response(["a", "b", "c"], 0.6),
        "a",
        "b",
        apart=True,
        read=ord,
    ),
    of(
        "make_canonical_noise(d_in=1, d_out=(1, 0.05))",
        dp.m.make_canonical_noise(
            dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), d_in=1.0, d_out=(1.0, 0.05)
        ),
        0.0,
        1.0,
        d_in=1.0,
        apart=True,
    ),
    of(
        "then_sum of clamped >> then_gaussian(1), by zCDP at delta = 0.05",
        dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(GAUSSIAN), 0.05),
        THREE,
        THREE[1:],
    ),
]
