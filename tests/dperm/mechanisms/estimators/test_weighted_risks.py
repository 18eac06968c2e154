"""Sample weights of objective and output perturbation: W zeta and W lambda, the noise by hand, and the weighted fit."""

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
import theorem4
import together
from scipy import optimize, sparse
from total_fits import LABELS as TOTAL
from total_fits import NUMBERS, P, told

from dperm import ObjectivePerturbation, OutputPerturbation, losses
from dperm.accounting.gaussian import gaussian_ratio
from dperm.audit.called import recording
from dperm.domain import Budget, Domain
from dperm.errors import DomainViolation, InvalidBudget, NoGuaranteeWarning, VacuousWarning
from dperm.mechanisms import objective, output
from dperm.mechanisms.base import bounds

# One model is fitted again and again here.
pytestmark = pytest.mark.filterwarnings("ignore::dperm.errors.SpentAgainWarning")
RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, (60, 3))
y = (X @ [3, -1, 0.5] + RNG.normal(size=60) > 0).astype(int)
W = 4.0
w = RNG.uniform(0, W, 60)
LABELS = {"classes": (0, 1), "random_state": 0}
RELATIONS = ["add_remove", "replace"]
RISKS = [ObjectivePerturbation, OutputPerturbation]
# Budgets large enough that 60 records are not drowned, which would be said.
BUDGETS = [{"epsilon": 8.0}, {"epsilon": 8.0, "delta": 1e-2}]
UNIT = Domain(x_norm=1.0)


def weighing(loss, bound=W):
    return replace(loss, weight_bound=bound)


@together.over("loss", ["logistic", "capped_logistic", "huber", "smoothed_hinge"])
@together.over("neighbours", RELATIONS)
@together.over("delta", [0.0, 1e-6])
@together.over("calibration", objective.CALIBRATIONS)
def test_weights_up_to_w_need_what_w_times_the_losses_need(loss, neighbours, delta, calibration):
    """All divided by W: records of weight 1 at Delta/W, and a tilt that is W times as long."""
    one, budget = losses.make(loss), Budget(1.0, delta)
    assert bounds(weighing(one), UNIT) == tuple(W * bound for bound in bounds(one, UNIT))
    for curvature in (2.5, 8.0):
        given = {"calibration": calibration, "neighbours": neighbours}
        law, guarantee = objective.calibrate(weighing(one), UNIT, budget, curvature=W * curvature, **given)
        peer, word = objective.calibrate(one, UNIT, budget, curvature=curvature, **given)
        assert law.scale == pytest.approx(W * peer.scale, rel=1e-9) and guarantee == word and type(law) is type(peer)
    with pytest.raises(InvalidBudget):
        least = 2 * bounds(one, UNIT)[1] if calibration == "paper" else bounds(one, UNIT)[1] / math.expm1(1.0)
        objective.calibrate(weighing(one), UNIT, budget, curvature=W * 0.99 * least, **given)


@together.over("neighbours", RELATIONS)
@together.over("bound", [0.25, 3.0, 100.0])
def test_the_tied_noise_is_that_of_every_weight_and_slope(neighbours, bound):
    """On a grid of slopes s and weights k <= W: the largest k s R/beta + log(1 + k s (1 - s) R^2/Delta) is at k = W."""
    R, curvature = 2.0, 3.0 * bound
    law, _ = objective.calibrate(
        weighing(losses.logistic(), bound), Domain(x_norm=R), Budget(1.0), curvature=curvature,
        calibration="tight", neighbours=neighbours,
    )  # fmt: skip
    s, k = np.linspace(0, 1, 1001), bound * np.linspace(0, 1, 201)[:, None]
    each = k * s * R / law.scale + np.log1p(k * s * (1 - s) * R**2 / curvature)
    spent = each.max() + (bound * R / law.scale if neighbours == "replace" else 0.0)
    assert spent == pytest.approx(1, rel=1e-5) and each.argmax() // len(s) == 200
    slow = theorem4.least_scale(R, epsilon=1.0, leverage=bound * R**2 / curvature, neighbours=neighbours)
    assert law.scale == pytest.approx(bound * slow, rel=1e-6)


@together.over("neighbours", RELATIONS)
@together.over("delta", [0.0, 1e-3])
def test_output_noise_by_hand(neighbours, delta):
    given = {"epsilon": 2.0, "delta": delta, "neighbours": neighbours, "curvature": 40.0, "weight_bound": W}
    fit = recording.fit(OutputPerturbation(**given, classes=(0, 1)), "_release", X, y, 1, sample_weight=w)
    ((law, noise),) = fit.drawn
    sensitivity = ((1 if neighbours == "add_remove" else 2) + 2e-6) * W / 40
    ratio = gaussian_ratio(2.0, delta) if delta else 2.0
    assert law.scale == pytest.approx(sensitivity / ratio, rel=1e-9)
    np.testing.assert_allclose(fit.model.coef_[0] - noise, by_scipy(w, 40.0), atol=1e-6)


def by_scipy(weights, ridge, tilt=0.0):
    signs = 2 * y - 1

    def risk(theta):
        return weights @ np.logaddexp(0, -signs * (X @ theta)) + 0.5 * ridge * theta @ theta + np.sum(tilt * theta)

    return optimize.minimize(risk, np.zeros(3), method="BFGS", options={"gtol": 1e-9}).x


@together.over("neighbours", RELATIONS)
def test_the_tilt_and_the_weighted_minimiser_by_hand(neighbours):
    given = {"epsilon": 2.0, "delta": 1e-3, "neighbours": neighbours, "curvature": 40.0, "weight_bound": W}
    model = ObjectivePerturbation(**given, classes=(0, 1), calibration="separate", solver_share=0.0)
    fit = recording.fit(model, "_release", X, y, 1, sample_weight=w)
    ((law, tilt),) = fit.drawn
    np.testing.assert_allclose(fit.model.coef_[0], by_scipy(w, 40.0, tilt), atol=1e-6)
    # Theorems 1 and 2 with W zeta = 4, W lambda = 1.
    left, budget = 2.0 - math.log1p(1 / 40), Budget(2.0, 1e-3)
    sigma = objective.calibrate(
        losses.smoothed_hinge(2.0), UNIT, budget, curvature=10.0, calibration="tight", neighbours=neighbours
    )[0].scale
    assert law.scale == pytest.approx(4 * sigma, rel=1e-9)
    if neighbours == "add_remove":
        assert law.scale == pytest.approx(4 / gaussian_ratio(left, 1e-3), rel=1e-6)


@together.over("make", RISKS)
@together.over("neighbours", RELATIONS)
@together.over("budget", BUDGETS)
@together.over("calibration", ["tight", "paper"])
def test_weights_at_the_bound_are_no_weights_at_all(make, neighbours, budget, calibration):
    """Defaults, noise and solver: the whole problem is W times the one without weights, and theta the same."""
    how = {**LABELS, **budget, "neighbours": neighbours, "calibration": calibration}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VacuousWarning)
        warnings.simplefilter("ignore", NoGuaranteeWarning)
        plain = make(**how).fit(X, y)
        weighted = make(**how, weight_bound=W).fit(X, y, sample_weight=np.full(60, W))
    np.testing.assert_allclose(weighted.coef_, plain.coef_, rtol=1e-5)
    assert weighted.privacy_.guarantee == plain.privacy_.guarantee
    assert weighted.privacy_.event == plain.privacy_.event


CONVEX = {
    "smooth": {},
    "l1": {"l1": 2.0},
    "box": {"low": -0.1, "high": 0.1},
    "ball": {"radius": 0.2},
    "all": {"l1": 1.0, "l2": 3.0, "low": -0.1, "radius": 0.3},
}


@together.over("loss", ["logistic", "capped_logistic", "smoothed_hinge", "huber", "squared", "poisson"])
@together.over("kind", CONVEX)
def test_whole_weights_are_repeated_records(loss, kind):
    """Same noise, same Delta; a weight of 0 is no record."""
    bounded = {"radius": 0.5, "y_bound": 2.0} if loss in ("squared", "poisson") else {}
    classes = {} if loss in ("huber", "squared", "poisson") else {"classes": (0, 1)}
    given = {"epsilon": 8.0, "curvature": 60.0, "random_state": 3, "loss": loss, "weight_bound": 3.0, "n_public": 60}
    model = ObjectivePerturbation(**bounded | given | classes | CONVEX[kind])
    times = np.random.default_rng(1).integers(0, 4, 60)
    weighted = model.fit(X, y, sample_weight=times).coef_
    repeated = model.fit(np.repeat(X, times, axis=0), np.repeat(y, times)).coef_
    np.testing.assert_allclose(weighted, repeated, atol=1e-7)
    assert np.abs(weighted).max() > 1e-3
    np.testing.assert_allclose(model.fit(sparse.csr_array(X), y, sample_weight=times).coef_, weighted, atol=1e-7)


def test_what_cvxpy_solves_takes_weights():
    given = {"epsilon": 8.0, "curvature": 60.0, "constraints": lambda theta: [theta[0] == 2 * theta[1]]}
    model = ObjectivePerturbation(**given, **LABELS, weight_bound=3.0)
    times = np.random.default_rng(1).integers(0, 4, 60)
    weighted = model.fit(X, y, sample_weight=times).coef_[0]
    repeated = model.fit(np.repeat(X, times, axis=0), np.repeat(y, times)).coef_[0]
    np.testing.assert_allclose(weighted, repeated, atol=1e-3)
    assert weighted[0] == pytest.approx(2 * weighted[1], abs=1e-6) and abs(weighted[0]) > 0.01


@together.over("make", RISKS)
def test_weights_of_one_are_none_and_zeros_are_no_records(make):
    given = {**LABELS, "epsilon": 8.0, "curvature": 20.0, "weight_bound": 1.0}
    plain, ones = (make(**given).fit(X, y, **how).coef_ for how in ({}, {"sample_weight": np.ones(60)}))
    assert plain.tobytes() == ones.tobytes()
    half = np.where(np.arange(60) % 2, 1.0, 0.0)
    kept = make(**given).fit(X[1::2], y[1::2]).coef_
    assert make(**given).fit(X, y, sample_weight=half).coef_.tobytes() == kept.tobytes()
    nothing = make(**given).fit(X, y, sample_weight=np.zeros(60))
    assert np.isfinite(nothing.coef_).all()


@together.over("make", RISKS)
def test_records_without_weights_count_once_and_need_a_bound_of_one(make):
    model = make(**LABELS, epsilon=8.0, curvature=20.0, weight_bound=0.5)
    with pytest.raises(DomainViolation, match=r"weight_bound=0\.5 and no weights: records without weights count once"):
        model.fit(X, y)
    model.fit(X, y, sample_weight=np.full(60, 0.5))
    core = objective.release if make is ObjectivePerturbation else output.release
    fixed = {
        "domain": UNIT, "budget": Budget(8.0), "neighbours": "add_remove", "calibration": "tight",
        "rng": np.random.default_rng(0),
    }  # fmt: skip
    for loss, weights in ((weighing(losses.logistic(), 0.5), None), (losses.logistic(), np.full(60, 1.5))):
        with pytest.raises(DomainViolation):
            core(X, 2.0 * y - 1, loss, weights=weights, **fixed)
    with pytest.raises(ValueError, match="a weight for each record"):
        core(X, 2.0 * y - 1, weighing(losses.logistic()), weights=np.ones(59), **fixed)


@together.over("neighbours", RELATIONS)
def test_one_record_of_any_weight_moves_the_minimiser_by_no_more_than_the_noise_is_made_for(neighbours):
    given = {**LABELS, "epsilon": 2.0, "delta": 1e-6, "curvature": 12.0, "weight_bound": W, "neighbours": neighbours}
    model = OutputPerturbation(**given)

    def theta(*record):
        # Short rows push theta far and bend J little: then a record against them has nearly all of its slope.
        rows = [(0.003, 1, W)] * 13_000 + list(record)
        x, target, weights = np.array(rows).T
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VacuousWarning)
            return model.fit(x[:, None], target.astype(int), sample_weight=weights).coef_[0, 0]

    ends = {
        record: theta(record) for record in [(1.0, 0, W), (1.0, 1, W), (1.0, 0, W / 3), (-1.0, 0, W), (1.0, 0, 0.0)]
    }
    if neighbours == "add_remove":
        moved = max(abs(end - theta()) for end in ends.values())
    else:
        moved = max(ends.values()) - min(ends.values())
    one = W / 12
    assert 0.9 * one < moved <= one * (2 if neighbours == "replace" else 1)


@together.over("make", RISKS)
def test_noise_that_drowns_records_of_the_largest_weight_is_said(make):
    """By W zeta: as many records are drowned as without weights, at W times the curvature."""
    given = {**LABELS, "epsilon": 0.05, "neighbours": "replace"}
    words = []
    for more, weights in (({"curvature": 10.0}, {}), ({"curvature": 10 * W, "weight_bound": W}, {"sample_weight": w})):
        with pytest.warns(VacuousWarning) as said:
            make(**given, **more).fit(X, y, **weights)
        words.append(str(said[0].message))
    assert words[0] == words[1]


# The noise is OpenDP's, and nobody looks at it.
@pytest.mark.chance(0.0)
def test_a_weighted_release_for_publication_has_the_sensitivity_of_w():
    pytest.importorskip("opendp")
    given = {"epsilon": 8.0, "curvature": 40.0, "classes": (0, 1), "release": True, "weight_bound": W}
    fits = [
        recording.fit(OutputPerturbation(**given | more), "_release", X, y, 0, **weights)
        for more, weights in (({}, {"sample_weight": w}), ({"weight_bound": None}, {}))
    ]
    scales = [fit.drawn[0][1].scale * fit.drawn[0][1].step for fit in fits]
    assert scales[0] == pytest.approx(W * scales[1], rel=1e-3) and fits[0].model.privacy_.mode == "release"
    np.testing.assert_allclose(fits[0].drawn[0][0][0], by_scipy(w, 40.0), atol=1e-6)


STEEP = {ObjectivePerturbation: 100, OutputPerturbation: 1e3}
CURVED = {"logistic": 0.25, "smoothed_hinge": 1.0, "huber": 1.0}


def hard(n=100):
    """Rows of any size, equal ones, and weights of any size, as shares of their bound."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(n, P))
    wild = rows * 10.0 ** rng.uniform(-300, 250, (n, 1))
    shares = [np.ones(n), 10.0 ** rng.uniform(-300, 0, n), 10.0 ** rng.uniform(-9, 0, n), np.arange(n) % 2]
    for each in (rows, np.repeat(rows[:1], n, axis=0), wild):
        yield from ((each, rows @ [1, -1, 0.5], share) for share in (*shares, np.where(np.arange(n), 1e-8, 1.0)))


@together.over("make", RISKS)
@together.over("loss", CURVED)
@together.over("bound", [1e-30, 1.0, 1e30])
def test_no_weights_make_a_total_fit_fail(make, loss, bound):
    """At the least curvature that clip=True takes."""
    kind, curvature = NUMBERS if loss == "huber" else TOTAL, bound * CURVED[loss] / STEEP[make]
    given = {**kind, "loss": loss, "epsilon": 9.0, "weight_bound": bound}
    for rows, score, share in hard():
        target = score if loss == "huber" else np.where(score > 0, "yes", "no")
        told(make(**given, curvature=curvature * (1 + 1e-9)), rows, target, sample_weight=bound * share)
    with pytest.raises(InvalidBudget, match=r"clip=True no record .* raise curvature to"):
        make(**given, curvature=0.999 * curvature).fit(rows, target, sample_weight=bound * share)


@together.over("pieces", [{"l1": 0.5}, {"low": -1e-3, "high": 0.5}, {"radius": 0.3}, {"l1": 0.5, "radius": 1.0}])
@together.over("loss", ["logistic", "squared", "poisson"])
def test_no_weights_make_a_total_fit_with_regularizers_or_sets_fail(pieces, loss):
    numeric = {"y_bound": 2.0, "radius": 0.3, **NUMBERS}
    given = {**(TOTAL if loss == "logistic" else numeric), "loss": loss, "epsilon": 2.0, "weight_bound": 50.0}
    for rows, score, share in hard(40):
        target = np.where(score > 0, "yes", "no") if loss == "logistic" else score
        told(ObjectivePerturbation(**given | pieces), rows, target, sample_weight=50.0 * share)
