"""Many tests at once: Holm's step-down procedure, for verdicts and for the privacy ledger."""

from collections.abc import Sequence

import numpy as np


def adjusted(p_values: Sequence[float]) -> np.ndarray:
    """Return Holm's adjusted p-values: the least family-wise level at which each hypothesis is rejected (Holm 1979)."""
    p_values = np.asarray(p_values, dtype=float)
    order = np.argsort(p_values, kind="stable")
    steps = np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1))
    result = np.empty(len(p_values))
    result[order] = np.minimum(steps, 1.0)
    return result


def holm(p_values: Sequence[float], level: float) -> list[bool]:
    """Return which hypotheses Holm's step-down procedure rejects at family-wise error `level` (Holm 1979)."""
    rejected, going = [False] * len(p_values), True
    for step, k in enumerate(np.argsort(p_values, kind="stable")):
        going = going and p_values[k] <= level / (len(p_values) - step)
        rejected[k] = going
    return rejected
