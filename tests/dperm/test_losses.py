"""Losses against finite differences, convexity, brute-force suprema, and what they refuse."""

import math
import re
import warnings

import numpy as np
import pytest
import together
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dperm import losses
from dperm.domain import Domain
from dperm.errors import DomainViolation
from dperm.mechanisms.napp import losses as napp

KNEES = (0.1, 0.5, 1.0, 3.0)
CAPS = (0.1, 0.5, 0.9)
WIDTHS = (0.05, 0.5, 1.0, 2.0)
ALL = [
    losses.squared(),
    losses.logistic(),
    losses.poisson(),
    *map(losses.huber, KNEES),
    losses.hinge(),
    *map(losses.smoothed_hinge, WIDTHS),
    losses.absolute(),
    *map(losses.capped_logistic, CAPS),
]
# Where l' or l'' jumps, in u, given y; by the parameter that the loss was made with.
KINKS = (
    [lambda y: ()] * 3
    + [lambda y, knee=knee: (y - knee, y + knee) for knee in KNEES]
    + [lambda y: (y,)]  # y u = 1 where |y| = 1
    + [lambda y, width=width: (y * (1 - width), y * (1 + width)) for width in WIDTHS]
    + [lambda y: (y,)]
    + [lambda y, cap=cap: (y * math.log(1 / cap - 1),) for cap in CAPS]
)
CASES = list(zip(ALL, KINKS, strict=True))


def identify(value):
    return getattr(value, "name", None)


every_loss = pytest.mark.parametrize("loss", ALL, ids=identify)
every_case = pytest.mark.parametrize(("loss", "kinks"), CASES, ids=identify)
margins = st.floats(-6, 6)
# Of each loss; of all together they are hundreds.
some = settings(max_examples=40)


def targets(loss):
    return {
        "binary": st.sampled_from([-1.0, 1.0]),
        "real": st.floats(-6, 6),
        "count": st.integers(0, 20).map(float),
    }[loss.targets]


@every_case
@some
@given(data=st.data(), u=margins)
def test_derivatives_are_those_of_the_value(loss, kinks, data, u):
    y = data.draw(targets(loss))
    h = 1e-5
    assume(all(abs(u - kink) > 2 * h for kink in kinks(y)))
    slope = (loss.value(u + h, y) - loss.value(u - h, y)) / (2 * h)
    bend = (loss.derivative(u + h, y) - loss.derivative(u - h, y)) / (2 * h)
    # Rounding of the value over h, and the third derivative (up to e^6) times h^2.
    assert loss.derivative(u, y) == pytest.approx(slope, rel=1e-6, abs=1e-7)
    assert loss.second(u, y) == pytest.approx(bend, rel=1e-6, abs=1e-7)


@every_case
@some
@given(data=st.data(), v=st.floats(-12, 12), at_kink=st.booleans(), u=margins)
def test_every_loss_is_convex_and_its_derivative_a_subgradient_also_at_kinks(loss, kinks, data, v, at_kink, u):
    y = data.draw(targets(loss))
    if at_kink and kinks(y):
        u = data.draw(st.sampled_from(kinks(y)))
    scale = 1 + abs(loss.value(u, y)) + abs(loss.value(v, y))
    assert loss.value(v, y) >= loss.value(u, y) + loss.derivative(u, y) * (v - u) - 1e-12 * scale
    assert loss.value((u + v) / 2, y) <= (loss.value(u, y) + loss.value(v, y)) / 2 + 1e-12 * scale
    assert (loss.derivative(v, y) - loss.derivative(u, y)) * (v - u) >= -1e-12 * scale
    assert loss.second(u, y) >= 0


@every_case
def test_at_a_jump_the_second_derivative_is_one_of_its_limits(loss, kinks):
    for y in (-1.0, 1.0):
        for kink in kinks(y):
            limits = [float(loss.second(kink + step, y)) for step in (-1e-9, 1e-9)]
            assert min(abs(float(loss.second(kink, y)) - limit) for limit in limits) <= 1e-8


CONTINUED = [
    napp.make(name, eta_bound)
    for name in ("squared", "logistic", "poisson", "smoothed_hinge")
    for eta_bound in (0.7, 3.0)
]


@pytest.mark.parametrize("loss", [*ALL, *CONTINUED], ids=identify)
@some
@given(data=st.data(), u=margins, width=st.floats(1e-6, 4))
def test_the_curvature_within_an_interval_is_the_largest_there(loss, data, u, width):
    y = data.draw(targets(loss))
    low, high = u - width, u + width
    found, known = float(loss.second_within(low, high, y)), loss.second(np.linspace(low, high, 1001), y).max()
    if loss.name in ("hinge", "absolute"):
        kink = 1 / y if loss.name == "hinge" else y
        assert found == (math.inf if low <= kink <= high else 0)
        return
    assert known <= found * (1 + 1e-12)
    # A little wider, for ends that touch a band, and a share for what lies between two points of the grid.
    assert found <= loss.second(np.linspace(low - 1e-9, high + 1e-9, 1001), y).max() * 1.02


def grid(loss, domain, points=801):
    """Return every (u, y) of a grid on the domain, with the ends; unbounded ranges are cut far out."""
    reach = min(domain.margin_bound, 200.0)
    u = np.concatenate([np.linspace(-reach, reach, points), np.linspace(-min(reach, 4), min(reach, 4), points)])
    bound = 50.0 if domain.y_bound is None else domain.y_bound
    y = {
        "binary": np.array([-1.0, 1.0]),
        "real": np.linspace(-bound, bound, 41),
        "count": np.arange(0, math.floor(bound) + 1.0),
    }[loss.targets]
    return u[:, None], y[None, :]


BOUNDED = [Domain(1.0, 1.0, 1.0), Domain(2.0, 3.0, 1.5), Domain(0.5, 10.0, 2.0), Domain(3.0, 40.0, 1.0)]


@every_loss
@together.over("domain", BOUNDED)
def test_suprema_are_never_exceeded_on_the_domain(loss, domain):
    u, y = grid(loss, domain)
    slope, bend = loss.suprema(domain)
    assert np.abs(loss.derivative(u, y)).max() <= slope * (1 + 1e-12)
    assert loss.second(u, y).max() <= bend * (1 + 1e-12)


# Losses bounded without any bound on theta or y, and those that need both: there the suprema are sharp.
NEEDS_BOUNDS = ("squared", "poisson")
SHARP = [(loss, domain) for loss in ALL if loss.name in NEEDS_BOUNDS for domain in BOUNDED] + [
    (loss, Domain(1.0)) for loss in ALL if loss.name not in NEEDS_BOUNDS
]


@together.over(("loss", "domain"), SHARP)
def test_suprema_are_attained(loss, domain):
    u, y = grid(loss, domain)
    slope, bend = loss.suprema(domain)
    assert np.abs(loss.derivative(u, y)).max() == pytest.approx(slope, rel=1e-9)
    if math.isfinite(bend):
        # A cap below 1/2 has it at a margin between two points of the grid.
        assert loss.second(u, y).max() == pytest.approx(bend, rel=0.02 if loss.name == "capped_logistic" else 1e-9)


@every_loss
def test_one_sided_says_whether_the_derivative_keeps_its_sign(loss):
    u, y = grid(loss, Domain(1.0, 5.0))
    signs = np.sign(loss.derivative(u, y))
    keeps = not (np.any(signs > 0, axis=0) & np.any(signs < 0, axis=0)).any()
    assert loss.one_sided is keeps


@together.over("domain", BOUNDED)
@together.over("loss", [loss for loss in ALL if loss.name not in ("hinge", "absolute")])
def test_zeta_and_lambda_bound_gradient_and_hessian_in_theta(loss, domain):
    """Gradient by finite differences in theta, largest eigenvalue by the quotient along x: x at the bound attains R."""
    rng = np.random.default_rng(1)
    zeta, curvature = loss.gradient_bound(domain), loss.curvature_bound(domain)
    h = 1e-5
    for _ in range(50):
        x, theta = rng.standard_normal((2, 3))
        x *= domain.x_norm / np.linalg.norm(x)
        theta *= rng.uniform(0, domain.theta_norm) / np.linalg.norm(theta)
        y = {
            "binary": rng.choice([-1.0, 1.0]),
            "real": rng.uniform(-domain.y_bound, domain.y_bound),
            "count": float(rng.integers(0, int(domain.y_bound) + 1)),
        }[loss.targets]

        def at(shift, x=x, y=y, theta=theta):
            return loss.value((theta + shift) @ x, y)

        gradient = np.array([(at(h * e) - at(-h * e)) / (2 * h) for e in np.eye(3)])
        assert np.linalg.norm(gradient) <= zeta * (1 + 1e-6)
        unit = x / np.linalg.norm(x)
        along = np.linalg.norm(loss.derivative((theta + h * unit) @ x, y) * x - loss.derivative(theta @ x, y) * x) / h
        assert along <= curvature * (1 + 1e-4)


@together.over("factor", [0.25, 2.0, 10.0])
@together.over("loss", [loss for loss in ALL if loss.name not in ("hinge", "absolute")])
def test_zeta_grows_with_the_radius_and_lambda_with_its_square(loss, factor):
    """Scaling x up and theta down keeps every <x, theta>, so only the chain rule's factor is left."""
    one, other = Domain(1.5, 4.0, 2.0), Domain(1.5 * factor, 4.0, 2.0 / factor)
    assert loss.gradient_bound(other) == pytest.approx(factor * loss.gradient_bound(one))
    assert loss.curvature_bound(other) == pytest.approx(factor**2 * loss.curvature_bound(one))


@together.over("cap", CAPS)
def test_capped_logistic_is_logistic_to_the_cap_and_straight_beyond(cap):
    """And never above s (1 - s) in its curvature, s = |l'|, which Theorem 4 of docs/privacy.md asks for."""
    loss, whole = losses.capped_logistic(cap), losses.logistic()
    u, y = np.linspace(-30, 30, 4001)[:, None], np.array([-1.0, 1.0])
    steep = np.abs(whole.derivative(u, y)) > cap
    np.testing.assert_allclose(loss.value(u, y)[~steep], whole.value(u, y)[~steep], rtol=1e-14)
    # The tangent at the margin where the logistic loss has the slope `cap`.
    start = math.log((1 - cap) / cap)
    tangent = whole.value(start, 1.0) - cap * (u * y - start)
    np.testing.assert_allclose(loss.value(u, y)[steep], tangent[steep], rtol=1e-13)
    slope = np.abs(loss.derivative(u, y))
    assert slope.max() == loss.cap == cap and (loss.second(u, y) <= slope * (1 - slope) + 1e-15).all()
    for bad in (0.0, 1.0, -0.1, math.nan):
        with pytest.raises(DomainViolation, match=r"capped_logistic cap.*1 is the logistic loss"):
            losses.capped_logistic(bad)


def test_zeta_and_lambda_in_closed_form():
    domain = Domain(x_norm=2.0, y_bound=3.0, theta_norm=0.5)
    assert losses.logistic().gradient_bound(domain) == pytest.approx(2.0)
    assert losses.logistic().curvature_bound(domain) == pytest.approx(1.0)
    assert losses.capped_logistic(0.2).gradient_bound(domain) == pytest.approx(0.4)
    assert losses.capped_logistic(0.2).curvature_bound(domain) == pytest.approx(0.64)
    assert losses.squared().gradient_bound(domain) == pytest.approx(2.0 * (1.0 + 3.0))
    assert losses.squared().curvature_bound(domain) == pytest.approx(4.0)
    assert losses.huber(0.5).gradient_bound(domain) == pytest.approx(1.0)
    assert losses.huber(0.5).curvature_bound(domain) == pytest.approx(4.0)
    assert losses.smoothed_hinge(0.25).curvature_bound(domain) == pytest.approx(8.0)
    assert losses.poisson().gradient_bound(domain) == pytest.approx(2 * max(math.e, 3.0 - math.exp(-1)))
    assert losses.poisson().gradient_bound(Domain(2.0, 9.0, 0.5)) == pytest.approx(2 * (9.0 - math.exp(-1)))


@together.over("y", [-1.0, 1.0])
@together.over("u", [-1e4, -745.2, -40.0, 40.0, 745.2, 1e4])
def test_logistic_is_stable_far_out(u, y):
    """log(1 + e^-m) = max(0, -m) + log1p(e^-|m|), with no overflow on the way."""
    loss = losses.logistic()
    margin = y * u
    tail = math.exp(-abs(u))
    with warnings.catch_warnings(), np.errstate(over="raise", invalid="raise", divide="raise"):
        warnings.simplefilter("error")
        value, slope, bend = loss.value(u, y), loss.derivative(u, y), loss.second(u, y)
    assert value == pytest.approx(max(0.0, -margin) + math.log1p(tail), rel=1e-14, abs=0)
    assert slope == pytest.approx(-y * (tail if margin > 0 else 1.0) / (1 + tail), rel=1e-14, abs=1e-300)
    assert bend == pytest.approx(tail / (1 + tail) ** 2, rel=1e-13, abs=1e-300)
    assert bend >= 0


@together.over("loss", [loss for loss in ALL if loss.name != "poisson"])
def test_no_loss_but_the_exponential_one_overflows_far_out(loss):
    u, y = np.array([-1e4, 1e4])[:, None], np.array([-1.0, 1.0])
    for function in (loss.value, loss.derivative, loss.second):
        assert np.isfinite(function(u, y)).all()


@every_loss
def test_functions_broadcast_to_floats(loss):
    u, y = np.linspace(-2, 2, 6).reshape(2, 3, 1), np.array([1, 1, 1, 1])  # integer targets too
    for function in (loss.value, loss.derivative, loss.second):
        whole = np.asarray(function(u, y))
        assert whole.shape == (2, 3, 4)
        assert whole.dtype == np.float64
        assert whole[1, 2, 3] == pytest.approx(float(function(u[1, 2, 0], y[3])))


def test_huber_is_squared_within_the_knee_and_grows_by_the_knee_beyond():
    huber, squared = losses.huber(0.7), losses.squared()
    u = np.linspace(-0.69, 0.69, 50)
    np.testing.assert_allclose(huber.value(u + 2.0, 2.0), squared.value(u + 2.0, 2.0), rtol=1e-12)
    assert huber.value(10.0, 0.0) - huber.value(9.0, 0.0) == pytest.approx(0.7)


def test_smoothed_hinge_is_the_hinge_outside_its_band_and_tends_to_it():
    hinge, smooth = losses.hinge(), losses.smoothed_hinge(0.25)
    z = np.concatenate([np.linspace(-5, 0.75, 40), np.linspace(1.25, 5, 40)])
    np.testing.assert_allclose(smooth.value(z, 1.0), hinge.value(z, 1.0), atol=1e-12)
    band = np.linspace(-3, 3, 601)
    for width in WIDTHS:
        gap = losses.smoothed_hinge(width).value(band, -1.0) - hinge.value(band, -1.0)
        assert gap.max() == pytest.approx(width / 4)  # in the middle, at y u = 1
        assert gap.min() >= -1e-12


@pytest.mark.parametrize(("name", "instead"), [("hinge", "smoothed_hinge"), ("absolute", "huber")])
def test_a_kink_has_no_lambda_and_the_message_names_the_smooth_loss(name, instead):
    with pytest.raises(DomainViolation, match=f"the {name} loss has a kink.*{instead}"):
        losses.make(name).curvature_bound(Domain(1.0, 1.0, 1.0))
    assert losses.make(name).gradient_bound(Domain(3.0)) == 3.0


@together.over(
    "name, domain",
    [
        ("squared", Domain(1.0)),
        ("squared", Domain(1.0, y_bound=1.0)),
        ("squared", Domain(1.0, theta_norm=1.0)),
        ("poisson", Domain(1.0)),
        ("poisson", Domain(1.0, y_bound=1.0)),
        ("poisson", Domain(1.0, theta_norm=1.0)),
        ("poisson", Domain(1.0, y_bound=1.0, theta_norm=1000.0)),  # finite, but e^1000 is not a float
    ],
)
def test_zeta_is_refused_where_a_bound_is_missing(name, domain):
    with pytest.raises(DomainViolation, match=rf"{name} loss has no bounded gradient.*theta_norm={domain.theta_norm}"):
        losses.make(name).gradient_bound(domain)


def test_lambda_of_squared_needs_no_bound_but_that_of_poisson_does():
    assert losses.squared().curvature_bound(Domain(2.0)) == 4.0
    with pytest.raises(DomainViolation, match="no bounded curvature"):
        losses.poisson().curvature_bound(Domain(1.0, y_bound=1.0))


@together.over("value", [0.0, -1.0, math.inf, math.nan, 1e-31, 1e31, "a", None, True, [1.0]])
@together.over(("name", "parameter"), [("huber", "knee"), ("smoothed_hinge", "width")])
def test_bad_parameters_are_refused_and_shown(name, parameter, value):
    with pytest.raises(DomainViolation, match=re.escape(f"{name} {parameter}={value!r} must be a number in [1e-30, ")):
        losses.make(name, **{parameter: value})


def test_make_knows_every_loss_by_its_name_and_passes_parameters_on():
    for name in losses.LOSSES:
        assert losses.make(name).name == name
    assert losses.make("huber", knee=0.3).gradient_bound(Domain(1.0)) == pytest.approx(0.3)


@together.over("name", [None, 3, ["huber"], {}])
def test_make_refuses_what_is_no_name(name):
    with pytest.raises(ValueError, match=rf"loss={re.escape(repr(name))} is not one of absolute, capped_logistic,"):
        losses.make(name)


def test_make_refuses_unknown_names_and_parameters_and_lists_the_known():
    with pytest.raises(ValueError, match="loss='hubber' is not one of absolute, capped_logistic, hinge, huber"):
        losses.make("hubber")
    with pytest.raises(ValueError, match="loss huber has no parameter 'width'; it has knee"):
        losses.make("huber", width=1.0)
    with pytest.raises(ValueError, match="loss logistic has no parameter 'knee'; it has none"):
        losses.make("logistic", knee=1.0)
