r"""Theorem 4 of docs/privacy.md against the logistic mechanism's own laws, by quadrature over theta, in p = 1 and 2.

A record (x, y) is its row v = y x: the loss is log(1 + e^{-<v, theta>}), its slope 1/(1 + e^{<v, theta>}), cut off at
`cap`. A row of weight w is w equal records. `pull` is a constant force: that of w rows 2 pull/w for large w, whose
curvature is at most pull^2/w in all.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
import together
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from dperm import losses
from dperm.accounting import gaussian, logistic
from dperm.domain import Budget, Domain
from dperm.mechanisms import base, objective

pytestmark = pytest.mark.slow

RELATIONS = ["add_remove", "replace"]


@dataclass(frozen=True)
class Pair:
    """Rows in common with their weights, the row that leaves (none under add/remove) and the row that comes; R = 1.

    `weights` are those of the row that leaves and of the one that comes, in [0, 1]: with sample weights up to W all is
    divided by W (Corollary W), the leverage too.
    """

    leaves: tuple
    comes: tuple
    leverage: float
    epsilon: float
    cap: float = 1.0
    common: tuple = ()
    pull: float | tuple = 0.0
    weights: tuple = (1.0, 1.0)

    @property
    def sides(self):
        leaves, comes = self.weights
        return [*self.common, *((leaves, row) for row in self.leaves)], [
            *self.common,
            *((comes, row) for row in self.comes),
        ]

    @property
    def neighbours(self):
        return "replace" if self.leaves else "add_remove"

    @property
    def theorem(self):
        return {"leverage": self.leverage, "neighbours": self.neighbours, "cap": self.cap}


def law(pair, rows, theta):
    """Return b = B_D(theta), shape (..., p), and log det H_D(theta) by p by p determinants."""
    p = theta.shape[-1]
    tilt = np.asarray(pair.pull) - theta / pair.leverage
    # Entries of the Hessian: [0, 0], and [1, 1] and [0, 1] in the plane.
    places = [(0, 0)] if p == 1 else [(0, 0), (1, 1), (0, 1)]
    entries = [(i == j) / pair.leverage for i, j in places]
    for weight, row in rows:
        row = np.asarray(row, float)
        slope = special.expit(-theta @ row)
        tilt = tilt + weight * np.minimum(slope, pair.cap)[..., None] * row
        curved = weight * np.where(slope < pair.cap, slope * special.expit(theta @ row), 0.0)
        entries = [entry + curved * (row[i] * row[j]) for entry, (i, j) in zip(entries, places, strict=True)]
    det = entries[0] if p == 1 else entries[0] * entries[1] - entries[2] ** 2
    return tilt, np.broadcast_to(np.log(det), theta.shape[:-1])


def farthest(pair, sigma, deviations):
    """How far from the pull's own point a minimiser is, for noise of so many standard deviations."""
    return (deviations * sigma + 1 + sum(weight * np.linalg.norm(row) for weight, row in pair.common)) * pair.leverage


def cells(edges):
    """Standard normal probabilities between increasing edges, each with its full relative accuracy."""
    return np.where(edges[:-1] > 0, -np.diff(special.ndtr(-edges)), np.diff(special.ndtr(edges)))


def gap(first, second, epsilon):
    """The larger of both directions' sum of (P - e^epsilon Q)_+ over cells: never above the pair's true delta."""
    factor = math.exp(epsilon)
    return max(np.maximum(first - factor * second, 0).sum(), np.maximum(second - factor * first, 0).sum())


def line_delta(pair, sigma, points=2001):
    """p = 1: P(theta <= t) = Phi(-B_D(t)/sigma), so there is no error but that of the cells, which lowers delta."""
    reach = farthest(pair, sigma, 12)
    theta = np.linspace(-reach, reach, points) + pair.leverage * pair.pull
    z = np.linspace(-12, 12, points)

    def edges(theta, rows):
        return -law(pair, rows, theta[:, None])[0][:, 0] / sigma

    # Even in theta and in either noise.
    theta = np.unique(np.concatenate([theta, *(np.interp(z, edges(theta, rows), theta) for rows in pair.sides)]))
    return gap(*(cells(edges(theta, rows)) for rows in pair.sides), pair.epsilon)


def plane_delta(pair, sigma, points=300):
    """p = 2: the density of Lemma 1 on a grid that holds all but 1e-10 of either law."""
    reach = farthest(pair, sigma, 6.5)
    for count in (points, 2 * points, 4 * points):
        axis = np.linspace(-reach, reach, count)
        theta = np.stack(np.meshgrid(axis, axis), axis=-1) + pair.leverage * np.asarray(pair.pull)
        masses = []
        for rows in pair.sides:
            tilt, log_det = law(pair, rows, theta)
            density = np.exp(log_det - np.sum(tilt**2, axis=-1) / (2 * sigma**2)) / (2 * math.pi * sigma**2)
            masses.append(density * (axis[1] - axis[0]) ** 2)
        if max(abs(mass.sum() - 1) for mass in masses) < 2e-3:
            return gap(*masses, pair.epsilon)
    raise AssertionError(f"the grid is too coarse for {pair}")


def log_ratio(pair, scale, theta):
    """Log-density ratio of the two laws for b with density proportional to exp(-||b||/scale), at every theta."""
    first, second = (
        log_det - np.linalg.norm(tilt, axis=-1) / scale
        for tilt, log_det in (law(pair, rows, theta) for rows in pair.sides)
    )
    return first - second


def unit(angle):
    return (math.cos(angle), math.sin(angle))


SIZE = st.floats(-3, 0).map(lambda power: 10**power)
PULL = st.floats(-30, 30)
EPSILON = st.sampled_from([0.1, 0.5, 1.0, 2.0, 5.0])
DELTA = st.floats(-6, -0.3).map(lambda power: 10**power)
CAP = st.sampled_from([1.0, 1.0, 0.8, 0.6, 0.4])
LENGTH = st.one_of(st.just(1.0), st.floats(0.2, 1))  # as long as may be, or shorter
WEIGHT = st.one_of(st.just(1.0), st.floats(0.02, 1))  # as heavy as may be, or lighter


@st.composite
def pairs(draw, neighbours, p):
    def row(length):
        if p == 1:
            return (draw(st.sampled_from([-1.0, 1.0])) * length,)
        return tuple(length * step for step in unit(draw(st.floats(0, 2 * math.pi))))

    # In the plane: no cap, which makes the density jump along a line, and no ridge too narrow for a grid.
    epsilon, cap, share = draw(EPSILON), draw(CAP), draw(st.floats(0.02, 0.99))
    heaviest, most = 2.5, 3
    if p == 2:
        epsilon, cap, share, heaviest, most = min(epsilon, 2.0), 1.0, 0.4 * share, 0.5, 2
    leverage = math.expm1(epsilon * share) / (min(cap, 0.5) * (1 - min(cap, 0.5)))
    return Pair(
        (row(draw(LENGTH)),) if neighbours == "replace" else (),
        (row(draw(LENGTH)),),
        leverage,
        epsilon,
        cap,
        tuple(
            (float(int(10 ** draw(st.floats(0, heaviest)))), row(draw(SIZE))) for _ in range(draw(st.integers(0, most)))
        ),
        draw(PULL) if p == 1 else (draw(PULL), draw(PULL)),
        (draw(WEIGHT), draw(WEIGHT)),
    )


# Gaussian noise


@pytest.mark.parametrize("neighbours", RELATIONS)
@given(data=st.data(), delta=DELTA)
def test_no_pair_on_the_line_exceeds_the_theorem(neighbours, data, delta):
    pair = data.draw(pairs(neighbours, 1))
    a = logistic.logistic_ratio(epsilon=pair.epsilon, delta=delta, **pair.theorem)
    assert line_delta(pair, pair.cap / a) <= delta * (1 + 1e-9) + 1e-13


@pytest.mark.parametrize("neighbours", RELATIONS)
@settings(max_examples=12)
@given(data=st.data(), delta=DELTA)
def test_no_pair_in_the_plane_exceeds_the_theorem(neighbours, data, delta):
    check_plane(data.draw(pairs(neighbours, 2)), max(delta, 1e-4))


@pytest.mark.parametrize("neighbours", RELATIONS)
@settings(max_examples=200)
@given(data=st.data(), delta=DELTA)
def test_no_pair_in_the_plane_exceeds_the_theorem_in_hundreds(neighbours, data, delta):
    check_plane(data.draw(pairs(neighbours, 2)), max(delta, 1e-4))


def check_plane(pair, delta):
    a = logistic.logistic_ratio(epsilon=pair.epsilon, delta=delta, **pair.theorem)
    found = plane_delta(pair, pair.cap / a)
    # The grid's error of a delta, relative and absolute.
    assert found <= delta * 1.01 + 1e-8
    return found / delta


@pytest.mark.parametrize("angle", [0.0, 0.4, 1.2, 2.0, 2.8, math.pi])
def test_replaced_rows_at_any_angle_in_the_plane(angle):
    """Both pull with half their force, or with nearly all of it where rows in common pull against them."""
    for pull in (0.0, 20.0):
        against = tuple(-pull * step for step in unit(0.5 * angle))
        check_plane(Pair((unit(0.0),), (unit(angle),), 0.5, 1.0, pull=against), 1e-3)


def worst_delta(epsilon, share, sigma):
    """One row more on the line, with the leverage of log(1 + q/4) = share * epsilon: the worst of 21 pulls."""
    pair = Pair((), ((1.0,),), 4 * math.expm1(share * epsilon), epsilon)
    return max(line_delta(replace(pair, pull=pull * sigma), sigma) for pull in np.linspace(-5, 5, 21))


@together.over("epsilon, delta", [(0.1, 1e-6), (1.0, 1e-4), (5.0, 1e-2)])
def test_the_theorem_is_all_but_attained_where_the_determinant_is_free(epsilon, delta):
    """R^2/Delta <= epsilon: a row that is pulled at with full force needs every bit of the noise."""
    pair = Pair((), ((1.0,),), 0.2 * epsilon, epsilon)
    a = logistic.logistic_ratio(epsilon=epsilon, delta=delta, **pair.theorem)
    assert a == pytest.approx(gaussian.gaussian_ratio(epsilon, delta), rel=1e-8)
    assert 0.99 * delta < line_delta(replace(pair, pull=-20 / a - 20 / pair.leverage), 1 / a) <= delta


def test_replace_one_is_all_but_attained_in_the_plane_where_the_determinant_is_free():
    """Nearly opposite rows, both pulled at with full force."""
    epsilon, delta, angle = 1.0, 1e-3, 0.03
    rows = unit(angle), unit(math.pi - angle)
    pair = Pair((rows[0],), (rows[1],), 0.05, epsilon, pull=(0.0, -20.0 / angle / 0.05))
    a = logistic.logistic_ratio(epsilon=epsilon, delta=delta, **pair.theorem)
    found = plane_delta(pair, 1 / a)
    assert 0.95 * delta < found <= delta * 1.01


# Mutants: each is refuted by a law that the theorem covers


def forgets_curvature(epsilon, leverage, delta):
    return gaussian.gaussian_ratio(epsilon, delta)


def fixes_the_slope_at_one_half(epsilon, leverage, delta):
    """Most curvature, half the force: H_{epsilon - C}(a/2)."""
    return 2 * gaussian.gaussian_ratio(epsilon - math.log1p(leverage / 4), delta)


@pytest.mark.parametrize(
    ("mutant", "epsilon", "share"),
    [
        (forgets_curvature, 0.1, 0.9),
        (forgets_curvature, 1.0, 0.5),
        (forgets_curvature, 5.0, 0.9),
        (fixes_the_slope_at_one_half, 0.1, 0.2),
        (fixes_the_slope_at_one_half, 1.0, 0.2),
        (fixes_the_slope_at_one_half, 5.0, 0.2),
    ],
)
def test_gaussian_mutants_are_caught_on_the_line_and_the_theorem_is_not(mutant, epsilon, share):
    delta, leverage = 1e-6, 4 * math.expm1(share * epsilon)
    assert worst_delta(epsilon, share, 1 / mutant(epsilon, leverage, delta)) > 1.5 * delta
    a = logistic.logistic_ratio(epsilon=epsilon, delta=delta, leverage=leverage, neighbours="add_remove")
    assert worst_delta(epsilon, share, 1 / a) <= delta


def test_noise_for_a_record_more_is_too_little_for_one_replaced():
    epsilon, delta, angle = 1.0, 1e-3, 0.3
    pair = Pair((unit(angle),), (unit(math.pi - angle),), 0.2, epsilon, pull=(0.0, -20.0 / angle / 0.2))
    a = logistic.logistic_ratio(epsilon=epsilon, delta=delta, leverage=0.2, neighbours="add_remove")
    assert plane_delta(pair, 1 / a) > 10 * delta


# Sample weights up to W, with the constants of the mechanism itself

BUDGET, UNIT = Budget(1.0, 1e-4), Domain(x_norm=1.0)


def weighing(bound):
    return replace(losses.logistic(), weight_bound=bound)


def weighted_delta(weight, sigma, curvature, pull):
    """The delta of a record of this weight, undivided: it pulls w times as hard as its row."""
    pair = Pair((), ((1.0,),), 1 / curvature, BUDGET.epsilon, pull=pull, weights=(0.0, weight))
    return line_delta(pair, sigma)


def far(sigma, curvature):
    """A pull that leaves a row of length 1 all of its slope."""
    return -20 * sigma - 20 * curvature


@together.over("bound", [0.25, 4.0])
@together.over("share", [0.3, 5.0])
def test_the_worst_weight_on_the_line_is_the_largest(bound, share):
    """At Delta = 5 W the determinant is free, and w = W needs every bit of the noise; at .3 W it is not."""
    curvature = share * bound
    given = {"curvature": curvature, "calibration": "tight", "neighbours": "add_remove"}
    sigma = objective.calibrate(weighing(bound), UNIT, BUDGET, **given)[0].scale
    pulls = *np.linspace(-5, 5, 21) * sigma, far(sigma, curvature)
    worst, less, least = (
        max(weighted_delta(part * bound, sigma, curvature, pull) for pull in pulls) for part in (1.0, 0.7, 0.3)
    )
    assert BUDGET.delta >= worst > less > least
    assert worst > (0.99 if share == 5.0 else 0.1) * BUDGET.delta


def test_noise_that_forgets_the_weight_or_ties_it_as_a_length_is_caught_on_the_line():
    bound, curvature = 4.0, 20.0
    given = {"curvature": curvature, "neighbours": "add_remove"}
    tied = base.record(weighing(bound), base.bounds(weighing(bound), UNIT))
    once = base.record(losses.logistic(), base.bounds(losses.logistic(), UNIT))
    scales = [record.scale(BUDGET, **given) for record in (tied, once, replace(tied, weight=1.0))]
    found = [weighted_delta(bound, sigma, curvature, far(sigma, curvature)) for sigma in scales]
    assert found[0] <= BUDGET.delta and min(found[1:]) > 100 * BUDGET.delta


# Gamma noise


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("neighbours", RELATIONS)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_no_log_ratio_exceeds_epsilon_with_gamma_noise(neighbours, p, data, seed):
    pair = data.draw(pairs(neighbours, p))
    scale = logistic.logistic_gamma_scale(pair.cap, epsilon=pair.epsilon, **pair.theorem)
    rng = np.random.default_rng(seed)
    direction = rng.standard_normal((4000, p))
    size = np.concatenate([np.geomspace(1e-4, 1e4, 2000), np.linspace(0, 20, 2000)])
    theta = direction / np.linalg.norm(direction, axis=1, keepdims=True) * size[:, None]
    assert np.abs(log_ratio(pair, scale, theta)).max() <= pair.epsilon * (1 + 1e-9)


@together.over("share", [0.1, 0.5, 0.9])
@together.over("epsilon", [0.1, 1.0, 5.0])
def test_gamma_noise_under_add_remove_is_all_but_attained_on_the_line(epsilon, share):
    """A pull holds b far out on the other side, where the new row has any slope that one likes."""
    leverage = 4 * math.expm1(share * epsilon)
    fixed = {"leverage": leverage, "neighbours": "add_remove"}
    scale = logistic.logistic_gamma_scale(1.0, epsilon=epsilon, **fixed)
    pair = Pair((), ((1.0,),), leverage, epsilon, pull=-1000 / leverage)
    theta = np.linspace(-60, 10, 20_001)[:, None]
    attained = np.abs(log_ratio(pair, scale, theta)).max()
    assert 0.9999 * epsilon < attained <= epsilon * (1 + 1e-9)
    assert logistic.logistic_gamma_epsilon(scale, 1.0, **fixed) == pytest.approx(epsilon)
    # The mutants: curvature forgotten (no slip where the determinant is free), and the slope fixed at 1/2.
    forgets, fixes = 1 / epsilon, 0.5 / (epsilon - math.log1p(leverage / 4))
    spent = [np.abs(log_ratio(pair, mutant, theta)).max() / epsilon for mutant in (forgets, fixes)]
    assert (spent[0] > 1.01) == (leverage > epsilon)
    assert share == 0.9 or spent[1] > 1.01


def test_gamma_noise_under_replace_one_is_all_but_attained_in_the_plane():
    """Full force of the row that leaves, the worst slope of the row that comes, in nearly opposite directions."""
    epsilon, leverage, angle = 1.0, 1.5, 1e-3
    leaves, comes = np.array(unit(math.pi - angle)), np.array(unit(angle))
    fixed = {"leverage": leverage, "neighbours": "replace"}
    scale = logistic.logistic_gamma_scale(1.0, epsilon=epsilon, **fixed)
    pair = Pair((tuple(leaves),), (tuple(comes),), leverage, epsilon, pull=(-1e6, 0.0))
    # theta with <leaves, theta> = -30 and <comes, theta> anything.
    other = np.linspace(-10, 10, 2001)
    theta = np.linalg.solve(np.stack([leaves, comes]), np.stack([np.full_like(other, -30.0), other])).T
    attained = np.abs(log_ratio(pair, scale, theta)).max()
    assert 0.98 * epsilon < attained <= epsilon * (1 + 1e-9)
    # Without the curvature of the one record, or the force of the other, the noise would be too little.
    forgets, once = (
        2 / epsilon,
        logistic.logistic_gamma_scale(1.0, epsilon=epsilon, **(fixed | {"neighbours": "add_remove"})),
    )
    assert all(np.abs(log_ratio(pair, mutant, theta)).max() > 1.01 * epsilon for mutant in (forgets, once))
