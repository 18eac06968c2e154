"""Table 2 and Claim 2 of li2021, the penalty they realise, its slope, curvature and modulus."""

import numpy as np
import pytest
import together
from scipy import integrate

from dperm.mechanisms.napp.scheme import Scheme, convexity, curvature, knee, modulus, penalty, quadratic, slope, weights

FLOOR, STRENGTH = 0.7, 1.3
TARGETS = [
    ("ridge", {}),
    ("lasso", {}),
    ("elastic_net", {"kappa": 0.3}),
    ("elastic_net", {"kappa": 0.8}),
    ("bridge", {"gamma": 0.0}),
    ("bridge", {"gamma": 0.5}),
    ("bridge", {"gamma": 1.0}),
    ("bridge", {"gamma": 1.5}),
]
SCHEMES = [
    Scheme(target, FLOOR, moor, halved=halved, **rest)
    for target, rest in TARGETS
    for moor in (True, False)
    for halved in (True, False)
]
EVERY = together.over("scheme", SCHEMES)
POINTS = np.array([0.05, 0.3, 0.9, 1.7, 4.0, 30.0])


@together.over(
    ("scheme", "first", "later"),
    [
        # Table 2 with Lambda0 = 2, Lambda = 3, |theta| = 0.25, 1.5 and 9: 3/u = 12, 2, 1/3.
        (Scheme("ridge", 2.0, True), 3.0, [3.0, 3.0, 3.0]),
        (Scheme("ridge", 5.0, True), 5.0, [5.0, 5.0, 5.0]),
        (Scheme("lasso", 2.0, True), 2.0, [12.0, 2.0, 2.0]),
        (Scheme("bridge", 2.0, True, gamma=0.5), 2.0, [6.0, 3 / 1.5**0.5, 2.0]),
        (Scheme("bridge", 2.0, True, gamma=1.5), 2.0, [24.0, 2.0, 2.0]),
        (Scheme("elastic_net", 2.0, True, kappa=0.5), 2.0, [13.5, 3.5, 2.0]),
        (Scheme("elastic_net", 1.0, True, kappa=0.5), 1.5, [13.5, 3.5, 1.5 + 1 / 3]),
        # Claim 2: sums, but for ridge.
        (Scheme("ridge", 2.0, False), 3.0, [3.0, 3.0, 3.0]),
        (Scheme("lasso", 2.0, False), 2.0, [14.0, 4.0, 2 + 1 / 3]),
        (Scheme("bridge", 2.0, False, gamma=0.5), 2.0, [8.0, 2 + 3 / 1.5**0.5, 3.0]),
        (Scheme("elastic_net", 2.0, False, kappa=0.5), 3.5, [15.5, 5.5, 3.5 + 1 / 3]),
        # Erratum N6 mended: the part of Lambda that is divided by |theta|^gamma, times (2 - gamma)/2.
        (Scheme("lasso", 2.0, True, halved=True), 2.0, [6.0, 2.0, 2.0]),
        (Scheme("bridge", 2.0, False, gamma=0.5, halved=True), 2.0, [6.5, 2 + 2.25 / 1.5**0.5, 2.75]),
        (Scheme("elastic_net", 2.0, False, kappa=0.5, halved=True), 3.5, [9.5, 4.5, 3.5 + 1 / 6]),
    ],
)
def test_the_table_by_hand(scheme, first, later):
    assert weights(scheme, 3.0, None) == pytest.approx(first)
    np.testing.assert_allclose(weights(scheme, 3.0, np.array([0.25, -1.5, 9.0])), later, rtol=1e-14)


@EVERY
def test_the_penalty_is_the_integral_of_its_slope(scheme):
    kinks = [float(knee(scheme, STRENGTH))]
    for u in POINTS:
        inner = [k for k in kinks if 0 < k < u]
        # The bridge's slope is integrable, but infinite at 0.
        area, _ = integrate.quad(lambda v: float(slope(scheme, STRENGTH, v)), 0, u, points=inner or None, limit=400)
        assert penalty(scheme, STRENGTH, u) == pytest.approx(area, rel=1e-6)
    np.testing.assert_array_equal(penalty(scheme, STRENGTH, -POINTS), penalty(scheme, STRENGTH, POINTS))
    assert penalty(scheme, STRENGTH, 0.0) == 0


@EVERY
@together.over("strength", [0.1, STRENGTH, 5.0])
def test_a_sum_of_a_norm_and_a_square_is_known_as_one(scheme, strength):
    u = np.concatenate([[0.0], POINTS, 1e3 * POINTS])
    form = quadratic(scheme, strength)
    if form is None:
        # A bridge in between, or one floor for two parts.
        bent = 0 < float(knee(scheme, strength)) < np.inf
        assert scheme.gamma in (0.5, 1.5) or (scheme.moor and bent)
    else:
        np.testing.assert_allclose(form[0] * u + form[1] * u**2, penalty(scheme, strength, u), rtol=1e-13)


@EVERY
def test_the_curvature_is_the_derivative_of_the_slope(scheme):
    u, h = POINTS[np.abs(POINTS - knee(scheme, STRENGTH)) > 1e-3], 1e-6
    difference = (slope(scheme, STRENGTH, u + h) - slope(scheme, STRENGTH, u - h)) / (2 * h)
    np.testing.assert_allclose(curvature(scheme, STRENGTH, u), difference, rtol=1e-6, atol=1e-6)


@EVERY
def test_at_the_fixed_point_the_weights_pull_as_the_penalty_does(scheme):
    """The gradient of w theta^2 with w made of the same theta is P'(theta)."""
    pull = 2 * weights(scheme, STRENGTH, POINTS) * POINTS
    np.testing.assert_allclose(pull, slope(scheme, STRENGTH, POINTS), rtol=1e-13)


@EVERY
def test_convexity_is_the_least_curvature_over_a_grid(scheme):
    u = np.geomspace(1e-9, 1e9, 20001)
    least, found = float(convexity(scheme, STRENGTH)), curvature(scheme, STRENGTH, u).min()
    if least == -np.inf:
        assert found < -1e6
    else:
        assert found >= least - 1e-12
        assert found == pytest.approx(least, rel=2e-3, abs=2e-3)


@EVERY
def test_every_iteration_has_the_modulus_of_proposition_3(scheme):
    rng = np.random.default_rng(0)
    theta = rng.normal(size=(50, 16)) * np.geomspace(1e-6, 1e6, 50)[:, None]
    each = weights(scheme, STRENGTH, theta)
    np.testing.assert_array_equal(
        modulus(scheme, STRENGTH, theta), [np.linalg.eigvalsh(np.diag(2 * w))[0] for w in each]
    )
    assert (modulus(scheme, STRENGTH, theta) >= 2 * FLOOR).all() and modulus(scheme, STRENGTH, None) >= 2 * FLOOR


@pytest.mark.parametrize(("target", "rest"), TARGETS)
def test_the_target_that_is_reached(target, rest):
    """Printed: 2 Lambda/(2 - gamma) |theta|^(2 - gamma) (erratum N6); halved: Lambda R."""
    u, gamma, kappa = POINTS, rest.get("gamma", 1.0), rest.get("kappa", 0.0)
    floor = FLOOR * u**2
    if target == "ridge":
        for halved in (True, False):
            reached = penalty(Scheme("ridge", FLOOR, False, halved=halved), STRENGTH, u)
            np.testing.assert_allclose(reached, STRENGTH * u**2)
        return
    power, quadratic = u ** (2 - gamma), STRENGTH * kappa * u**2
    printed, mended = (Scheme(target, FLOOR, False, halved=halved, **rest) for halved in (False, True))
    np.testing.assert_allclose(penalty(printed, STRENGTH, u) - floor, 2 * STRENGTH / (2 - gamma) * power + quadratic)
    np.testing.assert_allclose(penalty(mended, STRENGTH, u) - floor, STRENGTH * power + quadratic)


def test_moors_lasso_is_twice_berhu_and_flat_below_the_knee():
    """Erratum N4: zero curvature on (0, Lambda/Lambda0), where theta^(t-1) said 2 Lambda0."""
    scheme, u = Scheme("lasso", 2.0, True), np.array([0.0, 0.4, 1.49, 1.51, 5.0])
    berhu = np.where(u <= 1.5, 3 * u, (2 * u**2 + 3 * 1.5) / 2)
    np.testing.assert_allclose(penalty(scheme, 3.0, u), 2 * berhu)
    assert knee(scheme, 3.0) == 1.5
    assert curvature(scheme, 3.0, u).tolist() == [0, 0, 0, 4, 4]
    assert convexity(scheme, 3.0) == 0


def test_elastic_net_is_strongly_convex_by_itself_where_its_ridge_is_above_the_floor():
    for kappa, enough in ((0.5, True), (0.49, False)):
        assert bool(convexity(Scheme("elastic_net", 1.0, True, kappa=kappa), 2.0) >= 2.0) == enough


def test_what_is_exactly_0_has_an_infinite_weight_but_not_without_strength():
    zero = np.zeros(2)
    assert np.isinf(weights(Scheme("lasso", 1.0, True), 1.0, zero)).all()
    for moor in (True, False):
        np.testing.assert_array_equal(weights(Scheme("lasso", 1.0, moor), 0.0, zero), [1.0, 1.0])
        assert penalty(Scheme("lasso", 1.0, moor), 0.0, 3.0) == 9.0
    np.testing.assert_array_equal(weights(Scheme("ridge", 1.0, True), 1.0, zero), [1.0, 1.0])


@EVERY
def test_strengths_and_floors_broadcast(scheme):
    strengths, floors = np.array([0.2, 1.0, 9.0])[:, None], np.array([0.1, 0.7, 4.0])[:, None]
    many = _with_floor(scheme, floors)
    for function in (weights, slope, penalty, curvature):
        together = function(many, strengths, POINTS)
        assert together.shape == (3, len(POINTS))
        for row, (strength, floor) in enumerate(zip(strengths[:, 0], floors[:, 0], strict=True)):
            np.testing.assert_array_equal(together[row], function(_with_floor(scheme, float(floor)), strength, POINTS))
    assert convexity(many, strengths).shape == (3, 1)


def _with_floor(scheme, floor):
    return Scheme(scheme.target, floor, scheme.moor, scheme.gamma, scheme.kappa, scheme.halved)


@together.over(
    "given, words",
    [
        ({"target": "lass"}, "target='lass' is not one of 'ridge', 'lasso'"),
        ({"floor": 0.0}, "floor=0.0 must be finite and above 0"),
        ({"floor": np.nan}, "floor=nan must be"),
        ({"target": "bridge", "gamma": 2.0}, r"gamma=2.0 must be a number in \[0, 2\)"),
        ({"target": "bridge", "gamma": -0.1}, r"gamma=-0.1 must be a number in \[0, 2\)"),
        ({"target": "elastic_net"}, r"kappa=0.0 must be a number in \(0, 1\)"),
        ({"target": "elastic_net", "kappa": 1.0}, r"kappa=1.0 must be a number in \(0, 1\)"),
        ({"gamma": 0.5}, "gamma=0.5 belongs to the bridge; leave it out for 'lasso'"),
        ({"kappa": 0.5}, "kappa=0.5 belongs to the elastic net; leave it out for 'lasso'"),
    ],
)
def test_what_is_wrong_is_named(given, words):
    with pytest.raises(ValueError, match=words):
        Scheme(**{"target": "lasso", "floor": 1.0, "moor": True, **given})
