r"""Linear models as a user calls them: extreme records, found by place, through `fit`, and the exact law on a line.

Records. The corners of what is declared: x = +-R, y each label, or 0 and the ends of the declared range of targets, or
(where no range is declared) far out and where the record's loss is most curved; with clip=True the same far beyond what
is declared. Each is fitted beside one record with x = 0; what `fit` refuses is no record of the domain. What it accepts
is attacked in pairs: the record comes (add/remove), or becomes another (replace-one).

Law. Every fit is listened to (`recording`): its noise b and its scale, and the rows that the core was handed. With one
feature theta solves J'(theta) + Delta theta + b = 0, J'(t) = sum_i x_i l'(x_i t, y_i), within the set. Delta is what
the fits themselves say, (J'(s) + b_s - J'(t) - b_t)/(t - s) for the two furthest apart; that every other fit solves the
equation too is checked. A number c with noise on top (output perturbation) is what is left when the noise is taken off.
With an intercept and x = +-R all rows are multiples of one vector u, and <theta, u> is that number; Gaussian noise.

Neighbouring relation: each row's.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from dperm.audit import columns
from dperm.audit.called import brackets, corners
from dperm.audit.called.brackets import BracketedLaw
from dperm.audit.called.corners import Call, Corner
from dperm.audit.called.recording import Recorded
from dperm.errors import DataError
from dperm.losses import Loss
from dperm.mechanisms import base
from dperm.noise import Gaussian, SphericalLaplace

STEP = "_release"
# Fits that the equation is held against.
_FITS = 8
# By how much a fit may miss the solver's public target: rounding.
_ROUNDING = 1 + 1e-6
# How many of the pairs with the largest difference of forces are attacked.
_TRIED = 3
# In scales of the noise on top: ten are 7 deviations of Laplace's law, and 10 of Gauss's.
_NEAR_KINK = 10
# Losses whose slope is bounded everywhere.
_SLOPED = ("logistic", "capped_logistic", "smoothed_hinge", "huber")
# Infinity, for forces.
_FURTHEST = 1e12


class Rows(NamedTuple):
    """Records as the core has them, along one line; equal ones stand once, with the sum of their weights."""

    x: np.ndarray
    y: np.ndarray
    count: np.ndarray


class Penalty(NamedTuple):
    """The penalty l1 |theta| + weight |theta|^power, as it was declared; power in (1, 2)."""

    l1: float = 0.0
    weight: float = 0.0
    power: float = 1.5

    def slope(self, t: np.ndarray | float) -> np.ndarray | float:
        """Return its slope, at 0 that from the right: of theta <= 0 the noise that leaves it at 0 is a part."""
        side = np.where(np.asarray(t) >= 0, 1.0, -1.0)
        return side * (self.l1 + self.weight * self.power * np.abs(t) ** (self.power - 1))


class Found(NamedTuple):
    """What fits on the corners told.

    `rows` maps a corner (x, y) to the rows that the core was handed, the common record first; `centres` maps it to
    theta without its noise, of additive ones; `penalty` is what of the objective is neither a loss nor a square.
    """

    rows: dict[Corner, Rows]
    law: type
    scale: float
    ridge: float
    slack: float
    loss: Loss
    hiding: Any
    guarantee: str
    centres: dict[Corner, float]
    penalty: Penalty = Penalty()


def attack(call: Call, neighbours: str, delta: float, rng: np.random.Generator) -> dict[str, Any]:
    """Return the strongest attack on one estimator, as columns of an attack."""
    # Of additive noise under replace-one: the number of records is public, and the noise may be made of it.
    found = listen(call, rng, counted=call.additive and neighbours == "replace")
    lines = {corner: line(call, found, corner) for corner in found.rows}
    tried = [
        (brackets.attack(lines[first], lines[second], delta=delta), first, second)
        for first, second in _strongest(call, found, neighbours)
    ]
    best, first, second = brackets.first_of_best(tried, lambda one: one[0].epsilon)
    return {
        "guarantee": found.guarantee,
        "loss": found.loss.name,
        "pair_words": corners.words(call, first, second),
        **columns.of_bracket(best),
    }


def listen(call: Call, rng: np.random.Generator, *, counted: bool = False) -> Found:
    """Fit on every corner, and find the law; `counted`: with a record each, so that all fits have as many.

    DataError if the law of the noise depends on the records, or a fit does not solve the equation.
    """
    fits, more = corners.fits(call, STEP, _FITS, rng)
    if counted:
        del fits[None]
    return law(call, fits, more)


def law(call: Call, fits: dict[Corner, Recorded], more: list[Recorded]) -> Found:
    """Find the law that fits tell (fits: on every corner; more: on one of them)."""
    kinds = {tuple((type(law), law.scale) for law, _ in one.drawn) for one in (*fits.values(), *more)}
    if len(kinds) > 1:
        raise DataError(f"{call.words}: the law of the noise depends on the records: {sorted(map(str, kinds))}")
    (kind, scale), *hiding = next(iter(kinds))
    some = next(iter(fits.values()))
    model, loss = some.model, some.handed["loss"]
    rows = {corner: _rows(one) for corner, one in fits.items()}
    hidden = hiding[0][0](hiding[0][1]) if hiding else None
    if call.additive:
        centres = {corner: number(one) - _noise(one) for corner, one in fits.items()}
        # What is left of a number when the noise is taken off again.
        slack = 1e-12 * (scale + max(map(abs, centres.values())))
        return Found(rows, kind, scale, 1.0, slack, loss, hidden, model.privacy_.guarantee, centres)
    # The target is a share of the steepest slope anywhere, if there is one; a ball does not make it less.
    walls = (-math.inf, math.inf) if loss.name in _SLOPED else call.walls
    ends = [end if math.isfinite(end) else math.copysign(_FURTHEST, end) for end in walls]
    force = max(float(np.abs(_forces(loss, one, np.array(ends))).max()) for one in rows.values())
    target = _ROUNDING * force * _target(model, hiding)
    penalty = _penalty(model, kind(scale))
    ridge, error = _ridge(call, model, loss, more, target, penalty)
    slack = target / ridge
    # A Delta that is off by a share of itself moves theta by that share of theta.
    slack += error / ridge * (force + 40 * scale) / ridge
    # Releases near 0 are put there: within so many deviations of the noise on top (`mechanisms.base.covered` says 6).
    slack += _NEAR_KINK * hidden.scale if penalty.l1 and hidden else 0.0
    found = Found(rows, kind, scale, ridge, slack, loss, hidden, model.privacy_.guarantee, {}, penalty)
    for one in (*fits.values(), *more):
        _check(call, found, one, target + error * abs(number(one)))
    return found


def _target(model: Any, hiding: list) -> float:
    """Return the solver's public target as a share of the steepest slope, as declared or the default."""
    # Approximate minima perturbation has no such share: its core stays within the usual one.
    usual = base.COVERED_TARGET if hiding and hasattr(model, "tolerance") else base.TARGET
    declared = getattr(model, "tolerance", None)
    return usual if declared is None else declared


def _penalty(model: Any, law: Gaussian | SphericalLaplace) -> Penalty:
    """Return what stands beside the sum of losses and squares, as it was declared; law: of NAPP's tilt."""
    declared, l1 = getattr(model, "penalty", None), float(getattr(model, "l1", None) or 0.0)
    if declared in ("lasso", "elastic_net"):
        l1 += model.strength
    if getattr(model, "variant", None) == "vs_plus":
        # The mean of b'|theta| of a half-normal b with the deviation of what is drawn.
        l1 += math.sqrt(2 / math.pi) * law.scale * (1.0 if isinstance(law, Gaussian) else math.sqrt(2))
    return Penalty(l1, model.strength, 2 - model.gamma) if declared == "bridge" else Penalty(l1)


def _ridge(
    call: Call, model: Any, loss: Loss, more: list[Recorded], target: float, penalty: Penalty
) -> tuple[float, float]:
    """Return Delta, as declared or as the fits say, and what it may be off by."""
    if getattr(model, "curvature", None) is not None:
        return float(model.curvature), 0.0
    points = []
    for one in more:
        theta = _theta(one)
        if _free(call, one) and not (penalty.l1 and _at_kink(one)):
            force = float(_forces(loss, _rows(one), np.array([theta]))[0] + penalty.slope(theta))
            points.append((theta, force + _noise(one, 0)))
    points.sort()
    if len(points) < 2:
        raise DataError(f"{call.words}: fewer than two of {len(more)} fits lie where they tell Delta; declare it")
    (s, low), (t, high) = points[0], points[-1]
    return (low - high) / (t - s), 2 * target / (t - s)


def _check(call: Call, found: Found, one: Recorded, allowed: float) -> None:
    """Refuse a fit whose theta does not solve the equation within the solver's public target."""
    theta = _theta(one)
    left = float(_forces(found.loss, _rows(one), np.array([theta]))[0]) + found.ridge * theta + _noise(one, 0)
    if found.penalty.l1 and _at_kink(one):
        # There the norm takes whatever its weight can; how near theta is to 0 only its core knows.
        near = np.array([-found.slack, 0.0, found.slack])
        pushed = _forces(found.loss, _rows(one), near) + found.ridge * near + _noise(one, 0)
        left = max(0.0, float(np.abs(pushed).min()) - found.penalty.l1)
    else:
        left += float(found.penalty.slope(theta))
    if not _free(call, one):
        # What lies at a wall and is pushed into it is at rest; with noise on top, which the walls and what is near them
        # swallow, it is not known which were.
        left = 0.0 if found.hiding else max(0.0, left if theta > 0 else -left)
    if abs(left) > allowed:
        raise DataError(f"{call.words}: a fit misses its equation by {abs(left):.3g}, its target is {allowed:.3g}")


def line(call: Call, found: Found, corner: Corner) -> BracketedLaw:
    """Return the law of the release on one corner's data."""
    if call.additive:
        return BracketedLaw(lambda t: (t - found.centres[corner]) / found.scale, found.law, found.slack)

    walled = np.isfinite(call.walls).any()

    def z(t):
        t = np.clip(t, *call.walls) if walled else t
        pulled = _forces(found.loss, found.rows[corner], t) + found.ridge * t
        return (pulled + found.penalty.slope(t) if any(found.penalty[:2]) else pulled) / found.scale

    return BracketedLaw(z, found.law, found.slack, *call.walls, found.hiding)


def _strongest(call: Call, found: Found, neighbours: str) -> list[tuple[Corner, Corner]]:
    """Return the pairs of corners whose forces (or numbers) differ most."""
    pushed = found.centres
    if not call.additive:
        places = np.clip(np.linspace(-3, 3, 13) * found.scale / found.ridge, *call.walls)
        pushed = {corner: _forces(found.loss, rows, places) for corner, rows in found.rows.items()}
    gaps = {(one, other): np.abs(pushed[one] - pushed[other]).max() for one, other in corners.pairs(pushed, neighbours)}
    chosen = []
    while gaps and len(chosen) < _TRIED:
        chosen.append(brackets.first_of_best([*gaps], gaps.get))
        del gaps[chosen[-1]]
    return chosen


def forces(found: Found, corner: Corner, points: np.ndarray) -> np.ndarray:
    """Return J'(t) of one corner's data."""
    return _forces(found.loss, found.rows[corner], points)


def _forces(loss: Loss, rows: Rows, points: np.ndarray) -> np.ndarray:
    """Return J'(t)."""
    shape = np.shape(points)
    x, y, count = (column[:, None] for column in rows)
    return (count * x * loss.derivative(x * np.reshape(points, -1), y)).sum(axis=0).reshape(shape)


def direction(one: Recorded) -> np.ndarray:
    """Return u, the unit vector that all rows are multiples of."""
    X = one.handed["X"]
    longest = X[np.abs(X).sum(axis=1).argmax()]
    return longest / np.linalg.norm(longest) if np.any(longest) else np.eye(X.shape[1])[0]


def axis(one: Recorded) -> np.ndarray:
    """Return the unit vector along which rows and releases are numbers: u, of one feature the positive one."""
    u = direction(one)
    return np.abs(u) if len(u) == 1 else u


def _rows(one: Recorded) -> Rows:
    X, y = one.handed["X"], one.handed["y"]
    u = axis(one)
    if np.abs(X - np.outer(X @ u, u)).max() > 1e-12:
        raise DataError("rows of an audit with an intercept are multiples of one vector")
    # As complex numbers, which have the order of pairs and are sorted many times faster than rows.
    records, places = np.unique(np.column_stack([X @ u, y]).astype(float).view(complex)[:, 0], return_inverse=True)
    return Rows(records.real, records.imag, np.bincount(places, one.handed.get("weights"), len(records)).astype(float))


def number(one: Recorded) -> float:
    """Return what was released, along u."""
    theta = np.append(np.ravel(one.model.coef_), np.ravel(one.model.intercept_)[: one.handed["X"].shape[1] - 1])
    return float(theta @ axis(one))


def _noise(one: Recorded, which: int = 0) -> float:
    """Return a noise of the fit, along u."""
    return float(one.drawn[which][1] @ axis(one))


def _theta(one: Recorded) -> float:
    """Return the release without the noise that hides the solver's error."""
    return number(one) - (_noise(one, 1) if len(one.drawn) > 1 else 0.0)


def _at_kink(one: Recorded) -> bool:
    """Return whether theta is 0, or so near that the release was put there."""
    return number(one) == 0.0


def _free(call: Call, one: Recorded) -> bool:
    """Return whether neither the release nor what it is without the noise on top lies at a wall."""
    low, high = call.walls
    places = number(one), _theta(one)
    return all(theta - low > 1e-9 * abs(theta) and high - theta > 1e-9 * abs(theta) for theta in places)
