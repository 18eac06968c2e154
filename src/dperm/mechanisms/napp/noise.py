r"""What li2021 draws and what it needs: the bounds of Assumption 1, the floor Lambda0, the laws of b.

Sums, not means; neighbours add/remove unless said otherwise. One record's gradient is at most zeta12 = zeta1 zeta2 long
and its Hessian's eigenvalue at most zeta3; r is the share of epsilon that b spends, the rest pays for the Jacobian:

    Lambda0 = zeta3/(2 (1 - r) epsilon),        C = log(1 + zeta3/(2 Lambda0)) <= (1 - r) epsilon.

calibration="paper", as printed (Eqs 4, 9, 10):

    delta = 0:  uniform direction, radius Gamma(shape 1, scale 2 zeta12/(r epsilon))    (erratum N1)
    delta > 0:  N(0, sigma^2 I),  sigma^2 = 2 zeta12^2 (r epsilon + log(1/delta))/(r epsilon)^2
    vs_plus:    the same law truncated to b > 0, which for laws symmetric in every coordinate is |b|    (erratum N2)

calibration="corrected": what docs/privacy.md proves for the same Lambda0 and r. With k = 1 (add/remove), 2 (replace):

    delta = 0:  density proportional to exp(-||b|| r epsilon/(k zeta12)), radius Gamma(shape p)
    delta > 0:  sigma^2 = 2 (k zeta12)^2 (r epsilon + log(k/delta))/(r epsilon)^2; for add/remove the printed variance
    vs_plus:    the two-sided law, and beside it the public lasso t sigma_b ||theta||_1, t = sqrt(2/pi): the part of
                a half-normal b'|theta| that is not random (Algorithm `erm` with another regularizer)

calibration="tight": `dperm.accounting.tilt` at the whole (epsilon, delta) with Delta = 2 Lambda0.
calibration="separate": the same without Theorem 4, that is as if the logistic loss's force and curvature were not tied.

The printed constants are add/remove's; read as replace-one, nothing is promised of them (erratum K3).

All of it is for generalised linear losses (erratum K1). Which schemes and sets it is valid for, `release` decides.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dperm.accounting import gaussian
from dperm.accounting.tilt import Record
from dperm.domain import Budget, Calibration, Guarantee, Neighbours, changed_gradients, checked_field, number, one_of
from dperm.errors import DomainViolation, InvalidBudget
from dperm.losses import Loss
from dperm.mechanisms.base import record, representable
from dperm.noise import Gaussian, SphericalLaplace, spherical

Variant = Literal["erm", "vs", "vs_plus"]
# The mean of |Z| for a standard normal Z: what VS+ adds to the lasso on average, in standard deviations of b_j.
HALF_NORMAL_MEAN = math.sqrt(2 / math.pi)
# The calibrations that leave nothing of the budget over.
WHOLE = ("tight", "separate")


@dataclass(frozen=True)
class Bounds:
    """The constants of Assumption 1 for one record, public.

    - zeta1: ||x||_2 <= zeta1.
    - zeta2: |l'(eta, y)| <= zeta2 (erratum N9: the assumption says the gradient, the formulas multiply by zeta1).
    - zeta3: ||x||^2 l'' <= zeta3.
    """

    zeta1: float
    zeta2: float
    zeta3: float

    def __post_init__(self):
        for name in ("zeta1", "zeta2", "zeta3"):
            remedy = "declare bounds on the records, and on eta where the loss needs one"
            checked_field(self, name, 0, math.inf, error=DomainViolation, remedy=remedy)

    @property
    def zeta12(self) -> float:
        """Return zeta1 zeta2, the bound on one record's gradient norm."""
        return self.zeta1 * self.zeta2


@dataclass(frozen=True)
class PrintedSpherical:
    """A uniform direction with the printed radius Gamma(shape 1, scale): singular at 0 for p >= 2 (erratum N1)."""

    scale: float

    def __post_init__(self):
        SphericalLaplace(self.scale)

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        """Draw vectors along the last axis of `shape`."""
        return spherical(1.0, self.scale, shape, rng)


@dataclass(frozen=True)
class Absolute:
    """|b| of a law symmetric in every coordinate: that law truncated to b > 0 (li2021, Eqs 9, 10 with c = 0)."""

    law: PrintedSpherical | SphericalLaplace | Gaussian

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        """Draw vectors along the last axis of `shape`."""
        return np.abs(self.law.sample(shape, rng))


Law = PrintedSpherical | SphericalLaplace | Gaussian | Absolute


def by_density(law: Law) -> Law:
    """Return the law with the density that Equations 4 and 9 print, of one with Section 3.1's radius (erratum N1).

    The printed radius is Gamma(1, 2 zeta12/(r epsilon)); the printed density, proportional to
    exp(-||b|| r epsilon/zeta12), has the radius Gamma(p, zeta12/(r epsilon)). Other laws are printed once.
    """
    if isinstance(law, Absolute):
        return Absolute(by_density(law.law))
    return SphericalLaplace(law.scale / 2) if isinstance(law, PrintedSpherical) else law


def share_of(share: float) -> float:
    """Return r, or refuse it."""
    remedy = "it is r, the part of epsilon that b spends; the rest pays for the Jacobian, and 0.5 is usual"
    return number("share", share, 0, 1, error=InvalidBudget, remedy=remedy)


def floor(bounds: Bounds, epsilon: float, share: float) -> float:
    """Return Lambda0 = zeta3/(2 (1 - r) epsilon), of the whole epsilon: the least that Algorithm 1 allows."""
    epsilon = Budget(epsilon).epsilon
    return bounds.zeta3 / (2 * (1 - share_of(share)) * epsilon)


def deviation(law: Law, features: int) -> float:
    """Return sigma_b, the sd of one of the `features` = p coordinates of a two-sided law: E ||b||^2 = p sigma_b^2."""
    return (
        law.scale
        * {
            Gaussian: 1.0,
            SphericalLaplace: math.sqrt(features + 1),
            PrintedSpherical: math.sqrt(2 / features),
        }[type(law)]
    )


def calibrate(
    bounds: Bounds,
    budget: Budget,
    *,
    share: float,
    variant: Variant,
    calibration: Calibration,
    features: int,
    neighbours: Neighbours = "add_remove",
    loss: Loss | None = None,
    modulus: float | None = None,
) -> tuple[Law, float, Guarantee]:
    """Return the law of b, the public lasso that goes with it, and what is proved of the law.

    - loss: says whether l'(., y) keeps its sign for every y, and whether force and curvature are tied, which sharpens
      `tight`; by default any loss with these bounds.
    - modulus: strong convexity that the problem has for all data, at least 2 Lambda0; by default 2 Lambda0. Used by
      `tight` and `separate`.
    - extra_l1: weight of ||theta||_1 beside the scheme's penalty; 0 unless `vs_plus` is corrected.
    - guarantee: of the exact minimiser of the *valid form*: a problem with the tilt <b, theta>, bounds that hold for
      all theta, and a penalty that is `modulus`-strongly convex for all data. Whether a scheme is of this form is
      `release`'s.
    """
    for name, value, kind in (
        ("variant", variant, Variant),
        ("calibration", calibration, Calibration),
        ("neighbours", neighbours, Neighbours),
    ):
        one_of(name, value, kind)
    least = 2 * floor(bounds, budget.epsilon, share)
    modulus = least if modulus is None else modulus
    law = _law(bounds, budget, share, calibration, neighbours, loss, modulus)
    if variant == "vs_plus" and calibration == "paper":
        return Absolute(law), 0.0, "none"
    holds = lawful(
        law, bounds, budget, calibration=calibration, features=features, neighbours=neighbours, loss=loss,
        modulus=modulus,
    )  # fmt: skip
    extra_l1 = HALF_NORMAL_MEAN * deviation(law, features) if variant == "vs_plus" else 0.0
    return law, extra_l1, "proved_exact" if holds else "none"


def lawful(
    law: Law,
    bounds: Bounds,
    budget: Budget,
    *,
    calibration: Calibration,
    features: int,
    neighbours: Neighbours,
    loss: Loss | None,
    modulus: float,
) -> bool:
    """Return whether docs/privacy.md proves the budget for a tilt of this law in the valid form.

    - law: as released; one that is truncated is never proved.
    - bounds: that hold for all records and theta.
    - calibration: the printed constants are never proved under replace-one (erratum K3).
    - modulus: strong convexity that the penalty has for all data.
    - Source: docs/privacy.md, Theorems 1 to 4.
    """
    if calibration == "paper" and neighbours == "replace":
        return False
    # In one dimension the printed radius is Laplace noise's; in more its density is infinite at 0 (erratum N1).
    if isinstance(law, PrintedSpherical) and features > 1:
        return False
    one = _record(bounds, loss, calibration)
    return one.enough(law.scale, budget, curvature=modulus, neighbours=neighbours)


def _record(bounds: Bounds, loss: Loss | None, calibration: Calibration) -> Record:
    both = bounds.zeta12, bounds.zeta3
    return Record(*both) if loss is None else record(loss, both, calibration)


def _law(bounds, budget, share, calibration, neighbours, loss, modulus) -> Law:
    """Return the two-sided law."""
    zeta = bounds.zeta12
    if calibration in WHOLE:
        one = _record(bounds, loss, calibration)
        scale = representable(one.scale(budget, curvature=modulus, neighbours=neighbours), budget)
        return (SphericalLaplace if budget.delta == 0 else Gaussian)(scale)
    spent = share_of(share) * budget.epsilon
    times = changed_gradients(neighbours) if calibration == "corrected" else 1
    if budget.delta == 0:
        printed = calibration == "paper"
        scale = representable((2 if printed else times) * zeta / spent, budget)
        return (PrintedSpherical if printed else SphericalLaplace)(scale)
    number("delta", budget.delta, gaussian.SMALLEST_DELTA, 1, ends="[)", error=InvalidBudget)
    sigma = times * zeta * math.sqrt(2 * (spent + math.log(times / budget.delta))) / spent
    return Gaussian(representable(sigma, budget))
