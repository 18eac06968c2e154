"""PipelineDP on its local backend: one partition, known beforehand, and a user more or less.

Bounds on contributions are those of `AggregateParams`; a user of too many rows is sampled down to them. Noise is
that of the C++ library below, from the operating system.
"""

import random

import numpy as np
import pipeline_dp
from attack import Attack, Given
from pipeline_dp import Metrics

PACKAGE = "pipeline-dp"
PROMISE = (
    "“total_epsilon” of a BudgetAccountant; all rows of a privacy id are protected (pipelinedp.io, key definitions)"
)
EXTRACT = pipeline_dp.DataExtractors(
    privacy_id_extractor=lambda row: row[0],
    partition_extractor=lambda row: row[1],
    value_extractor=lambda row: row[2],
)


def release(rows, metric, delta, public, **bounds):
    """Return what one aggregation answers for the partition "a"; None if it is not kept."""
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1.0, total_delta=delta)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    bounds = {"max_partitions_contributed": 1, "max_contributions_per_partition": 1, **bounds}
    params = pipeline_dp.AggregateParams(metrics=[metric], **bounds)
    answer = engine.aggregate(rows, params, EXTRACT, public_partitions=["a"] if public else None)
    accountant.compute_budgets()
    found = dict(answer)
    return found["a"][0] if "a" in found else None


def of(claim, metric, users, more, *, delta=0.0, public=True, draws=1_500, **bounds):
    """Return the attack on a metric: these users' rows, or those of one more."""

    def mechanism(rows, repeats, rng):
        # What it samples with, besides the noise.
        random.seed(int(rng.integers(2**32)))
        drawn = [release(rows, metric, delta, public, **bounds) for _ in range(repeats)]
        return np.array([-100.0 if one is None else one for one in drawn], dtype=float)

    data = [(user, "a", value) for user, value in enumerate(users)]
    neighbour = data + [("more", "a", value) for value in more]
    words = f"users with {users}, and one with {more} or none"
    return Attack(
        claim,
        lambda relation: Given(mechanism, neighbour, data, words),
        PROMISE,
        relations=("user",),
        stated=True,
        delta=delta,
        draws=draws,
    )


UNIT = {"min_value": 0.0, "max_value": 1.0}
GAUSS = {"noise_kind": pipeline_dp.NoiseKind.GAUSSIAN}
ATTACKS = [
    of("COUNT", Metrics.COUNT, [1.0, 1.0], [1.0]),
    of("COUNT, three rows of which one counts", Metrics.COUNT, [1.0, 1.0], [1.0] * 3),
    of("COUNT(max_contributions_per_partition=3)", Metrics.COUNT, [1.0], [1.0] * 3, max_contributions_per_partition=3),
    of("PRIVACY_ID_COUNT", Metrics.PRIVACY_ID_COUNT, [1.0, 1.0], [1.0]),
    of("SUM, values in [0, 1]", Metrics.SUM, [1.0, 1.0], [1.0], **UNIT),
    of("SUM, values in [95, 105]", Metrics.SUM, [100.0], [105.0], min_value=95.0, max_value=105.0),
    of(
        "SUM, sums per partition in [0, 1]",
        Metrics.SUM,
        [1.0],
        [1.0] * 5,
        min_sum_per_partition=0.0,
        max_sum_per_partition=1.0,
    ),
    of("MEAN, values in [0, 1]", Metrics.MEAN, [0.0, 0.0], [1.0], **UNIT),
    of("VARIANCE, values in [0, 1]", Metrics.VARIANCE, [0.0, 0.0], [1.0], **UNIT),
    of("PERCENTILE(50), values in [0, 1]", Metrics.PERCENTILE(50), [0.0, 0.0], [1.0], draws=1_500, **UNIT),
    of("SUM with Gaussian noise at delta = 0.05", Metrics.SUM, [1.0, 1.0], [1.0], delta=0.05, **UNIT, **GAUSS),
    of("COUNT of a private partition at delta = 0.05", Metrics.COUNT, [1.0, 1.0], [1.0], delta=0.05, public=False),
]
