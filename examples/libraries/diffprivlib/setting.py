"""What the attacks on diffprivlib share."""

import numpy as np

UNIT, WARM = (0.0, 1.0), (95.0, 105.0)
N_PUBLIC = "the number of records sets {}: it is treated as public, so the claim can hold for replace-one alone"


def state(rng):
    """Return the audit's generator in the form that diffprivlib takes."""
    return np.random.RandomState(rng.bit_generator)
