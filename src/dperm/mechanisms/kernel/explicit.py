r"""Gaussian output perturbation of an explicit w: what a user would pick who can write the feature map down.

    w + N(0, sigma^2 I) in feature space,     sigma = (Delta_w + 2 slack) g(epsilon, delta).

Its predictions have the law of `rkhs`, without any public points and without a path to keep: the released w is the
path. It needs coordinates of phi (linear and polynomial kernels have them, `dperm.kernels.monomials`), one noise
coordinate for each. Rows of a test set look at those coordinates only in which one of them is not 0, so `predictions`
draws no others: the same law, at the cost of the rows. (And `nugget`'s, for each row: of more rows than the features
have directions the exact answers' own rounding would be seen without any noise.)

Neighbouring relation: the setting's, replace-one by default. The statement is `proved`: the noise covers the solver's
slack (erratum J9).

Sources: jain2013, equation (3); erratum J12; Balle & Wang 2018; docs/privacy.md, sections 4 and 11.
"""

import math

import numpy as np
from scipy import sparse

from dperm.domain import Budget
from dperm.mechanisms.base import Release
from dperm.mechanisms.kernel import rkhs
from dperm.mechanisms.kernel.constants import Setting, nugget, sigma
from dperm.mechanisms.kernel.tddl import within

NAME = "explicit_output"
CALIBRATIONS = ("tight",)

# Noise for so many entries at a time where the columns are many.
_ENTRIES = 2**22


def release(w: np.ndarray, setting: Setting, budget: Budget, *, rng: np.random.Generator, repeats: int = 1) -> Release:
    """Release a w within setting.slack of w* `repeats` times; the noise covers the certificate, which is that slack."""
    scale = sigma(setting, budget)
    theta = np.asarray(w, dtype=np.float64) + scale * rng.standard_normal((repeats, len(w)))
    certificate = np.full(repeats, setting.slack)
    return Release(theta, certificate, np.ones(repeats, bool), "proved", rkhs.event(setting, scale))


def predictions(
    answers: np.ndarray,
    features: np.ndarray | sparse.csr_array,
    setting: Setting,
    budget: Budget,
    *,
    rng: np.random.Generator,
    repeats: int = 1,
) -> rkhs.Release:
    """Predict rows phi(q) with exact answers <w, phi(q)> by a release of w, drawing only the noise that they meet."""
    squares = features.multiply(features) if sparse.issparse(features) else np.square(features)
    within(np.asarray(squares.sum(axis=1)).ravel(), setting.feature_norm)
    scale = sigma(setting, budget)
    if sparse.issparse(features):
        used, place = np.unique(features.indices, return_inverse=True)
        shape = (features.shape[0], len(used))
        features = sparse.csr_array((features.data, place.ravel(), features.indptr), shape=shape)
    noisy = np.empty((repeats, len(answers)))
    step = max(1, _ENTRIES // max(1, features.shape[1]))
    for low in range(0, repeats, step):
        rows = noisy[low : low + step]
        rows[:] = (features @ rng.standard_normal((len(rows), features.shape[1])).T).T
    own = math.sqrt(nugget(len(answers))) * setting.feature_norm
    noisy += own * rng.standard_normal(noisy.shape)
    return rkhs.Release(answers + scale * noisy, scale, "proved", rkhs.event(setting, scale))
