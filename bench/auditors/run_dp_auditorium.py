"""dp_auditorium's hockey-stick tester with its own defaults, told the pair; it says yes or no at one epsilon.

Certified is the largest of 0.25, 0.5, ... that it rejects, found by bisection, each answer at the stated confidence on
the same draws. It tests one direction, so both are run: `first` is the likelier side of its positive event, its second
argument.
"""

import functools
import math
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import contextlib
import io

import tensorflow as tf
from dp_auditorium.configs.privacy_property import ApproximateDp
from dp_auditorium.configs.property_tester_config import HockeyStickPropertyTesterConfig
from dp_auditorium.testers.hockey_stick_tester import (
    HockeyStickPropertyTester,
    make_default_hs_base_model,
    make_default_hs_training_config,
)
from running import CONFIDENCE, drawn, run

STEP = 0.25


def rejects(mechanism, outputs, epsilon, seed, first):
    """Say whether it rejects (epsilon, delta)."""
    tf.keras.utils.set_random_seed(seed)
    claim = ApproximateDp(epsilon=epsilon, delta=mechanism.delta)
    config = HockeyStickPropertyTesterConfig(make_default_hs_training_config(), claim)
    tester = HockeyStickPropertyTester(config, make_default_hs_base_model())
    with contextlib.redirect_stdout(io.StringIO()):
        return tester.reject_property(tester.estimate_lower_bound(outputs[first], outputs[1 - first], 1 - CONFIDENCE))


def certified(mechanism, draws, seed, *, first):
    """Return the largest epsilon of the grid, up to the true one, that is rejected; 0 for none."""
    outputs = drawn(mechanism, draws, seed)
    low, high = 0, math.floor(mechanism.epsilon / STEP) + 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if rejects(mechanism, outputs, STEP * middle, seed, first) else (low, middle)
    return STEP * low


# It trains a network for each epsilon, so two seeds are what can be waited for.
for first in (1, 0):
    run(f"dp_auditorium, hockey-stick, side {first}", functools.partial(certified, first=first), seeds=2)
