r"""The exact attack on a released number that is a monotone function of one noise: brackets that hold with certainty.

The release is T = clip(theta + e, low, high), theta = clip(z^{-1}(-Z), low, high), where z increases and Z is noise of
scale 1 (z(t) = (sum_i l'(x_i t, y_i) x_i + Delta t)/scale of objective perturbation, (t - c)/scale of noise on a number
c), and e is what stands between theta and what is released: the noise that hides the solver's error, and that error
itself, at most `slack`, anything. The noise is cut into cells [x_k, x_{k+1}] of known probability m_k, and in each

    P(theta + e in (a, b]) >= P(theta in (a - x_k + slack, b - x_{k+1} - slack]),
    P(theta + e in (a, b]) <= P(theta in (a - x_{k+1} - slack, b - x_k + slack]),

so that each event has a least and a largest probability, and for a union S of intervals epsilon >=
log((P_least(S) - delta)/Q_largest(S)). S is chosen by `finite.best_event` on pieces of the line whose probabilities are
only about right (a few values of e); what is chosen is a claim of nothing, and the brackets hold whatever S is.
Neighbouring relation: that of the two laws handed in.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from dperm.audit.exact import ExactAudit
from dperm.laws.finite import best_event
from dperm.laws.tails import lower_tail
from dperm.noise import Gaussian, SphericalLaplace

# What a tail may be off by, relative to itself (as in `dperm.laws.line`).
_ERROR = 1e-12
# Quantiles between which the line is cut: evenly in the middle of the noise, and out into its tails.
_MIDDLE, _FINE, _COARSE = 4.0, 320, 60
_TAIL = {Gaussian: 12.0, SphericalLaplace: 40.0}
# Cells of the noise on top, how far they reach, in its scale, and how few values stand for it where S is chosen.
_CELLS, _NODES = 160, 15
_REACH = {Gaussian: 9.5, SphericalLaplace: 46.0}
_BISECTIONS = 60
_WIDEST = 1e12
# Bounds within this share of each other are one.
_ALIKE = 1e-6
# Pieces whose log ratio is above these shares of the best are made into intervals: wide ones lose less at their ends.
_SHARES = (1 - 1e-9, 0.997, 0.99, 0.96, 0.9)
# With noise on top thinner pieces are no part of S: what its outermost cells hold could not be told from them.
_THIN = 1e-15


@dataclass(frozen=True)
class BracketedLaw:
    """The law of a number that is released with probability `share`; at what is released instead nobody looks.

    `z` maps points to the quantile of the noise (of `kind`, scale 1) that puts theta there; it increases. The released
    number may miss theta by `slack` > 0 and the noise `hiding` on top; `low` and `high` are the walls.
    """

    z: Callable[[np.ndarray], np.ndarray]
    kind: type
    slack: float
    low: float = -np.inf
    high: float = np.inf
    hiding: Gaussian | SphericalLaplace | None = None
    share: float = 1.0

    def cells(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the ends of the cells of e, and their probabilities."""
        if self.hiding is None:
            return np.array([-self.slack]), np.array([self.slack]), np.ones(1)
        kind = type(self.hiding)
        # Narrow in the middle; beyond the outermost ends next to nothing is left.
        half = _REACH[kind] * np.linspace(0, 1, _CELLS // 2 + 1) ** 2
        ends = np.concatenate([[-np.inf], -half[:0:-1], half, [np.inf]])
        weights = np.abs(np.diff(_tail(kind, -np.abs(ends))))
        scale = self.hiding.scale
        return ends[:-1] * scale - self.slack, ends[1:] * scale + self.slack, weights

    @functools.cached_property
    def quantiles(self) -> np.ndarray:
        """Where the line may be cut; sought once, though a law is in several pairs."""
        far = _TAIL[self.kind]
        tail = np.linspace(_MIDDLE, far, _COARSE)
        z = np.concatenate([-tail[::-1], np.linspace(-_MIDDLE, _MIDDLE, _FINE), tail])
        low, high = np.full(len(z), max(self.low, -_WIDEST)), np.full(len(z), min(self.high, _WIDEST))
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            right = self.z(middle) < z
            low, high = np.where(right, middle, low), np.where(right, high, middle)
        return high

    def roughly(self, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return about the probability of each piece (edges[i], edges[i + 1]], and what rounding makes of it."""
        nodes = np.zeros(1) if self.hiding is None else self.hiding.scale * _middles(type(self.hiding))
        z = self._quantile(self._beyond(edges) - nodes[:, None])
        return tuple(self.share * part.mean(axis=0) for part in self._mass(z[:, :-1], z[:, 1:]))

    def least(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return the least probability of each interval (low, high]."""
        left, right, weight = self.cells()
        known = np.isfinite(left) & np.isfinite(right)
        left, right, share = (part[known, None] for part in (left, right, weight))
        a, b = self._beyond(low) - left, self._beyond(high) - right
        inner, error = self._mass(self._quantile(a), self._quantile(np.maximum(b, a)))
        return self.share * (share * np.maximum(inner - error, 0.0)).sum(axis=0)

    def most(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return the largest probability of each interval (low, high]."""
        left, right, weight = self.cells()
        known = np.isfinite(left) & np.isfinite(right)
        left, right, share = (part[known, None] for part in (left, right, weight))
        outer, error = self._mass(self._quantile(self._beyond(low) - right), self._quantile(self._beyond(high) - left))
        # Of e beyond the outermost ends nothing is known.
        return self.share * ((share * (outer + error)).sum(axis=0) + weight[~known].sum())

    def _beyond(self, points: np.ndarray) -> np.ndarray:
        """Return points, those at or beyond a wall at infinity: the release is the wall there."""
        return np.where(points < self.low, -np.inf, np.where(points >= self.high, np.inf, points))

    def _mass(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the probability between two quantiles of the noise, and its error."""
        upper = low > 0
        first = _tail(self.kind, np.where(upper, -high, low))
        second = _tail(self.kind, np.where(upper, -low, high))
        return np.maximum(second - first, 0.0), _ERROR * (first + second)

    def _quantile(self, points: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            inside = self.z(np.clip(points, -_WIDEST, _WIDEST))
        points = np.where(np.isnan(points), np.inf, points)
        inside = np.where(points >= min(self.high, _WIDEST), np.inf, inside)
        return np.where(points < max(self.low, -_WIDEST), -np.inf, inside)


def attack(first: BracketedLaw, second: BracketedLaw, *, delta: float) -> ExactAudit:
    """Return the largest bound that a union of pieces proves, in either direction; its event is in words alone."""
    cuts = np.concatenate([first.quantiles, second.quantiles, _beside_walls(first), _beside_walls(second)])
    cuts = np.unique(cuts[(cuts > first.low) & (cuts < first.high)])
    edges = np.concatenate([[-np.inf], cuts, [np.inf]])
    laws = [(law, *law.roughly(edges)) for law in (first, second)]
    found = []
    for side, ((likelier, p, p_error), (other, q, q_error)) in (("data", laws), ("neighbour", laws[::-1])):
        p, q = np.where(p > p_error + (_THIN if likelier.hiding else 0.0), p - p_error, 0.0), q + q_error
        value, _ = best_event(p, q, delta)
        for share in _SHARES:
            inside = np.flatnonzero(p > np.exp(value * share) * q)
            if len(inside):
                found.append(_certified(likelier, other, edges, inside, delta, side))
    nothing = ExactAudit(0.0, delta, (), "data", "none: no piece is likelier on one side", (), 0.0, 0.0)
    return first_of_best(found, lambda audit: audit.epsilon) if found else nothing


def first_of_best(candidates: Sequence[Any], value: Callable[[Any], float]) -> Any:
    """Return the first candidate that is as good as the best, but for what rounding may decide.

    Laws that mirror each other are equally good but for the last digits, which differ between processors: no row may
    depend on them.
    """
    values = [value(one) for one in candidates]
    least = max(values) * (1 - _ALIKE)
    return next(one for one, found in zip(candidates, values, strict=True) if found >= least)


def _certified(
    likelier: BracketedLaw, other: BracketedLaw, edges: np.ndarray, inside: np.ndarray, delta: float, side: str
) -> ExactAudit:
    """Return the bound of the best union of the intervals that these pieces make up."""
    turns = np.flatnonzero(np.diff(inside) > 1)
    low, high = edges[inside[np.append(0, turns + 1)]], edges[inside[np.append(turns, len(inside) - 1)] + 1]
    p, q = likelier.least(low, high), np.maximum(other.most(low, high), 1e-300)
    epsilon, chosen = best_event(p, q, delta)
    words = _words(low[chosen], high[chosen], likelier)
    return ExactAudit(epsilon, delta, (), side, words, (), float(p[chosen].sum()), float(min(q[chosen].sum(), 1.0)))


def _middles(kind: type) -> np.ndarray:
    """Return values of a noise of scale 1 in the middle of equally likely cells."""
    levels = (np.arange(_NODES) + 0.5) / _NODES
    if kind is Gaussian:
        return special.ndtri(levels)
    return np.where(levels < 0.5, np.log(2 * levels), -np.log(2 - 2 * levels))


def _beside_walls(law: BracketedLaw) -> np.ndarray:
    """Return cuts just inside the walls: a release there is one of the wall, but for what stands between."""
    widths = 10 * law.slack + (0.0 if law.hiding is None else law.hiding.scale) * np.array([0.0, 1.0, 30.0])
    walls = [(law.low, 1), (law.high, -1)]
    return np.concatenate([wall + sign * widths for wall, sign in walls if np.isfinite(wall)] or [[]])


def _tail(kind: type, z: np.ndarray) -> np.ndarray:
    return lower_tail(kind(1.0), z)


def _words(low: np.ndarray, high: np.ndarray, law: BracketedLaw) -> str:
    """Say where the event lies: its outermost ends."""
    if not len(low):
        return "none: no interval is likelier on one side"
    first, last = max(low[0], law.low), min(high[-1], law.high)
    number = "" if len(low) == 1 else f"{len(low)} intervals of "
    return f"output in {number}({first:.6g}, {last:.6g}]"
