r"""NAPP-ERM with one feature: what is released, and its exact law (li2021, Theorem 4; T = infinity unless said).

The release is that of `dperm.mechanisms.napp.release`. Its law has formulas of its own here, apart from that code; the
noise's scale and the public lasso are what `dperm.mechanisms.napp.plan` says. With J(t) = sum_i x_i l'(x_i t, y_i) and
S(u) = P'(u), the slope of the penalty at u = |theta| (sums, not means; Lambda0 = zeta3/(2 (1 - r) epsilon), r = 1/2):

    S(u) = 2 max(A + B u, Lambda0 u) with MOOR (for ridge always),  2 (A + (B + Lambda0) u) without,
    A = Lambda (half of it if repaired, N6), B = 0 for lasso;  A = 0, B = Lambda for ridge;  B = Lambda kappa for the
    elastic net;  a public lasso (corrected VS+) adds its weight to S;

and F the law of b, scaled and symmetric. Then

    h(t) = J(t) + S(|t|) for t >= 0,  J(t) - S(|t|) below,

    erm      0 in J(t) + b + sgn(t) S(|t|):  P(theta <= t) = F(h(t))
    vs_plus  b > 0 weighs |theta|:           P(theta > t) = P(b < -h(t)) for t >= 0,  P(theta <= t) = P(b <= h(t)) below
    vs       theta^(1) has the sign of -(J(0) + b). If it is above 0, the tilt stays b: theta > t >= 0 iff b < -h(t).
             If it is below 0, the tilt is -b: theta <= t < 0 iff -J(0) < b <= h(t). Otherwise theta ends at 0 (if -b
             sends it above 0, b sends it below again: it flips for ever, and is set to 0).

Within Theta = [low, high] the same law, with atoms at the ends. Neighbouring relation: the pair's.
"""

import functools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from dperm.audit.target import Tails, Target, halves
from dperm.domain import Budget, Calibration, Domain, Guarantee, Neighbours
from dperm.errors import DataError, SolverError
from dperm.laws.tails import lower_tail
from dperm.mechanisms import napp
from dperm.mechanisms.napp.noise import Absolute, Bounds
from dperm.mechanisms.napp.scheme import Scheme
from dperm.mechanisms.napp.validity import Retrieval
from dperm.noise import Gaussian, SphericalLaplace

# r, as printed.
SHARE = 0.5
# As many features as in li2021's simulations: what is claimed is claimed for them too.
FEATURES = 16


class Records(NamedTuple):
    """Data with one feature; equal records stand once, with their number."""

    x: np.ndarray
    y: np.ndarray
    count: np.ndarray

    def and_one(self, x: float, y: float) -> "Records":
        """Return these records and one more."""
        return Records(np.append(self.x, x), np.append(self.y, y), np.append(self.count, 1.0))

    def expanded(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (X, y), shapes (n, 1) and (n,), as the mechanism takes them."""
        times = self.count.astype(int)
        return np.repeat(self.x, times)[:, None], np.repeat(self.y, times)


def records(*pairs: tuple[float, float], count: float = 1.0) -> Records:
    """Return records (x, y), each `count` times."""
    x, y = np.asarray(pairs, float).reshape(-1, 2).T
    return Records(x, y, np.full(len(x), float(count)))


@dataclass(frozen=True)
class Problem:
    """One release with one feature, y in {-1, +1} for logistic and smoothed_hinge.

    `bounds` are what the noise and Lambda0 are made for: whether the records keep them is the attack's question.
    `strength` is Lambda; the loss goes on linearly beyond |eta| = `eta_bound`; `box` is Theta; `retrieval` is of
    the (1 - r) epsilon, public for ridge; `x_norm` (zeta1 if left out) and `y_bound` (none for labels) are of the
    declared domain.
    """

    loss: str
    bounds: Bounds
    budget: Budget
    calibration: Calibration
    variant: str = "erm"
    target: str = "lasso"
    strength: float = 0.1
    moor: bool = False
    kappa: float = 0.0
    eta_bound: float = math.inf
    box: tuple[float, float] | None = None
    neighbours: Neighbours = "add_remove"
    retrieval: Retrieval = "none"
    x_norm: float | None = None
    y_bound: float | None = 1.0

    @property
    def floor(self) -> float:
        """Return Lambda0."""
        return self.bounds.zeta3 / (2 * (1 - SHARE) * self.budget.epsilon)

    @property
    def halved(self) -> bool:
        """Return whether the penalty is repaired to Lambda R (N6): in all but the printed form."""
        return self.calibration != "paper" and self.target != "ridge"

    @property
    def scheme(self) -> Scheme:
        """Return what the mechanism calls it."""
        return Scheme(self.target, self.floor, self.moor, kappa=self.kappa, halved=self.halved)

    @property
    def solved_as(self) -> str:
        """Return the variant that is solved: the corrected forms of VS and VS+ are NAPP-ERM (N2, N3)."""
        return self.variant if self.calibration == "paper" else "erm"

    @property
    def declared(self) -> dict[str, Any]:
        """Return the arguments of the mechanism's `plan` and `release`, the data aside."""
        low, high = self.box or (-math.inf, math.inf)
        return {
            "penalty": self.target, "strength": self.strength, "kappa": self.kappa or None, "moor": self.moor,
            "domain": Domain(self.x_norm or self.bounds.zeta1, self.y_bound), "bounds": self.bounds,
            "eta_bound": self.eta_bound, "low": low, "high": high, "budget": self.budget, "variant": self.variant,
            "neighbours": self.neighbours, "calibration": self.calibration, "share": SHARE, "retrieval": self.retrieval,
        }  # fmt: skip

    def plan(self, features: int = 1) -> napp.Plan:
        """Return what the mechanism would do, and what stands in the way of its proof."""
        return _planned(self, features)

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        """Draw b by the mechanism's own law, for as many features as `shape` ends with."""
        return self.plan(shape[-1]).law.sample(shape, rng)

    def released(self, X: np.ndarray, y: np.ndarray, repeats: int, rng: np.random.Generator) -> np.ndarray:
        """Run the mechanism.

        DataError if the release does not state what its plan does, SolverError if a repeat missed the solver's target.
        """
        found = napp.release(X, y, self.loss, rng=rng, repeats=repeats, **self.declared)
        if found.guarantee != stated(self.plan(X.shape[1])):
            raise DataError(f"the release of {self} states {found.guarantee!r}, its plan {stated(self.plan())!r}")
        if not found.converged.all():
            raise SolverError(f"{int((~found.converged).sum())} of {repeats} draws missed the solver's target")
        return found.theta


@functools.cache
def _planned(problem: Problem, features: int) -> napp.Plan:
    return napp.plan(problem.loss, features, **problem.declared)


def stated(plan: napp.Plan) -> Guarantee:
    """Return what the mechanism states of its exact minimiser."""
    return "none" if plan.obstacles else "proved_exact"


def force(problem: Problem, points: np.ndarray, data: Records) -> np.ndarray:
    """Return J(t), increasing in t (points: shape (m,)); shape (m,)."""
    x, y, count = (column[:, None] for column in data)
    eta = np.clip(x * np.asarray(points, float), -problem.eta_bound, problem.eta_bound)
    return (count * x * _DERIVATIVES[problem.loss](eta, y)).sum(axis=0)


_DERIVATIVES = {
    "squared": lambda eta, y: eta - y,
    "poisson": lambda eta, y: np.exp(eta) - y,
    "logistic": lambda eta, y: -y * special.expit(-y * eta),
    "smoothed_hinge": lambda eta, y: -y * np.clip(1 - y * eta, 0.0, 1.0),
}


def slope(problem: Problem, u: np.ndarray) -> np.ndarray:
    """Return S(u), at 0 its limit from the right (u: 0 or above)."""
    kinked = problem.target != "ridge"
    a = problem.strength * (0.5 if problem.halved else 1.0) if kinked else 0.0
    b = problem.strength * (problem.kappa if kinked else 1.0)
    own, floor = a + b * u, problem.floor * u
    joined = np.maximum(own, floor) if problem.moor or not kinked else own + floor
    return 2 * joined + problem.plan().extra_l1


def tails(problem: Problem) -> Tails:
    """Return what gives P(theta <= t) and P(theta > t) at points t, of `Records`."""
    law = symmetric(problem)
    low, high = problem.box or (-math.inf, math.inf)

    def standard(points, data):
        """Return h(t+)/scale."""
        side = np.where(points >= 0, 1.0, -1.0)
        return (force(problem, points, data) + side * slope(problem, np.abs(points))) / law.scale

    def both(points, data):
        # VS alone looks at 0.
        at_zero = _at_zero(problem, data, law) if problem.solved_as == "vs" else 0.0
        below, above = _TAILS[problem.solved_as](law, points, standard(points, data), at_zero)
        below = np.where(points < low, 0.0, np.where(points >= high, 1.0, below))
        return below, np.where(points < low, 1.0, np.where(points >= high, 0.0, above))

    return both


def target(problem: Problem) -> Target:
    """Return the release as the auditor sees it; its data are `Records`.

    `law` is Laplace's or Gauss's, symmetric: b's, or of VS+ that of which b is the absolute value.
    """

    def draw(data, repeats, rng):
        return problem.released(*data.expanded(), repeats, rng)[:, 0]

    low, high = problem.box or (-math.inf, math.inf)
    cdf, sf = halves(tails(problem))
    atoms = (0.0, *(end for end in (low, high) if math.isfinite(end) and end != 0))
    return Target(draw=draw, law=symmetric(problem), cdf=cdf, sf=sf, atoms=atoms)


def rescaled(budget: Budget, q: float | np.ndarray) -> float | np.ndarray:
    """Return f(q), Equation 14's noise at r epsilon + q (1 - r) epsilon over that at r epsilon (q: in [0, 1])."""
    first = SHARE * budget.epsilon
    spent = first + q * (1 - SHARE) * budget.epsilon
    if budget.delta == 0:
        return first / spent
    return first / spent * np.sqrt((spent - math.log(budget.delta)) / (first - math.log(budget.delta)))


def symmetric(problem: Problem) -> Gaussian | SphericalLaplace:
    """Return b's law on a line, or that of which it is the absolute value.

    With one feature the printed radius Gamma(1, .) is Laplace noise's.
    """
    law = problem.plan().law
    law = law.law if isinstance(law, Absolute) else law
    return (Gaussian if isinstance(law, Gaussian) else SphericalLaplace)(law.scale)


def _at_zero(problem: Problem, data: Records, law) -> float:
    """Return J(0)/scale."""
    return float(force(problem, np.zeros(1), data)[0]) / law.scale


def _erm(law, points, h, at_zero):
    return lower_tail(law, h), lower_tail(law, -h)


def _vs_plus(law, points, h, at_zero):
    # |b| <= z, and beyond it, for the z of either side of 0.
    z = np.maximum(np.where(points >= 0, -h, h), 0.0)
    within = special.erf(z / math.sqrt(2)) if isinstance(law, Gaussian) else -np.expm1(-z)
    beyond = 2 * lower_tail(law, -z)
    return np.where(points >= 0, beyond, within), np.where(points >= 0, within, beyond)


def _vs(law, points, h, at_zero):
    # -J(0) < b <= h: nothing, unless J(0) + h is above 0.
    reached = np.maximum(lower_tail(law, h) - lower_tail(law, -at_zero), 0.0)
    upper = lower_tail(law, -h)
    return np.where(points >= 0, lower_tail(law, h), reached), np.where(points >= 0, upper, 1 - reached)


_TAILS = {"erm": _erm, "vs_plus": _vs_plus, "vs": _vs}
