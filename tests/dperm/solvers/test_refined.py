"""Points refined beyond double precision, against the minimiser in 50 digits; and totals of thousands of equal rows."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from designs import on_sphere
from hypothesis import given, settings
from hypothesis import strategies as st

import dperm
from dperm import losses
from dperm.feasible import Region, Regularizer
from dperm.solvers import composite, newton, objective, refined

numbers = st.one_of(st.just(0.0), st.floats(1e-6, 1e6), st.floats(-1e6, -1e-6))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=6), numbers)
def test_a_margin_is_right_to_the_last_digit_that_there_is(pairs, offset):
    """Against rational numbers, also where all but the last digits cancel."""
    x, a = (np.array(column) for column in zip(*pairs, strict=True))
    exact = sum(Fraction(u) * Fraction(v) for u, v in pairs) - Fraction(offset)
    if len(a) > 1 and x[-1] != 0:
        a[-1] -= float(exact / Fraction(x[-1]))
        exact = sum(Fraction(u) * Fraction(v) for u, v in zip(x, a, strict=True)) - Fraction(offset)
    found = refined.margins(x[None], a, np.zeros(len(a), np.longdouble), np.array([offset]))[0]
    # A long double in two doubles, which are rational numbers.
    high = float(found)
    known = Fraction(high) + Fraction(float(found - high))
    k, unit = 2 * len(a) + 2, Fraction(float(np.finfo(np.longdouble).eps)) / 2
    sizes = sum(abs(Fraction(u) * Fraction(v)) for u, v in zip(x, a, strict=True)) + abs(Fraction(offset))
    assert abs(known - exact) <= unit * abs(exact) + (2 * k * unit) ** 2 * sizes


def slopes(name, u, y):
    """l' and l'' of the losses as they are defined."""
    if name == "huber":
        return max(min(u - y, 1), -1), int(abs(u - y) <= 1)
    if name == "logistic":
        weight = 1 / (1 + mpmath.exp(y * u))
        return -y * weight, weight * (1 - weight)
    inside = (1 + mpmath.mpf("0.5") - y * u) / 1
    return -y * max(min(inside, 1), 0), int(0 < inside < 1)


def minimiser(name, rows, targets, counts, ridge, tilt, theta, region, l1):
    """The minimiser in 50 digits: Newton on the face of `theta`, its conditions checked on all coordinates."""
    p = len(theta)
    rows, y = [[mpmath.mpf(float(v)) for v in row] for row in rows], [mpmath.mpf(float(v)) for v in targets]
    tilt, ridge = [mpmath.mpf(float(v)) for v in tilt], mpmath.mpf(ridge)
    low, high, radius = (mpmath.mpf(wall) for wall in (region.low, region.high, region.radius))
    sign = [int(np.sign(v)) if l1 > 0 else 0 for v in theta]
    free = [j for j in range(p) if low < theta[j] < high and (theta[j] != 0 or l1 == 0)]
    sphere = int(np.linalg.norm(theta) >= region.radius * (1 - 1e-12))
    point, mu = [mpmath.mpf(float(v)) for v in theta], mpmath.mpf(0)

    def gradient():
        found, bend = [ridge * point[j] + tilt[j] for j in range(p)], ridge * mpmath.eye(p)
        for row, target, count in zip(rows, y, counts, strict=True):
            slope, second = slopes(name, mpmath.fdot(row, point), target)
            for j in range(p):
                found[j] += int(count) * slope * row[j]
                for k in range(p):
                    bend[j, k] += int(count) * second * row[j] * row[k]
        return found, bend

    for _ in range(40):
        found, bend = gradient()
        f = len(free)
        system, right = mpmath.zeros(f + sphere), mpmath.zeros(f + sphere, 1)
        for a, j in enumerate(free):
            right[a] = -(found[j] + l1 * sign[j] + mu * point[j])
            for b, k in enumerate(free):
                system[a, b] = bend[j, k] + (mu if a == b else 0)
            if sphere:
                system[a, f] = system[f, a] = point[j]
        if sphere:
            right[f] = (radius**2 - mpmath.fdot(point, point)) / 2
        step = mpmath.lu_solve(system, right)
        for a, j in enumerate(free):
            point[j] += step[a]
        mu += step[f] if sphere else 0
        if mpmath.norm(step) <= mpmath.mpf(10) ** -35 * (1 + mpmath.norm(point)):
            break
    found, _ = gradient()
    for j in range(p):
        pushed = found[j] + mu * point[j]
        at_zero = l1 > 0 and theta[j] == 0
        below, above = pushed + (-l1 if at_zero else l1 * sign[j]), pushed + (l1 if at_zero else l1 * sign[j])
        small = mpmath.mpf(10) ** -25 * (1 + sum(map(int, counts)))
        assert point[j] > low or above >= -small
        assert point[j] < high or below <= small
        assert j not in free or abs(above) <= small
        assert not at_zero or (below <= small and above >= -small)
    assert mu >= 0
    assert mpmath.norm(point) <= radius * (1 + mpmath.mpf(10) ** -30)
    return point


REGIONS = {
    "none": (0.0, Region()),
    "l1": (300.0, Region()),
    "box": (0.0, Region(low=-1.0, high=2e3)),
    "ball": (0.0, Region(radius=50.0)),
    "l1 and box in a ball": (300.0, Region(low=-1.0, high=2e3, radius=50.0)),
}


# Each form, each loss without any, in a ball, and with all; the first of them are enough for `make test`.
FIRST = [
    ("huber", "none", 5),
    ("huber", "ball", 5),
    ("smoothed_hinge", "none", 5),
    ("logistic", "l1 and box in a ball", 5),
]
CELLS = [
    *(("huber", form, 5) for form in ("l1", "box", "l1 and box in a ball")),
    ("smoothed_hinge", "ball", 6), ("logistic", "ball", 7),
    ("logistic", "none", 5), ("smoothed_hinge", "l1 and box in a ball", 5),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "form", "seed"), [*FIRST, *(pytest.param(*cell, marks=pytest.mark.slow) for cell in CELLS)]
)
def test_the_certificate_bounds_the_distance_where_doubles_cannot_tell(name, form, seed, monkeypatch):
    """40,000 records of four kinds, and the first tolerance that no gradient in doubles meets: a distance does."""
    # Merged, they would be four, and doubles could tell.
    monkeypatch.setattr(objective, "MERGED", 0.0)
    rng = np.random.default_rng(seed)
    kinds, p, ridge = 4, 3, 0.04
    rows = on_sphere(rng, kinds, p)
    targets = rng.normal(size=kinds) * 5e3 if name == "huber" else np.array([1.0, -1.0, 1.0, 1.0])
    counts = np.array([20_000, 10_000, 7_000, 3_000])
    X, y = np.repeat(rows, counts, axis=0), np.repeat(targets, counts)
    l1, region = REGIONS[form]
    loss, tilt = losses.make(name), rng.normal(0, 10, (3, p))
    fixed = {"ridge": ridge, "tilt": tilt, "region": region, "regularizer": Regularizer(l1=l1)}
    with monkeypatch.context() as patch:
        for solver in (composite, newton):
            patch.setattr(solver, "refine_all", lambda *given: None)
        missed = (
            tolerance
            for tolerance in 10.0 ** -np.arange(8, 14)
            if (composite.minimise(loss, X, y, tolerance=tolerance, **fixed).gradient_norm > tolerance).any()
        )
        tolerance = next(missed)
    found = composite.minimise(loss, X, y, tolerance=tolerance, **fixed)
    assert (found.gradient_norm <= tolerance).all()
    # Where no double is near enough, the best is found, and is not said to be nearer than it is.
    beyond = composite.minimise(loss, X, y, tolerance=1e-3 * ridge * np.finfo(float).eps, **fixed)
    assert (beyond.gradient_norm > 1e-3 * ridge * np.finfo(float).eps).all()
    with mpmath.workdps(50):
        bests = [
            minimiser(name, rows, targets, counts, ridge, b, theta, region, l1)
            for b, theta in zip(tilt, found.theta, strict=True)
        ]
        for solution in (found, beyond):
            for theta, best, certificate in zip(solution.theta, bests, solution.certificate, strict=True):
                assert np.linalg.norm(theta) <= region.radius
                away = [mpmath.mpf(float(t)) - s for t, s in zip(theta, best, strict=True)]
                assert mpmath.norm(away) <= certificate


def far_targets(n):
    return np.full((n, 3), 1 / np.sqrt(3)), np.full(n, n / 4)


def both_labels(n):
    return np.full((n, 50), 1 / np.sqrt(50)), np.where(np.arange(n) % 2, 1.0, -1.0)


EQUAL = {
    "far targets": (far_targets, {"loss": "huber"}),
    "far targets, l1": (far_targets, {"loss": "huber", "l1": 0.1}),
    "far targets, box": (far_targets, {"loss": "huber", "low": -1e6, "high": 1e6}),
    "far targets, ball": (far_targets, {"loss": "huber", "radius": 1e4}),
    "far targets, all of them": (far_targets, {"loss": "huber", "l1": 0.1, "low": -1e6, "high": 1e6, "radius": 1e4}),
    "steep": (both_labels, {"classes": [-1, 1], "epsilon": 4.7, "curvature": 0.25 / 100}),
}


@pytest.mark.parametrize(
    ("case", "n"),
    [
        *((case, 20_000) for case in EQUAL),
        *(pytest.param(case, 100_000, marks=pytest.mark.slow) for case in ("far targets, all of them", "steep")),
    ],
)
def test_thousands_of_equal_rows_do_not_keep_a_total_fit_from_its_target(case, n):
    """Before, these were a SolverError from 760 (steep) to 14,000 records on."""
    make, given = EQUAL[case]
    model = dperm.ObjectivePerturbation(delta=1e-6, clip=True, random_state=0, **given).fit(*make(n))
    assert model.privacy_.total


@pytest.mark.parametrize(
    "given",
    [
        {"loss": "poisson", "y_bound": 1.0, "eta_bound": 0.2, "penalty": "ridge"},
        {"loss": "poisson", "y_bound": 5.0, "eta_bound": 1.0},
        {"loss": "squared", "y_bound": 1.0, "eta_bound": 1.0, "penalty": "ridge"},
    ],
    ids=lambda given: f"{given['loss']} {given.get('penalty', 'lasso')}",
)
def test_nor_do_they_keep_napp(given):
    """Before, these were a SolverError from some thousands of records on."""
    model = dperm.NAPP(clip=True, random_state=0, **given).fit(np.ones((200_000, 1)), np.zeros(200_000))
    assert model.privacy_.total


def quadratic_on_a_sphere(radius, n, few, ridge, tilt):
    """Huber's loss, quadratic for n records and linear for a few that push along the sphere; within its ball."""
    along = (few - tilt[1]) / ridge
    near = (np.sqrt(radius**2 - along**2) + 1e-3) * (1 + ridge / n) + tilt[0] / n
    return np.eye(2), np.array([near, 1e9]), np.array([n, few])


@pytest.mark.parametrize("radius", [1e4, 1e6, 1e7])
def test_a_certificate_at_a_sphere_counts_how_far_the_sphere_is(radius):
    """A soft direction along it: what is left of the way is the root of the condition number of as much."""
    ridge, tilt = 0.01, np.array([0.17, -0.18])
    rows, targets, counts = quadratic_on_a_sphere(radius, 100_000, 10, ridge, tilt)
    X, y, region = np.repeat(rows, counts, axis=0), np.repeat(targets, counts), Region(radius=radius)
    loss = losses.make("huber")
    found = composite.minimise(loss, X, y, ridge=ridge, tolerance=1e-9, tilt=tilt[None], region=region)
    with mpmath.workdps(50):
        best = minimiser("huber", rows, targets, counts, ridge, tilt, found.theta[0], region, 0.0)
        away = mpmath.norm([mpmath.mpf(float(t)) - s for t, s in zip(found.theta[0], best, strict=True)])
    assert away <= found.certificate[0] and found.gradient_norm[0] <= 1e-9
