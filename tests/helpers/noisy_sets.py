"""The law of noisy top-s as a dictionary."""

import numpy as np

from dperm.mechanisms.support import noisy_top


def law(scores, size, scale):
    """Return the logarithm of the probability of each set of `size` scores."""
    sets, log_probability = noisy_top.set_log_probabilities(np.array(scores, float), size=size, scale=scale)
    return {tuple(s): float(value) for s, value in zip(sets.tolist(), log_probability, strict=True)}
