"""Output perturbation: the sensitivity is the attained one, the noise is made for it and for the solver's slack."""

import math

import numpy as np
import pytest
import together

from dperm import OutputPerturbation, losses, noise
from dperm.accounting import gaussian
from dperm.domain import Budget, Domain
from dperm.mechanisms import nonprivate, output

DOMAIN = Domain(x_norm=2.0)


def release(X, y, *, loss=None, budget=None, neighbours="add_remove", calibration="tight", curvature=3.0, **rest):
    return output.release(
        X,
        y,
        loss or losses.huber(0.5),
        domain=DOMAIN,
        budget=budget or Budget(1.0),
        neighbours=neighbours,
        calibration=calibration,
        curvature=curvature,
        **{"rng": np.random.default_rng(0), **rest},
    )


@pytest.mark.parametrize(
    ("neighbours", "one", "other"), [("add_remove", [], [1e6]), ("replace", [-1e6], [1e6])], ids=["add", "replace"]
)
def test_the_sensitivity_is_attained(neighbours, one, other):
    """A record with saturated Huber gradient moves the minimiser by zeta/Delta; swapping its sign moves it by twice."""
    curvature = 3.0
    minimisers = [
        nonprivate.fit(np.full((len(y), 1), 2.0), np.array(y), losses.huber(0.5), ridge=curvature)[0]
        for y in (one, other)
    ]
    zeta = 2.0 * 0.5
    law = release(np.zeros((0, 1)), np.zeros(0), neighbours=neighbours, budget=Budget(1.0), repeats=1)
    moved = abs(float(minimisers[1][0] - minimisers[0][0]))
    assert moved == pytest.approx({"add_remove": 1, "replace": 2}[neighbours] * zeta / curvature, rel=1e-7)
    assert law.guarantee == "proved"


@together.over("neighbours, factor", [("add_remove", 1), ("replace", 2)])
@together.over("delta", [0.0, 1e-6])
def test_noise_covers_sensitivity_and_solver_slack(neighbours, factor, delta):
    """On no data the minimiser is 0, so what comes out is the noise: mean norm against the law for S + 2 tau."""
    p, tolerance, zeta, curvature = 5, 0.05, 1.0, 3.0
    draws = release(
        np.zeros((0, p)), np.zeros(0), neighbours=neighbours, budget=Budget(0.7, delta), tolerance=tolerance,
        repeats=40_000,
    ).theta  # fmt: skip
    sensitivity = factor * zeta / curvature + 2 * tolerance * zeta / curvature
    if delta:
        expected = sensitivity / gaussian.gaussian_ratio(0.7, delta) * math.sqrt(p)
        measured = math.sqrt((draws**2).sum(axis=1).mean())
    else:
        expected, measured = p * sensitivity / 0.7, np.linalg.norm(draws, axis=1).mean()
    # Relative deviation of a norm is below 1/2: 5 standard errors of 40,000 are 1.2 %, the slack itself is 5 to 10 %.
    assert measured == pytest.approx(expected, rel=0.0125)


def test_classical_gaussian_is_the_papers_and_loses_its_guarantee_at_large_epsilon():
    """sigma = S sqrt(2 log(1.25/delta))/epsilon (Dwork & Roth, Theorem A.1) is proved for epsilon <= 1 only."""
    law, guarantee = output.calibrate(2.0, Budget(0.5, 1e-5), calibration="paper")
    assert isinstance(law, noise.Gaussian)
    assert law.scale == pytest.approx(2.0 * math.sqrt(2 * math.log(1.25e5)) / 0.5)
    assert guarantee == "proved"
    assert output.calibrate(2.0, Budget(30.0, 1e-5), calibration="paper")[1] == "none"
    assert output.calibrate(2.0, Budget(0.5, 1e-5), calibration="tight")[0].scale < law.scale


def test_released_point_is_minimiser_plus_noise():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, size=(100, 4))
    y = np.sign(X[:, 0])
    released = release(X, y, loss=losses.logistic(), repeats=7, rng=np.random.default_rng(9))
    minimiser, _, _ = nonprivate.fit(X, y, losses.logistic(), ridge=3.0)
    law, _ = output.calibrate(2.0 / 3.0 + 2 * 1e-6 * 2.0 / 3.0, Budget(1.0), calibration="tight")
    drawn = law.sample((7, 4), np.random.default_rng(9))
    np.testing.assert_allclose(released.theta, minimiser + drawn, atol=1e-6)
    assert released.converged.all()
    assert (released.certificate <= 1e-6 * 2.0 / 3.0).all()


def test_the_default_curvature_is_twice_lambda_over_epsilon():
    """Huber has l'' <= 1, so lambda = R^2 = 4."""
    X, y = np.array([[1.0], [-2.0]]), np.array([3.0, 0.5])
    default, given = (release(X, y, curvature=curvature, budget=Budget(0.8)) for curvature in (None, 2 * 4.0 / 0.8))
    assert default.theta.tobytes() == given.theta.tobytes()


def test_unknown_calibration_is_refused():
    with pytest.raises(ValueError, match="'paper' and 'tight'"):
        output.calibrate(1.0, Budget(1.0), calibration="corrected")


def test_gaussian_release_is_an_event_that_accountants_know():
    """dp-accounting's own accountant finds the declared delta for the declared event."""
    from dp_accounting.pld import PLDAccountant

    X, y = np.array([[0.3], [0.5]] * 20), np.array([-1, 1] * 20)
    said = OutputPerturbation(epsilon=0.9, delta=1e-5, classes=(-1, 1), random_state=0).fit(X, y).privacy_
    accountant = PLDAccountant(value_discretization_interval=1e-4)
    accountant.compose(said.event)
    assert accountant.get_delta(0.9) == pytest.approx(1e-5, rel=1e-2)


@pytest.mark.chance(0)  # the noise is not looked at
def test_what_is_published_refuses_a_tolerance_below_rounding():
    pytest.importorskip("opendp")
    X, y = np.zeros((1_000, 2)), np.zeros(1_000)
    fixed = {"domain": DOMAIN, "budget": Budget(1.0), "neighbours": "add_remove", "curvature": 3.0}
    with pytest.raises(
        ValueError, match=r"tolerance=1e-14 must be a number in \[1e-12, 1\]; certificates hold with their round"
    ):
        output.publish(X, y, losses.huber(0.5), **fixed, tolerance=1e-14)
    assert output.publish(X, y, losses.huber(0.5), **fixed, tolerance=1e-8).mode == "release"
