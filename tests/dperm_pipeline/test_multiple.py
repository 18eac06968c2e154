"""Holm's procedure: by hand, against the definition, and its error by simulation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dperm_pipeline import multiple


def test_holm_is_the_step_down_procedure():
    # Holm 1979: sorted p_(k) against level / (m - k + 1), stop at the first that fails.
    assert multiple.holm([0.01, 0.04, 0.03, 0.005], 0.05) == [True, False, False, True]
    assert multiple.holm([0.05, 0.025, 0.016], 0.05) == [True, True, True]
    assert multiple.holm([0.02, 0.02, 0.02], 0.05) == [False, False, False]
    assert multiple.holm([], 0.05) == []


def test_holm_keeps_the_family_wise_error():
    """2,000 families of 16 true hypotheses, dependent as metrics are: at most 5 % (+ 4 standard errors) reject any."""
    rng = np.random.default_rng(7)
    wrong = 0
    for _ in range(2000):
        z = 0.7 * rng.standard_normal() + math.sqrt(0.51) * rng.standard_normal(16)
        wrong += any(multiple.holm(list(stats.norm.sf(z)), 0.05))
    assert wrong / 2000 <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / 2000)


@given(st.lists(st.floats(0, 1), max_size=8), st.floats(0.001, 0.999))
def test_an_adjusted_p_value_is_the_least_level_that_rejects(p_values, level):
    adjusted = multiple.adjusted(p_values)
    assert (adjusted >= np.asarray(p_values)).all() and (adjusted <= 1).all()
    for value, rejected in zip(adjusted, multiple.holm(p_values, level), strict=True):
        if abs(value - level) > 1e-12:
            assert (value <= level) == rejected


def test_adjusted_by_hand():
    assert multiple.adjusted([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert len(multiple.adjusted([])) == 0
