"""Choices of features as users call them: their law, read off fits, against what the cores state."""

import math

import numpy as np
import pytest

from dperm.audit.called import supports
from dperm.domain import Budget, Domain
from dperm.mechanisms.support import exp_mech, samp_agg


def test_the_law_of_a_choice_is_read_off_fits():
    """Bisection of the one uniform number finds the probability that the core states."""
    choice = supports.CHOICES["exp_mech"]
    given = {**choice.given, "size": 1, "neighbours": "add_remove", "epsilon": 1.0}
    X, y = supports.rows(choice, [])
    core = exp_mech.select(
        X, y, size=1, domain=Domain(1.0, 1.0), budget=Budget(1.0), neighbours="add_remove", calibration="tight",
        bound=1.0, rng=np.random.default_rng(0),
    )  # fmt: skip
    asked, met = [], [0.7]

    def chosen(told):
        asked.append(told)
        return supports.fitted(choice, given, [], told).support_[0]

    read = supports.chance(choice, chosen, met)
    assert read == pytest.approx(math.exp(core.log_probabilities[0]), abs=1e-11)
    # Of what was met once both ends are looked at, and of what was not (0.7) no more than that.
    asked.clear()
    assert supports.chance(choice, chosen, met) == read and len(asked) <= 3
    # Bisection without any guess ends there too.
    assert supports.chance(choice, chosen, []) == read and len(asked) > 40


def test_the_law_of_noisy_votes_is_read_off_fits():
    """All 20 blocks vote for the first, at noise of the scale that the core states."""
    choice = supports.CHOICES["samp_agg"]
    given = {**choice.given, "size": 1, "neighbours": "replace", "epsilon": 1.0}
    scale, _ = samp_agg.calibrate(
        2, size=1, blocks=20, budget=Budget(1.0), neighbours="replace", calibration="corrected"
    )  # fmt: skip
    read = supports.chance(choice, lambda told: supports.fitted(choice, given, [], told).support_[0], [])
    assert read == pytest.approx(1 - (2 + 1 / scale) * math.exp(-1 / scale) / 4, rel=1e-9)
    noise = np.random.default_rng(0).laplace(size=(100_000, 2)) * scale
    assert read == pytest.approx((1 + noise[:, 0] > noise[:, 1]).mean(), abs=5e-3)
