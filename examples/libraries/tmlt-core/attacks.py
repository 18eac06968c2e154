"""Tumult Core: measurements on numbers and pandas series, whose `privacy_function` states what they spend.

Aggregations of Spark data frames start a Spark job for each answer, and are left out: a thousand draws take hours.
"""

import numpy as np
import pandas as pd
from attack import Attack, Given
from tmlt.core.domains.numpy_domains import NumpyFloatDomain
from tmlt.core.domains.pandas_domains import PandasSeriesDomain
from tmlt.core.measurements.noise_mechanisms import AddGeometricNoise, AddLaplaceNoise
from tmlt.core.measurements.pandas_measurements.series import AddNoiseToSeries, NoisyQuantile
from tmlt.core.measures import PureDP

PACKAGE = "tmlt.core"
PROMISE = "“privacy_function: the smallest d_out satisfied by the measurement” at d_in = 1 under its `input_metric`"


def of(claim, measurement, data, neighbour, relation, words, draws=1_500):
    """Return the attack on a measurement at two inputs that are 1 apart under its metric."""

    def mechanism(value, repeats, rng):
        return np.array([np.ravel(measurement(value)) for _ in range(repeats)], dtype=float)

    epsilon = float(measurement.privacy_function(1).to_float(round_up=True))
    pair = Given(mechanism, data, neighbour, words)
    return Attack(claim, lambda _: pair, PROMISE, relations=(relation,), stated=True, epsilon=epsilon, draws=draws)


FLOATS = PandasSeriesDomain(NumpyFloatDomain())
LAPLACE, GEOMETRIC = AddLaplaceNoise(NumpyFloatDomain(), 1), AddGeometricNoise(1)
MEDIAN = NoisyQuantile(FLOATS, PureDP(), quantile=0.5, lower=0.0, upper=1.0, epsilon=1)
ATTACKS = [
    of("AddLaplaceNoise(scale=1)", LAPLACE, np.float64(0), np.float64(1), "inputs", "0 or 1"),
    of("AddGeometricNoise(alpha=1)", GEOMETRIC, np.int64(0), np.int64(1), "inputs", "0 or 1"),
    of(
        "AddNoiseToSeries(AddGeometricNoise(alpha=1))",
        AddNoiseToSeries(GEOMETRIC),
        pd.Series([0, 1]),
        pd.Series([1, 1]),
        "inputs",
        "[0, 1] or [1, 1]",
    ),
    of(
        "NoisyQuantile(0.5, lower=0, upper=1, epsilon=1)",
        MEDIAN,
        pd.Series([0.5] * 4),
        pd.Series([0.5] * 3),
        "add_remove",
        "0.5 four times or three times",
    ),
]
