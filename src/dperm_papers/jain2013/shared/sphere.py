"""Fixed w* and queries of the theory figures on interactive prediction: uniform directions of R^10.

w* is fixed and no data stand behind it, so noise depends on n only through the nominal n lambda. phi(z) are explicit
coordinates; for a kernel a thin SVD of Phi(Z) gives the like, ten of them if the rank is ten.
"""

import numpy as np

from dperm import seeds

DATASET = "sphere-10"
FEATURES = 10


def queries(root: int, count: int) -> np.ndarray:
    """Return phi(z_1) .. phi(z_T), each of length 1, by the run's seed; smaller T begin larger ones."""
    Z = seeds.generator(root, "jain2013", DATASET, "queries").standard_normal((count, FEATURES))
    # Rounding may not carry a length past R = 1.
    Z /= np.linalg.norm(Z, axis=1, keepdims=True) * (1 + 4 * np.finfo(float).eps)
    return Z


def target(root: int) -> np.ndarray:
    """Return w* / ||w*||, from the run's seed."""
    w = seeds.generator(root, "jain2013", DATASET, "target").standard_normal(FEATURES)
    return w / np.linalg.norm(w)


def path_maxima(features: np.ndarray, ends: list[int], repeats: int, rng: np.random.Generator) -> np.ndarray:
    """Return max_{t <= T} |<xi, phi(z_t)>| of paths xi ~ N(0, I), a row for each T of `ends` (rising), and last ||xi||.

    ||xi|| is the supremum over the unit ball: more queries than any number.
    """
    xi = rng.standard_normal((repeats, features.shape[1]))
    worst, found, low = np.zeros(repeats), [], 0
    for end in ends:
        for start in range(low, end, 2**14):
            part = np.abs(features[start : min(end, start + 2**14)] @ xi.T).max(axis=0)
            np.maximum(worst, part, out=worst)
        low = end
        found.append(worst.copy())
    return np.array([*found, np.linalg.norm(xi, axis=1)])
