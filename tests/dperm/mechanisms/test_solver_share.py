"""A share of the budget hides the solver's error (erratum K8): its noise, what it costs, and what it proves."""

import math

import cvxpy as cp
import numpy as np
import pytest
import together
from scipy import special, stats

from dperm import NAPP, ObjectivePerturbation, SparseRegression, diagnostics, losses, noise
from dperm.accounting import gaussian
from dperm.domain import Budget, Domain
from dperm.errors import InvalidBudget
from dperm.feasible import Region, Regularizer
from dperm.mechanisms import base, napp, objective
from dperm.mechanisms.napp.certify import Composite, polished
from dperm.mechanisms.napp.scheme import Scheme

P, SHARE, TOLERANCE = 4, 0.25, 0.05
LABELS = {"classes": (-1, 1)}


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (300, P))
    return X, np.where(X[:, 0] > 0, 1.0, -1.0)


def objective_released(data, given, **how):
    """Return releases, and tau: tolerance zeta/Delta, where zeta = R = 1 and lambda = R^2/4."""
    fixed = {"domain": Domain(1.0, 1.0), "neighbours": "replace", "calibration": "tight", "curvature": 5.0}
    found = objective.release(*data, losses.logistic(), **fixed, **given, **how, tolerance=TOLERANCE)
    return found, TOLERANCE / 5.0


def napp_released(data, given, **how):
    """Return releases, and tau: tolerance zeta over the modulus of P = Lambda R + Lambda0 theta^2.

    2 Lambda0 = zeta3/((1 - r) epsilon) of the tilt's epsilon, zeta3 = 1/4; a ridge has 2 max{Lambda, Lambda0}.
    """
    fixed = {"domain": Domain(1.0), "neighbours": "add_remove", "calibration": "corrected", "strength": 2.0}
    found = napp.release(*data, "logistic", **{"penalty": "lasso"} | fixed | given, **how, tolerance=TOLERANCE)
    modulus = 0.25 / (0.5 * (1 - SHARE)) + 2 * 2.0 * given.get("kappa", 0.0)
    return found, TOLERANCE / (4.0 if given.get("penalty") == "ridge" else modulus)


WAYS = [
    (objective_released, {}),
    (objective_released, {"region": Region(low=-0.02, high=0.4)}),
    (objective_released, {"region": Region(radius=0.1)}),
    (objective_released, {"regularizer": Regularizer(l1=2.0, l2=3.0)}),
    (napp_released, {}),
    (napp_released, {"penalty": "ridge"}),
    (napp_released, {"variant": "vs_plus"}),
    (napp_released, {"penalty": "bridge", "gamma": 0.5}),
    (napp_released, {"penalty": "elastic_net", "kappa": 0.5, "low": -0.02, "high": 0.4}),
]


# Each way at both, in turns: one of them in `make test`.
BOTH = [
    pytest.param(*way, delta, marks=pytest.mark.slow if k % 2 == (delta > 0) else ())
    for k, way in enumerate(WAYS)
    for delta in (0.0, 1e-6)
]


@pytest.mark.parametrize(("core", "given", "delta"), BOTH, ids=lambda value: getattr(value, "__name__", str(value)))
def test_the_noise_is_for_twice_tau_at_the_shares_budget(monkeypatch, data, core, given, delta):
    """Chance of a false alarm: 1e-7 a case, by the seeds it is none."""
    drawn = []

    def covered(theta, sensitivity, budget, rng, *, sticky):
        drawn.append((sensitivity, budget))
        found = honest(theta, sensitivity, budget, rng)
        drawn.append(found - theta)
        return honest(theta, sensitivity, budget, np.random.default_rng(7), sticky=sticky)

    honest = base.covered
    for module in (objective, napp):
        monkeypatch.setattr(module, "covered", covered)
    how = {"budget": Budget(1.0, delta), "repeats": 2000, "rng": np.random.default_rng(1), "solver_share": SHARE}
    found, tau = core(data, given, **how)
    (sensitivity, budget), added = drawn
    assert found.guarantee == "proved" and found.event[1] == {"epsilon": 1.0, "delta": delta}
    assert sensitivity == pytest.approx(2 * tau, rel=1e-12) and found.certificate.max() <= tau * (1 + 1e-9)
    assert (budget.epsilon, budget.delta) == (SHARE, SHARE * delta)
    if delta:
        scale = 2 * tau / gaussian.gaussian_ratio(SHARE, SHARE * delta)
        law, length = stats.norm(scale=scale).cdf, stats.chi(P, scale=scale).cdf
        assert stats.kstest(added[:, 0], law).pvalue > 1e-7
    else:
        length = stats.gamma(P, scale=2 * tau / SHARE).cdf
    assert stats.kstest(np.linalg.norm(added, axis=1), length).pvalue > 1e-7
    low, high = given.get("low", -np.inf), given.get("high", np.inf)
    assert (low <= found.theta).all() and (found.theta <= high).all()


@together.over("neighbours", ["add_remove", "replace"])
@together.over("epsilon", [0.05, 0.5, 1.0, 3.0, 10.0])
@together.over("delta", [0.0, 1e-9, 1e-5])
def test_the_default_costs_less_than_a_fifth_of_a_percent_of_noise(epsilon, delta, neighbours):
    """What the tilt is longer by, and the output noise beside what the tilt moves theta by where nothing else does.

    Records stiffen the problem: a Hessian of H Delta makes the second ratio H times as large.
    """
    whole, share = Budget(epsilon, delta), base.SOLVER_SHARE
    domain, tau = Domain(1.0), base.COVERED_TARGET
    scales = []
    for spent in (whole, whole.share(1 - share)):
        curvature = objective.default_curvature(losses.logistic(), domain, spent.epsilon)
        law, _ = objective.calibrate(
            losses.logistic(), domain, spent, curvature=curvature, calibration="tight", neighbours=neighbours
        )
        scales.append(law.scale)
    assert 1 <= scales[1] / scales[0] < 1.002
    hiding = base.covering(2 * tau / curvature, whole.share(share))
    assert type(hiding) is type(law) and hiding.scale < 1e-4 * scales[1] / curvature


@pytest.mark.parametrize(
    ("model", "word"),
    [
        (ObjectivePerturbation(), "proved"),
        (ObjectivePerturbation(neighbours="replace", delta=1e-6, l1=1.0, l2=1.0), "proved"),
        (ObjectivePerturbation(radius=1.0), "proved"),
        (ObjectivePerturbation(low=0.0), "proved"),
        (ObjectivePerturbation(solver_share=0.0), "proved_exact"),
        (ObjectivePerturbation(calibration="paper"), "proved_exact"),
        (ObjectivePerturbation(calibration="paper", solver_share=0.01), "proved"),
        (ObjectivePerturbation(l1=1.0, radius=1.0), "proved"),
        pytest.param(ObjectivePerturbation(regularizer=cp.tv), "proved_exact", id="by cvxpy"),
        (NAPP(), "proved"),
        (NAPP(calibration="corrected", variant="vs", low=0.0, delta=1e-6), "proved"),
        (NAPP(penalty="ridge", retrieval="recycle"), "proved"),
        (NAPP(moor=True, penalty="elastic_net", kappa=0.9, strength=9.0), "proved"),
        (NAPP(solver_share=0.0), "proved_exact"),
        (NAPP(calibration="paper", delta=1e-6), "proved_exact"),
        (NAPP(calibration="paper", delta=1e-6, solver_share=0.01), "proved"),
    ],
    ids=str,
)
def test_who_says_proved(data, model, word):
    said = model.set_params(**LABELS, random_state=0).fit(*data).privacy_
    assert said.guarantee == word and (said.epsilon, said.event.epsilon) == (1.0, 1.0)


def test_the_sparse_regression_says_proved_by_default():
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (300, P))
    for given, word in (
        ({}, "proved"),
        ({"calibration": "corrected"}, "proved"),
        ({"solver_share": 0}, "proved_exact"),
    ):
        assert SparseRegression(y_bound=1.0, **given).fit(X, X[:, 0]).privacy_.guarantee == word


@pytest.mark.parametrize("model", [NAPP(delta=1e-6, strength=4.0), ObjectivePerturbation(delta=1e-6, l1=6.0)], ids=str)
def test_zeros_of_a_lasso_stay_zeros(model):
    X = np.random.default_rng(1).uniform(-0.3, 0.3, (400, 10))
    y = np.where(X[:, 3] > 0, 1, -1)
    zeros = 0
    for seed in range(20):
        fits = [
            model.set_params(solver_share=share, random_state=seed, epsilon=5.0, **LABELS).fit(X, y).coef_[0]
            for share in (0.0, None)
        ]
        np.testing.assert_array_equal(fits[0] == 0, fits[1] == 0)
        np.testing.assert_allclose(*fits, rtol=0.02, atol=0.02)
        zeros += int((fits[1] == 0).sum())
    assert 20 <= zeros < 200


def test_walls_stay_walls(data):
    X, y = data
    for model in (NAPP(low=0.0, high=[0.1, 1, 1, 1]), ObjectivePerturbation(low=0.0, high=0.1)):
        found = np.array([model.set_params(epsilon=9.0, random_state=k, **LABELS).fit(X, y).coef_[0] for k in range(9)])
        assert found.min() == 0.0 and (found[:, 0] == 0.1).any() and np.abs(found[found != 0]).min() > 1e-5


@pytest.mark.parametrize(
    "given",
    [
        {"moor": True}, {"variant": "vs"}, {"method": "literal"}, {"moor": True, "retrieval": "recycle"},
    ],
    ids=str,
)  # fmt: skip
def test_what_nothing_certifies_cannot_be_hidden(data, given):
    with pytest.raises(InvalidBudget, match=r"solver_share=0\.1 hides the solver's error, and nothing bounds that for"):
        NAPP(calibration="paper", delta=1e-4, solver_share=0.1, **given, **LABELS).fit(*data)


@pytest.mark.parametrize("share", ["a", 1, -0.1, True, math.nan])
def test_an_impossible_share_is_named(data, share):
    for Estimator in (NAPP, ObjectivePerturbation):
        with pytest.raises(InvalidBudget, match=r"solver_share=.*in \[0, 1\)"):
            Estimator(solver_share=share, **LABELS).fit(*data)


def test_the_default_target_is_reached_with_room(data):
    for model in (NAPP(), ObjectivePerturbation(), NAPP(loss="smoothed_hinge"), ObjectivePerturbation(l1=1.0)):
        X, y = np.tile(data[0], (200, 1)), np.tile(data[1], 200)
        found = diagnostics(model.set_params(**LABELS, random_state=0).fit(X, y))
        assert found.converged


def test_napps_certificate_holds_with_its_rounding_for_many_records():
    """Held against sums whose rounding is none (`math.fsum`)."""
    rng = np.random.default_rng(5)
    X = rng.uniform(-0.4, 0.4, (30_000, P))
    y, tilt, aim = np.where(rng.random(30_000) < special.expit(X[:, 0]), 1.0, -1.0), rng.normal(size=P), 1e-9
    scheme = Scheme("lasso", 0.25, moor=False, halved=True)
    problem = Composite(
        losses.logistic(), X, y, tilt[None], 0.0, scheme, 2.0, (np.full(P, -np.inf), np.full(P, np.inf))
    )
    theta = polished(problem, np.full((1, P), 0.1), aim / 2)[0][0]
    u = X.astype(np.longdouble) @ theta
    slopes = -y / (1 + np.exp(y * u))
    gradient = np.array([math.fsum((column * slopes).astype(float)) for column in X.T]) + tilt
    # theta has no zeros here: P'(u) = 2 (1 + 0.25 u).
    true = np.linalg.norm(gradient + np.sign(theta) * 2 * (1 + 0.25 * np.abs(theta)))
    # A look in doubles is enough for this aim; the other one is left the whole of it.
    at_once, longer = (problem.known(theta[None], 0.25, most)[0] for most in (aim, 0.0))
    assert (theta != 0).all() and true <= longer < at_once <= aim


def spent(made, tau, hiding):
    """Return the largest log ratio of the released density on two data sets, one record or none, p = 1.

    The solver errs by tau at most and tells the data sets apart all the same: it rounds to even multiples of tau on
    one, to odd ones on the other. So theta is on a lattice, with the probabilities that theta* has around its points
    (theta* <= u if and only if b >= -J'(u)), and the density of what is released is a sum over them.
    """
    reach = 12 * made.law.scale / made.modulus
    halves = math.ceil(reach / (2 * tau))
    at = np.linspace(-reach / 2, reach / 2, 501)
    densities = []
    for records, odd in ((1, 0), (0, 1)):
        points = tau * (2 * np.arange(-halves, halves + 1) + odd)
        ends = np.append(points - tau, points[-1] + tau)
        gradient = made.modulus * ends - records * special.expit(-ends)
        masses = np.diff(stats.laplace(scale=made.law.scale).cdf(gradient))
        densities.append(stats.laplace(scale=hiding).pdf(at[:, None] - points) @ masses)
    return float(np.abs(np.log(densities[0] / densities[1])).max())


def test_a_solver_that_tells_the_data_sets_apart_is_hidden_by_the_share():
    """NAPP in one dimension, ridge: a penalty of modulus 2 Lambda0 and nothing else."""
    budget, share, tolerance = Budget(1.0), 0.1, 0.02
    made = napp.plan(
        "logistic", 1, penalty="ridge", strength=1e-3, domain=Domain(1.0), budget=budget, neighbours="add_remove",
        calibration="tight", solver_share=share,
    )  # fmt: skip
    assert isinstance(made.law, noise.SphericalLaplace) and made.spent == budget
    tau = tolerance / made.modulus
    hiding = base.covering(2 * tau, budget.share(share)).scale
    assert spent(made, tau, hiding) <= 1 + 1e-6
    assert spent(made, tau, hiding / 40) > 1.5


def test_a_curvature_that_only_the_whole_of_epsilon_allows_says_who_took_the_rest():
    curvature = 0.25 / math.expm1(0.9995)
    given = {"curvature": curvature, "random_state": 0, **LABELS}
    X, y = [[0.1], [0.2]], [-1, 1]
    with pytest.raises(
        InvalidBudget, match=r"of epsilon=1 solver_share=0.001 leaves the tilt 0.999, and solver_share=0"
    ):
        ObjectivePerturbation(**given).fit(X, y)
    assert ObjectivePerturbation(**given, solver_share=0.0).fit(X, y).privacy_.guarantee == "proved_exact"
