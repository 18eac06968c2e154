"""dperm.audit, told the pair and delta alone; and given the score that jax_privacy is given."""

import numpy as np
from running import CONFIDENCE, run

from dperm import audit


def certified(mechanism, draws, seed, events=()):
    """Audit it with nothing else set."""
    options = {"draws": draws, "delta": mechanism.delta, "confidence": CONFIDENCE, "rng": np.random.default_rng(seed)}
    return audit.lower_bound(mechanism.draw, 1, 0, **options, events=events).epsilon


def told(mechanism, draws, seed):
    """Audit it with the score among those that are tried."""
    return certified(mechanism, draws, seed, (audit.Event("the given score", mechanism.score),))


if __name__ == "__main__":
    run("dperm", certified, alarms=True)
    run("dperm, given the score", told)
