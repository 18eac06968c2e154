r"""Example 1 of kifer2012 and the limit theorem behind it (Theorem 1, Lemmas 10, 18 and 21, Claim 12), exactly.

phi(b) = argmin J(theta) + |theta| + b theta on the line has an atom at 0. phi_i smooths r = |theta| by the kernel of
Equation (5), K_i(theta) proportional to Psi(i theta^2) with the bump Psi(x) = exp(-1/(1 - x^2)) on (-1, 1): its radius
is rho_i = i^{-1/2}. With k(u) proportional to exp(-1/(1 - u^4)) and its distribution function G,

    r_i = r * K_i,      r_i'(theta) = 2 G(theta/rho_i) - 1,      r_i''(theta) = 2 k(theta/rho_i)/rho_i,

which is r' wherever |theta| >= rho_i. The laws of phi and of phi_i are those of `quadrature`.

Design `q1`: J of at most one record (Huber with a small knee, or logistic) with Delta = 2 lambda/epsilon and the
printed Gaussian noise; D has no record, D' one. Rows:

    lemma-10     H(phi) <= H(phi_i) + P(0 < |phi| < rho_i), H the hockey-stick divergence of D and D' in either
                 direction. For phi and phi_i are equal where |phi| >= rho_i, and 0 holds all else but the mass on the
                 right, the `slack`, which vanishes as i grows: H(phi) <= liminf H(phi_i). Where the slack is H(phi)
                 or more this says nothing, and the row is not `informative`;
    claim-12     mu(A) <= mu_i(A) for open A, mu_i(B) <= mu(B) for closed B: intervals with an end at 0 or around it,
                 and {0}, as soon as rho_i is shorter than the interval;
    example-1    P(phi = 0) <= TV(phi_i, phi);
    distance     max_b |phi_i(b) - phi(b)| falls from one i to the next;
    lemma-18     |phi_i - phi| <= sqrt(12 w/Delta) with w = sup |r_i - r| = r_i(0) < Delta/6, over many b; relative.

Design `rademacher` (p = 8, n records of +-1): row lemma-21. F is a ball, J the squared loss; the minimiser of
J + i dist(., F) over R^p equals that of J over F once i >= i_0(b) = ||grad J + b|| at the latter (its multiplier, as
dist has subgradients of norm at most 1). `threshold` is i_0; `excess` the distance of the two for whole i from i_0 on,
both minimisers being certified, and `below` the same for i < i_0. Neighbours: add/remove.
"""

import functools
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from scipy import integrate
from scipy.interpolate import CubicHermiteSpline

from dperm import losses, seeds
from dperm.domain import Budget, Domain
from dperm.laws.quadrature import Law, Pair, with_tail
from dperm.mechanisms import objective
from dperm.noise import Gaussian
from dperm.solvers import ball
from dperm_papers.kifer2012.example1.settings import Settings
from dperm_papers.kifer2012.shared import designs
from dperm_papers.kifer2012.shared.quadrature import law
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

# Targets of the one record of D': at 0, within the bump's reach, and far off (full force everywhere).
_TARGETS = {"huber": (0.0, 0.05, 0.5, 1e6), "logistic": (1.0,)}
# Where delta(epsilon) is drawn and held against the limit, in units of epsilon.
_PROFILE = np.linspace(0, 0.5, 41)
_HELD = (0.0, 0.05, 0.1, 0.25, 0.5)
# Points of a distribution function, of a grid of b, and of a cut inside the bump.
_CDF, _TILTS, _CUTS = 201, 4001, 801
# Ends c of the intervals of claim-12, in theta's units.
_ENDS = (0.02, 0.2, 1.0)
# Design rademacher: records, features, radius of F; multiples of i_0 that are tried.
_N, _P, _RADIUS = 64, 8, 1.0
_ABOVE, _BELOW = (1.0, 1.5, 10.0, 1000.0), (0.5, 0.95)
# Proximal steps: the condition number is below 10, so that the error falls to rounding.
_STEPS = 400
# What rounding may add to a minimiser's error, in radii.
_ROUNDING = 1e-12


def run(cell: Cell, rows: Rows) -> None:
    """Measure one design.

    Columns: `index` is i, infinite for the limit; `at` the point of a profile or distribution function, or the multiple
    of i_0; `set` a set in words; `informative` is false where an inequality could not fail.
    """
    rows = rows.at(
        variant="gaussian", guarantee="proved_exact", epsilon=cell.settings.epsilon, delta=cell.settings.delta,
        loss="", target=0.0, direction="", set="", at=0.0, index=math.inf, informative=True,
    )  # fmt: skip
    {"q1": _line, "rademacher": _ball}[cell.point["design"]](cell, rows)


@functools.cache
def bump() -> tuple[Callable, Callable, float]:
    """Return k, G and E|U| of the bump on (-1, 1), the first two as functions on the line."""

    def plain(u):
        inside = np.abs(u) < 1
        return np.where(inside, np.exp(-1 / np.where(inside, 1 - u**4, 1.0)), 0.0)

    nodes = np.linspace(-1, 1, 4097)
    gauss, weights = np.polynomial.legendre.leggauss(12)
    half = 0.5 * np.diff(nodes)[:, None]
    steps = (half * weights * plain(nodes[:-1, None] + half * (1 + gauss))).sum(axis=1)
    total = steps.sum()
    table = CubicHermiteSpline(nodes, np.concatenate([[0], np.cumsum(steps)]) / total, plain(nodes) / total)
    mean = 2 * integrate.quad(lambda u: u * float(plain(u)), 0, 1, epsabs=1e-14)[0] / total
    return lambda u: plain(u) / total, lambda u: table(np.clip(u, -1, 1)), mean


def smoothed(limit: Law, i: float) -> Law:
    """Return the law of phi_i."""
    density, distribution, _ = bump()
    radius = i**-0.5
    return with_tail(
        limit,
        lambda t: limit.l1 * (2 * distribution(t / radius) - 1),
        lambda t: limit.l1 * 2 * density(t / radius) / radius,
        radius * np.linspace(-1, 1, _CUTS),
    )


def _line(cell: Cell, rows: Rows) -> None:
    settings = cell.settings
    for loss in (losses.make("huber", knee=settings.huber_knee), losses.make("logistic")):
        domain = Domain(x_norm=1.0)
        curvature = 2 * loss.curvature_bound(domain) / settings.epsilon
        noise, _ = objective.calibrate(
            loss, domain, Budget(settings.epsilon, settings.delta),
            curvature=curvature, calibration="paper", neighbours="add_remove",
        )  # fmt: skip
        empty = law(loss, (), curvature, noise, l1=1.0)
        here = rows.at(loss=loss.name)
        _add_example(here.at(row="example-1"), empty, settings.indices)
        for target in _TARGETS[loss.name]:
            full = law(loss, ((1.0, target),), curvature, noise, l1=1.0)
            _add_lemma_10(here.at(target=target, row="lemma-10"), empty, full, settings)


def _add_example(rows: Rows, limit: Law, indices: Sequence[int]) -> None:
    """Measure Example 1, Claim 12 and Lemma 18 on the data set without a record, whose J is quadratic."""
    scale = limit.noise.scale
    atom = float(limit.masses(np.zeros(1))[1])
    rows.add("atom", atom)
    grid = np.linspace(-1, 1, _CDF) * 2 * (1 + scale) / limit.strong
    _add_cdf(rows, limit, grid)
    # Fine where phi leaves 0, and over all of the noise.
    tilts = np.concatenate([np.linspace(-2, 2, _TILTS), np.linspace(-8, 8, _TILTS) * scale])
    exact = limit.minimiser(tilts)
    last = math.inf
    for i in indices:
        smooth, here = smoothed(limit, i), rows.at(index=float(i))
        # Cut at the edges of the bump too, beyond which the two laws are one.
        variation = Pair(smooth, limit, i**-0.5, -(i**-0.5)).variation()
        here.add("variation", variation)
        here.add("excess", atom - variation)
        _add_cdf(here, smooth, grid)
        distance = float(np.abs(smooth.minimiser(tilts) - exact).max())
        here.add("distance", distance)
        if last < math.inf:
            here.add("excess", distance - last, row="distance")
        last = distance
        worst = limit.l1 * bump()[2] * i**-0.5
        if worst < limit.strong / 6:
            bound = math.sqrt(12 * worst / limit.strong)
            here.add("bound", bound, row="lemma-18")
            here.add("excess", distance / bound - 1, row="lemma-18")
        for name, excess in _claim_12(limit, smooth, i):
            here.add("excess", excess, row="claim-12", set=name)


def _add_cdf(rows: Rows, one: Law, grid: np.ndarray) -> None:
    """Add P(theta <= t), and at an atom what it jumps from as well."""
    masses = one.masses(grid)
    below, upto = np.cumsum(masses)[:-1:2], np.cumsum(masses)[1::2]
    for t, left, right in zip(grid, below, upto, strict=True):
        if right > left:
            rows.add("cdf", left, at=t)
        rows.add("cdf", right, at=t)


def _claim_12(limit: Law, smooth: Law, i: float) -> Iterator[tuple[str, float]]:
    """Give mu(A) - mu_i(A) of open sets and mu_i(B) - mu(B) of closed ones."""
    yield "{0}", float(smooth.masses(np.zeros(1))[1] - limit.masses(np.zeros(1))[1])
    for c in [c for c in _ENDS if i**-0.5 < c]:
        # Tail, {-c}, (-c, 0), {0}, (0, c), {c}, tail.
        mu, mu_i = (one.masses(np.array([-c, 0.0, c])) for one in (limit, smooth))
        for name, pieces in ((f"(0, {c})", [4]), (f"({-c}, 0)", [2]), (f"({-c}, {c})", [2, 3, 4])):
            yield name, float(mu[pieces].sum() - mu_i[pieces].sum())
        for name, pieces in ((f"[0, {c}]", [3, 4, 5]), (f"[{-c}, 0]", [1, 2, 3]), (f"[{-c}, {c}]", [1, 2, 3, 4, 5])):
            yield name, float(mu_i[pieces].sum() - mu[pieces].sum())


def _add_lemma_10(rows: Rows, empty: Law, full: Law, settings: Settings) -> None:
    """Measure delta(epsilon) of phi and of every phi_i, in both directions."""
    epsilon = settings.epsilon
    removing = Pair(empty, full)
    pairs = {math.inf: {"removing": removing, "adding": removing.reversed()}}
    for i in settings.indices:
        smooth = Pair(smoothed(empty, i), smoothed(full, i))
        pairs[float(i)] = {"removing": smooth, "adding": smooth.reversed()}
    for i, directions in pairs.items():
        for direction, pair in directions.items():
            here = rows.at(index=i, direction=direction)
            for at in _PROFILE * epsilon:
                here.add("profile", pair.delta(at), at=at)
            if i == math.inf:
                continue
            limit = pairs[math.inf][direction]
            # Under the first law: tail, {-rho}, (-rho, 0), {0}, (0, rho), {rho}, tail.
            near = limit.first.masses(np.array([-(i**-0.5), 0.0, i**-0.5]))
            slack = float(near[2] + near[4])
            for at in _HELD:
                spent = limit.delta(at * epsilon)
                inequality = here.at(at=at * epsilon, informative=slack < spent)
                inequality.add("excess", spent - pair.delta(at * epsilon))
                inequality.add("slack", slack)


def _ball(cell: Cell, rows: Rows) -> None:
    """Measure Lemma 21: the penalised minimiser against the constrained one, over draws of b."""
    settings = cell.settings
    domain = Domain(x_norm=math.sqrt(_P), y_bound=float(_P), theta_norm=_RADIUS)
    loss, budget = losses.squared(), Budget(settings.epsilon, settings.delta)
    curvature = 2 * loss.curvature_bound(domain) / budget.epsilon
    noise, _ = objective.calibrate(
        loss, domain, budget, curvature=curvature, calibration="paper", neighbours="add_remove"
    )
    assert isinstance(noise, Gaussian)
    names = (cell.experiment, "rademacher", _N, _P)
    X, y, _ = designs.rademacher(_N, _P, _P // 4, seeds.generator(cell.seed, "data", *names))
    tilts = noise.sample((settings.repeats, _P), seeds.generator(cell.seed, "noise", *names))
    hessian, linear = X.T @ X + curvature * np.eye(_P), X.T @ y - tilts
    found = ball.minimise(hessian, linear, radius=_RADIUS, modulus=curvature)
    thresholds = np.linalg.norm(found.theta @ hessian - linear, axis=1)
    binds = np.linalg.norm(found.theta, axis=1) >= _RADIUS * (1 - 1e-9)
    binding = np.flatnonzero(binds)
    rows = rows.at(loss="squared", row="lemma-21")
    rows.add("threshold", np.where(binds, thresholds, 0.0))
    for metric, multiples in (("excess", _ABOVE), ("below", _BELOW)):
        for multiple in multiples:
            whole = np.ceil(thresholds * multiple) if metric == "excess" else np.floor(thresholds * multiple)
            theta, slack = _penalised(hessian, linear[binding], whole[binding], curvature)
            away = np.linalg.norm(theta - found.theta[binding], axis=1)
            for k, distance, error in zip(binding, away, slack + found.certificate[binding], strict=True):
                here = rows.at(repeat=int(k), index=float(whole[k]), at=multiple)
                here.add(metric, distance)
                if metric == "excess":
                    here.add("slack", error)


def _penalised(
    hessian: np.ndarray, linear: np.ndarray, weights: np.ndarray, modulus: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the minimisers of theta'H theta/2 - linear'theta + i dist(theta, ball), by proximal gradient descent.

    The prox of the distance moves a point towards the ball by i times the step, and no further than to it. The second
    array bounds the distance to the minimiser: the prox residual is a gradient up to (1 + L step) of its length.
    """
    step = 1 / np.linalg.eigvalsh(hessian)[-1]
    theta = np.zeros_like(linear)
    for _ in range(_STEPS):
        ahead = theta - step * (theta @ hessian - linear)
        length = np.linalg.norm(ahead, axis=1)
        shorter = np.maximum(length - step * weights, np.minimum(length, _RADIUS))
        last, theta = theta, ahead * (shorter / np.maximum(length, 1e-300))[:, None]
    residual = np.linalg.norm(theta - last, axis=1) / step
    return theta, 2 * residual / modulus + _ROUNDING * _RADIUS
