r"""Two laws on a line given by densities: the hockey-stick divergence by quadrature.

An output theta is a monotone function of noise b: theta <= t iff -b <= J'(t) + l1 sign(t) (+0 at t = 0), as for the
minimiser over [low, high] of J(theta) + l1 |theta| + b theta, J convex. With G the distribution function of b, which is
symmetric, and nu its density,

    P(theta <= t) = G(J'(t) + l1 sign(t)),    an atom at 0 of G(J'(0) + l1) - G(J'(0) - l1), and atoms at low and high;

elsewhere the density is nu(J'(t) + l1 sign(t)) J''(t). Neither a solver nor a sample is needed.

Divergences. Cut the line at `points`; every atom is a piece of its own. For any cut

    sum over pieces of (P - e^epsilon Q)_+  <=  sup_S P(S) - e^epsilon Q(S),

with equality where no piece holds a root of log dP/dQ = epsilon inside. Roots between points are cut at, so what is
left out is of second order in the error of a root: the numbers are lower bounds that hold with certainty, and exact to
about ten digits. This is a derivation of its own beside `line`, which knows no density.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize

from dperm.laws.tails import between
from dperm.noise import Gaussian, SphericalLaplace

Noise = Gaussian | SphericalLaplace
# Points of a cut: even in theta, and even in the quantiles of either law.
POINTS = 300
# Depth of the cut's tails, in the noise's own scale: beyond lies less than 1e-32 (Gaussian) and 1e-26 (gamma).
_DEPTH = {Gaussian: 12.0, SphericalLaplace: 60.0}
# Inside a piece densities are looked at this share of it away from its ends, where J'' may jump.
_INSET = 1e-9
# Pieces around an extremum of the log-ratio are cut into so many; changes below `_FLAT` are rounding.
_TIP, _FLAT = 32, 1e-12
# Steps of regula falsi for a root inside a piece; the first is of second order in the piece's width already.
_STEPS = 3
# Halvings of a bracket: to the last bits of theta.
_BISECTIONS = 80
# Cuts of a piece where the sup of the log-ratio is sought.
_FINER = 65
# Accuracy of an epsilon that is searched for.
_EPSILON = 1e-12


@dataclass(frozen=True)
class Law:
    """The law of theta in [low, high], of a slope J' and a curvature J'' >= strong > 0, both functions of an array.

    J'' jumps, or changes fast, at `kinks`: points of every cut. b has the law `noise`, in one dimension Laplace's if
    spherical; `l1` is the weight of |theta|.
    """

    slope: Callable[[np.ndarray], np.ndarray]
    curvature: Callable[[np.ndarray], np.ndarray]
    kinks: tuple[float, ...]
    strong: float
    noise: Noise
    l1: float = 0.0
    low: float = -math.inf
    high: float = math.inf

    def edges(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the values of -b below which theta < t, and up to which theta <= t, for each point t of the set."""
        left = right = self.slope(points)
        # What is not there is not asked for: a bisection asks thousands of times, most often of a single point.
        if self.l1:
            left, right = (
                np.where(points > 0, left + self.l1, left - self.l1),
                np.where(points < 0, right - self.l1, right + self.l1),
            )
        if self.low > -math.inf:
            left = np.where(points <= self.low, -math.inf, left)
        if self.high < math.inf:
            right = np.where(points >= self.high, math.inf, right)
        return left, right

    def masses(self, points: np.ndarray) -> np.ndarray:
        """Return the probabilities of (tail, {t_0}, (t_0, t_1), {t_1}, ..., tail), shape (2 points + 1,)."""
        left, right = self.edges(points)
        cuts = np.empty(2 * len(points) + 2)
        cuts[0], cuts[-1] = -math.inf, math.inf
        cuts[1:-1:2], cuts[2:-1:2] = left, right
        return between(self.noise, cuts[:-1], cuts[1:])

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """Return the log density at points inside the set, away from 0 if there is an l1."""
        tilt = self.slope(points) + self.l1 * np.sign(points)
        if isinstance(self.noise, Gaussian):
            log_noise = -0.5 * (tilt / self.noise.scale) ** 2 - math.log(self.noise.scale * math.sqrt(2 * math.pi))
        else:
            log_noise = -np.abs(tilt) / self.noise.scale - math.log(2 * self.noise.scale)
        return log_noise + np.log(self.curvature(points))

    def reach(self, tilts: float | np.ndarray) -> float | np.ndarray:
        """Return a bound on |theta| for |b| up to `tilts`, by strong convexity; the set may cut it shorter."""
        return (tilts + abs(float(self.slope(np.zeros(1))[0])) + self.l1) / self.strong

    def minimiser(self, tilts: np.ndarray) -> np.ndarray:
        """Return theta for each b, by bisection to the last bits."""
        reach = self.reach(np.abs(tilts))
        low, high = np.maximum(-reach, self.low), np.minimum(reach, self.high)
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            below, above = self.edges(middle)
            # theta < middle iff -b < below; theta > middle iff -b > above.
            before = low, high
            high = np.where(-tilts <= above, middle, high)
            low = np.where(-tilts >= below, middle, low)
            # No halving changes what this one did not.
            if np.array_equal(before, (low, high)):
                break
        return 0.5 * (low + high)


def cut(first: Law, second: Law, *more: float) -> np.ndarray:
    """Return rising points that cut the line finely for two laws of the same set and noise.

    With all their kinks, 0, the ends of the set, and those in `more`.
    """
    depth = _DEPTH[type(first.noise)] * first.noise.scale
    levels = np.linspace(-depth, depth, POINTS)
    reach = max(first.reach(depth), second.reach(depth))
    low, high = max(-reach, first.low), min(reach, first.high)
    even = np.linspace(low, high, 4 * POINTS)
    quantiles = [np.interp(levels, one.slope(even), even) for one in (first, second)]
    ends = [0.0, *first.kinks, *second.kinks, *more, first.low, first.high]
    if isinstance(first.noise, SphericalLaplace):
        # The density of b has a kink at 0.
        ends += [float(one.minimiser(np.zeros(1))[0]) for one in (first, second)]
    ends = [t for t in ends if low <= t <= high]
    points = np.unique(np.concatenate([np.linspace(low, high, POINTS), *quantiles, ends]))
    return points[(points >= first.low) & (points <= first.high)]


class Pair:
    """Two laws on one cut: the hockey-stick divergence and the sup of the log-ratio, first against second."""

    def __init__(self, first: Law, second: Law, *more: float):
        self.first, self.second = first, second
        self.points = self._finer(cut(first, second, *more))
        self._masses = first.masses(self.points), second.masses(self.points)
        low, high = self.points[:-1], self.points[1:]
        inset = _INSET * (high - low)
        self._ends = low + inset, high - inset
        self._logs = tuple(self._log_ratio(ends) for ends in self._ends)

    def _finer(self, points: np.ndarray) -> np.ndarray:
        """Cut the pieces around every extremum of the log-ratio finer: its tip may be all that passes an epsilon."""
        logs = self._log_ratio(0.5 * (points[:-1] + points[1:]))
        steps = np.diff(logs)
        turns = np.flatnonzero((steps[:-1] * steps[1:] < 0) & (np.abs(steps[:-1]) + np.abs(steps[1:]) > _FLAT))
        pieces = np.unique(turns[:, None] + np.arange(3))
        shares = np.arange(1, _TIP) / _TIP
        return np.union1d(points, (points[pieces, None] + np.diff(points)[pieces, None] * shares).ravel())

    def _log_ratio(self, points: np.ndarray) -> np.ndarray:
        return self.first.log_density(points) - self.second.log_density(points)

    def reversed(self) -> "Pair":
        """Return the same pair, second against first."""
        other = object.__new__(Pair)
        other.first, other.second, other.points = self.second, self.first, self.points
        other._masses, other._ends = self._masses[::-1], self._ends
        other._logs = tuple(-logs for logs in self._logs)
        return other

    def delta(self, epsilon: float) -> float:
        """Return sup_S P(S) - e^epsilon Q(S): the least delta for this direction at epsilon."""
        (p, q), factor = self._masses, math.exp(epsilon)
        total = np.maximum(p - factor * q, 0.0)
        left, right = self._logs[0] - epsilon, self._logs[1] - epsilon
        mixed = np.flatnonzero(left * right < 0)
        if len(mixed):
            roots = self._roots(mixed, epsilon)
            # Piece k between two points stands at 2 + 2 k.
            total[2 + 2 * mixed] = 0.0
            for start, stop in ((self.points[mixed], roots), (roots, self.points[mixed + 1])):
                parts = [
                    between(one.noise, one.edges(start)[1], one.edges(stop)[0]) for one in (self.first, self.second)
                ]
                total[2 + 2 * mixed] += np.maximum(parts[0] - factor * parts[1], 0.0)
        return float(total.sum())

    def _roots(self, pieces: np.ndarray, epsilon: float) -> np.ndarray:
        low, high = (ends[pieces] for ends in self._ends)
        below, above = (logs[pieces] - epsilon for logs in self._logs)
        for _ in range(_STEPS):
            root = low - below * (high - low) / (above - below)
            value = self._log_ratio(root) - epsilon
            same = np.sign(value) == np.sign(below)
            low, below = np.where(same, root, low), np.where(same, value, below)
            high, above = np.where(same, high, root), np.where(same, above, value)
        return root

    def largest(self) -> float:
        """Return sup log dP/dQ over the cut: the epsilon that pure privacy needs for this direction."""
        atoms = [mass[1:-1:2] for mass in self._masses]
        held = atoms[1] > 0
        logs = np.log(atoms[0][held]) - np.log(atoms[1][held]) if held.any() else np.array([-math.inf])
        # The steepest piece and its neighbours, twice cut finer: the sup may lie inside.
        k = int(np.argmax(np.maximum(*self._logs)))
        low, high = (ends[max(k - 1, 0) : k + 2] for ends in self._ends)
        inside = -math.inf
        for _ in range(2):
            finer = np.linspace(low, high, _FINER, axis=-1)
            values = self._log_ratio(finer)
            inside = max(inside, float(values.max()))
            piece, at = np.unravel_index(int(np.argmax(values)), values.shape)
            around = finer[piece, max(at - 1, 0)], finer[piece, min(at + 1, _FINER - 1)]
            low, high = np.array([around[0]]), np.array([around[1]])
        return max(float(logs.max()), inside)

    def epsilon(self, delta: float) -> float:
        """Return the least epsilon >= 0 with this direction's `delta(epsilon)` at most delta; delta above 0."""
        if self.delta(0.0) <= delta:
            return 0.0
        # A hair above the sup nothing is left.
        high = self.largest() * (1 + 1e-6) + 1e-9
        return float(optimize.brentq(lambda epsilon: self.delta(epsilon) - delta, 0.0, high, xtol=_EPSILON))

    def variation(self) -> float:
        """Return the total variation distance."""
        return self.delta(0.0)


def with_tail(one: Law, slope: Callable, curvature: Callable, kinks: Sequence[float]) -> Law:
    """Return the law with a smooth convex function, given by its derivatives, in place of l1 |theta|."""
    return replace(
        one,
        slope=lambda t: one.slope(t) + slope(t),
        curvature=lambda t: one.curvature(t) + curvature(t),
        kinks=(*one.kinks, *kinks),
        l1=0.0,
    )
