r"""Table 4 of li2021: the simulated data of its experiments, and the public bounds that stand for them.

p = 16 features, x_ij ~ Unif(-h, h), the first eight coefficients not 0, eta = <x, theta*>:

    linear     h = 1/4   theta*_k = 1 - 0.8 k/7, k = 0..7   y = eta + tN(0, 0.25^2, -0.5, 0.5)
    Poisson    h = 1/4   theta*_k = 4 - 0.5 k/7             y ~ Poisson(e^eta)
    logistic   h = 1/2   theta*_k = 4 - 0.5 k/7             P(y = 1) = 1/(1 + e^eta), as printed (erratum N9)

The printed sign makes logistic fits look for -theta*. Since x and -x have one law, so have the fits under either sign
but for theirs; `sign=+1` is the other.

Public bounds. ||x|| <= zeta1 = 4 h; zeta2 bounds |l'(eta, y)|, zeta3 the curvature that Lambda0 pays for. li2021 gives
none of them. The range of <x, theta*> and of y follows from h and theta*:

    linear     |eta| <= 1.2, |y| <= 1.7: zeta2 = 2.9 as published, on the range of the truth; 5.7 in the box [0, 1]^16,
               where |eta| <= 4; zeta3 = 1
    Poisson    |eta| <= 7.5: zeta2 = zeta3 = e^7.5, where y is clipped to 0, ..., 1808; beyond |eta| = 7.5 that is so
               for the loss continued linearly only (erratum N10)
    logistic   zeta2 = 1 and zeta3 = zeta1^2/4 = 1 everywhere

zeta3 bounds l''||x||^2, the only eigenvalue of one record's Hessian.

These are the bounds `range`. Noise and Lambda0 are proportional to them, so that what the paper's figures show hangs on
zeta. Two other readings stand beside them (`bounded`):

    typical    the same formulas with what 99 % of the records keep: linear |eta| <= 0.66, |y| <= 0.86: zeta2 = 1.52;
               Poisson |eta| <= 3.85: zeta2 = zeta3 = e^3.85 = 47. They are bounds on every record if y is clipped and
               the loss continued linearly there, as the corrected mechanism does. Logistic: those of `range`.
    unit       zeta1 = zeta2 = zeta3 = 1, as li2021 has on Adult, where it prints Lambda0 = 1/epsilon. No bounds here.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from dperm import seeds
from dperm.errors import ConfigError

FEATURES = 16
TEST_ROWS = 10_000
_RELEVANT = 8
# Of the linear design's error, and where it is cut off.
NOISE_SD, NOISE_CUT = 0.25, 0.5
# Largest |<x, theta*>| of the Poisson design: 0.25 times the sum of theta*.
_POISSON_RANGE = 7.5


@dataclass(frozen=True)
class Design:
    """One column of Table 4 at one n.

    - loss: "squared", "logistic" or "poisson".
    - n: records of a training set.
    - half_width: h: x_ij ~ Unif(-h, h).
    - truth: shape (16,); theta*; the first eight are not 0.
    - zeta1, zeta2, zeta3: ||x||, |l'| and the eigenvalue of a record's Hessian are at most these on the range of the
      truth.
    - boxed_zeta2: the bound on |l'| for the corrected mechanism: in all of `box`, with the loss continued beyond
      `eta_bound`.
    - box: (low, high): Theta = [low, high]^16, inside one orthant, with the minimiser's side of 0.
    - eta_bound: |eta| beyond which the corrected mechanism continues the loss linearly; infinity: nowhere.
    - y_bound: |y| to which the corrected mechanism clips; infinity: the data keep it anyway.
    - sign: of eta in the law of a logistic y: -1 as printed.
    """

    loss: str
    n: int
    half_width: float
    truth: np.ndarray
    zeta1: float
    zeta2: float
    zeta3: float
    boxed_zeta2: float
    box: tuple[float, float]
    eta_bound: float = math.inf
    y_bound: float = math.inf
    sign: int = 1

    @property
    def relevant(self) -> np.ndarray:
        """Which coefficients are not 0, shape (16,)."""
        return self.truth != 0

    @property
    def p(self) -> int:
        """Number of features."""
        return len(self.truth)


def _truth(first: float, fall: float) -> np.ndarray:
    theta = np.zeros(FEATURES)
    theta[:_RELEVANT] = first - fall * np.arange(_RELEVANT) / (_RELEVANT - 1)
    theta.setflags(write=False)
    return theta


_TOP = math.exp(_POISSON_RANGE)
_LINEAR = Design(
    "squared", 200, 0.25, _truth(1.0, 0.8), zeta1=1.0, zeta2=2.9, zeta3=1.0, boxed_zeta2=5.7, box=(0.0, 1.0)
)
_POISSON = Design(
    "poisson", 500, 0.25, _truth(4.0, 0.5), zeta1=1.0, zeta2=_TOP, zeta3=_TOP, boxed_zeta2=_TOP, box=(0.0, 4.0),
    eta_bound=_POISSON_RANGE,
)  # fmt: skip
_LOGISTIC = Design(
    "logistic", 500, 0.5, _truth(4.0, 0.5), zeta1=2.0, zeta2=1.0, zeta3=1.0, boxed_zeta2=1.0, box=(-4.0, 0.0), sign=-1
)
# By the name in rows and configurations.
DESIGNS = {
    "linear-200": _LINEAR,
    "linear-500": replace(_LINEAR, n=500),
    "poisson-500": _POISSON,
    "poisson-1000": replace(_POISSON, n=1000),
    "logistic-500": _LOGISTIC,
    "logistic-1000": replace(_LOGISTIC, n=1000),
}
# Of 99 % of the records, |eta| and |y| are at most these.
_TYPICAL_ETA = {"squared": 0.66, "poisson": 3.85}
_TYPICAL_Y = 0.86
# Readings of the bounds that li2021 does not print, by name: loss -> what they set anew.
ZETAS: dict[str, dict[str, dict[str, float]]] = {
    "range": {"squared": {}, "poisson": {}, "logistic": {}},
    "typical": {
        "squared": {
            "zeta2": _TYPICAL_ETA["squared"] + _TYPICAL_Y, "boxed_zeta2": _TYPICAL_ETA["squared"] + _TYPICAL_Y,
            "eta_bound": _TYPICAL_ETA["squared"], "y_bound": _TYPICAL_Y,
        },
        "poisson": {
            **dict.fromkeys(("zeta2", "zeta3", "boxed_zeta2"), math.exp(_TYPICAL_ETA["poisson"])),
            "eta_bound": _TYPICAL_ETA["poisson"], "y_bound": math.floor(math.exp(_TYPICAL_ETA["poisson"])),
        },
        "logistic": {},
    },
    "unit": {loss: {"zeta1": 1.0, "zeta2": 1.0, "zeta3": 1.0} for loss in ("squared", "poisson", "logistic")},
}  # fmt: skip


def bounded(design: Design, zeta: str) -> Design:
    """Return a design with the public bounds of one reading: a name of ZETAS."""
    return replace(design, **ZETAS[zeta][design.loss])


def find(name: str) -> Design:
    """Return the design of this name; ConfigError if there is none."""
    try:
        return DESIGNS[name]
    except KeyError:
        raise ConfigError(f"unknown design {name!r}; li2021's Table 4 has: {', '.join(DESIGNS)}") from None


def training(seed: int, experiment: str, name: str, repeats: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the training sets of a design, X of shape (R, n, 16) and y: of repeat r the same however many there are.

    y is in {-1, 1} for the logistic design, a count of at most e^7.5 for the Poisson design.
    """
    design = find(name)
    X, y = np.empty((repeats, design.n, design.p)), np.empty((repeats, design.n))
    for r in range(repeats):
        X[r], y[r] = draw(design, design.n, seeds.generator(seed, experiment, "data", name, r))
    return X, y


def test(seed: int, experiment: str, name: str, rows: int = TEST_ROWS) -> tuple[np.ndarray, np.ndarray]:
    """Return the one test set of a design, independent of its training sets."""
    return draw(find(name), rows, seeds.generator(seed, experiment, "test", name))


test.__test__ = False  # A test set, no test of pytest's.


def draw(design: Design, rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw independent records of a design."""
    X = rng.uniform(-design.half_width, design.half_width, (rows, design.p))
    return X, _RESPONSES[design.loss](design.sign * (X @ design.truth), rng)


def _linear(eta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    # A truncated normal law, by inversion.
    low, high = special.ndtr(-NOISE_CUT / NOISE_SD), special.ndtr(NOISE_CUT / NOISE_SD)
    return eta + NOISE_SD * special.ndtri(low + (high - low) * rng.random(len(eta)))


def _poisson(eta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.minimum(rng.poisson(np.exp(eta)), math.floor(_TOP))


def _logistic(eta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(len(eta)) < special.expit(eta), 1.0, -1.0)


_RESPONSES: dict[str, Callable[[np.ndarray, np.random.Generator], np.ndarray]] = {
    "squared": _linear,
    "poisson": _poisson,
    "logistic": _logistic,
}
