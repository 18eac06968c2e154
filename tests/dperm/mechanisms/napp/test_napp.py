"""NAPP-ERM's batched core: the problems it solves, the noise it draws, what it promises and what it refuses."""

import itertools
import math
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
import together
from designs import of_a_generalised_model
from scipy import optimize

from dperm.domain import Budget, Domain
from dperm.errors import DomainViolation, InvalidBudget
from dperm.feasible import Region, Regularizer
from dperm.mechanisms import napp
from dperm.mechanisms.napp import limit, losses
from dperm.mechanisms.napp.noise import Bounds, calibrate
from dperm.mechanisms.napp.scheme import penalty
from dperm.solvers import composite

LOSSES = ("squared", "logistic", "poisson", "smoothed_hinge")
ETA = {"squared": 1.5, "poisson": 1.5}
REPEATS, P = 6, 4
DOMAIN = Domain(1.0, 4.0)
BUDGETS = pytest.mark.parametrize("budget", [Budget(0.8), Budget(0.8, 1e-4)], ids=["pure", "delta"])


def data_of(loss):
    return of_a_generalised_model(loss, 150, P, steepest=2.0)


def release(loss="logistic", **given):
    fixed = {
        "penalty": "lasso", "strength": 1.5, "domain": DOMAIN, "budget": Budget(0.8), "neighbours": "add_remove",
        "calibration": "corrected", "repeats": REPEATS, "rng": np.random.default_rng(3),
        "eta_bound": ETA.get(loss, math.inf),
    }  # fmt: skip
    X, y = data_of(loss)
    return napp.release(X, y, loss, **{**fixed, **given})


def planned(loss="logistic", **given):
    fixed = {
        "penalty": "lasso", "strength": 1.5, "domain": DOMAIN, "budget": Budget(0.8), "neighbours": "add_remove",
        "calibration": "corrected", "eta_bound": ETA.get(loss, math.inf),
    }  # fmt: skip
    return napp.plan(loss, P, **{**fixed, **given})


def tilts(made):
    return made.law.sample((REPEATS, P), np.random.default_rng(3))


@BUDGETS
@together.over("calibration", ["corrected", "tight"])
@together.over(
    ("kind", "rest", "variant", "walls"),
    [
        ("lasso", {}, "erm", (-math.inf, math.inf)),
        ("lasso", {}, "erm", (-0.3, 0.5)),
        ("lasso", {}, "vs", (0.0, 2.0)),
        ("lasso", {}, "vs_plus", (-math.inf, math.inf)),
        ("ridge", {}, "erm", (-math.inf, math.inf)),
        ("elastic_net", {"kappa": 0.4}, "vs_plus", (-math.inf, 0.2)),
        ("elastic_net", {"kappa": 0.9, "moor": True, "strength": 9.0}, "erm", (-math.inf, math.inf)),
    ],
)
@together.over("loss", LOSSES)
def test_the_proved_forms_are_objective_perturbation(loss, kind, rest, variant, walls, calibration, budget):
    """Another solver, given Lambda R + Lambda0 ||theta||^2 + <b, theta> in its own words."""
    low, high = walls
    given = {"strength": 1.5, "penalty": kind, "variant": variant, "calibration": calibration, "budget": budget}
    given |= {"low": low, "high": high, **rest}
    found, made = release(loss, **given), planned(loss, **given)
    strength, kappa, floor = given["strength"], rest.get("kappa", 0.0), float(made.scheme.floor)
    l1, l2 = {
        "lasso": (strength, 2 * floor),
        "ridge": (0.0, 2 * max(strength, floor)),
        "elastic_net": (strength, 2 * (strength * kappa + (0.0 if rest.get("moor") else floor))),
    }[kind]
    extra = calibrate(
        made.bounds, budget, share=0.5, variant=variant, calibration=calibration, features=P,
        loss=losses.make(loss),
    )[1]  # fmt: skip
    assert (extra > 0) == (variant == "vs_plus")
    X, y = data_of(loss)
    # By its name composite would take the squared loss for one that is not continued.
    continued = replace(losses.make(loss, ETA.get(loss, math.inf)), name="continued")
    peer = composite.minimise(
        continued, X, y, ridge=l2, tilt=tilts(made), tolerance=1e-7,
        regularizer=Regularizer(l1 + extra), region=Region(low=low, high=high),
    )  # fmt: skip
    assert found.guarantee == "proved_exact" and found.obstacles == () and found.converged.all()
    np.testing.assert_allclose(found.theta, peer.theta, atol=2e-6)
    assert (np.linalg.norm(found.theta - peer.theta, axis=1) <= found.certificate + peer.certificate + 1e-12).all()
    assert (found.certificate <= 1e-6 * made.bounds.zeta12 / made.modulus).all()
    assert made.modulus >= 2 * floor * (1 - 1e-12)
    assert found.event == ("EpsilonDeltaDpEvent", {"epsilon": 0.8, "delta": budget.delta})


@pytest.mark.parametrize(
    ("variant", "walls"), [("erm", (-math.inf, math.inf)), ("vs_plus", (-math.inf, math.inf)), ("vs", (0.0, 1.0))]
)
@pytest.mark.parametrize("gamma", [0.3, 0.8])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_bridge_is_minimised_too(loss, gamma, variant, walls):
    given = {"penalty": "bridge", "gamma": gamma, "variant": variant, "low": walls[0], "high": walls[1]}
    found, made = release(loss, **given), planned(loss, **given)
    assert found.converged.all()
    X, y = data_of(loss)
    model = losses.make(loss, ETA.get(loss, math.inf))

    def objective(theta, b):
        own = 1.5 * np.abs(theta) ** (2 - gamma) + float(made.scheme.floor) * theta**2
        return model.value(X @ theta, y).sum() + b @ theta + (own + made.extra_l1 * np.abs(theta)).sum()

    for theta, b in zip(found.theta, tilts(made), strict=True):
        assert penalty(made.scheme, 1.5, theta).sum() == pytest.approx(
            (1.5 * np.abs(theta) ** (2 - gamma) + float(made.scheme.floor) * theta**2).sum()
        )
        walls_of = [walls] * P
        peer = optimize.minimize(objective, theta, (b,), method="Powell", bounds=walls_of, options={"ftol": 1e-14})
        assert objective(theta, b) <= peer.fun + 1e-9 * abs(peer.fun)


@pytest.mark.parametrize("moor", [True, False])
@pytest.mark.parametrize("variant", ["erm", "vs", "vs_plus"])
def test_as_published_is_the_limit_with_the_printed_noise(variant, moor):
    X, y = data_of("logistic")
    given = {"variant": variant, "moor": moor, "calibration": "paper", "budget": Budget(0.8, 1e-4)}
    found, made = release(**given, tolerance=1e-10), planned(**given)
    assert not made.scheme.halved and made.extra_l1 == 0
    path = limit.path(
        limit.problems("logistic", X[None], y[None]), tilts(made), made.scheme, np.array([1.5]), variant=variant,
        tolerance=1e-10,
    )  # fmt: skip
    np.testing.assert_allclose(found.theta, path.theta[:, 0], atol=2e-4)
    assert found.converged.all()
    assert np.isinf(found.certificate).all() == (moor or variant == "vs")


@together.over(
    ("given", "errata"),
    [
        ({"budget": Budget(0.8, 1e-4)}, []),
        ({"budget": Budget(0.8, 1e-4), "neighbours": "replace"}, ["K3"]),
        ({}, ["N1"]),
        ({"neighbours": "replace"}, ["N1", "K3"]),
        ({"budget": Budget(0.8, 1e-4), "variant": "vs_plus"}, ["N2"]),
        ({"budget": Budget(0.8, 1e-4), "variant": "vs"}, ["N3"]),
        ({"budget": Budget(0.8, 1e-4), "variant": "vs", "low": 0.0}, ["N3"]),
        ({"budget": Budget(0.8, 1e-4), "moor": True}, ["N4"]),
        ({"budget": Budget(0.8, 1e-4), "moor": True, "penalty": "ridge"}, []),
        ({"budget": Budget(0.8, 1e-4), "penalty": "ridge", "retrieval": "recycle"}, []),
        ({"budget": Budget(0.8, 1e-4), "moor": True, "retrieval": "recycle"}, ["N4", "N5"]),
        ({"budget": Budget(0.8, 1e-4), "retrieval": "return"}, ["N5"]),
        ({"budget": Budget(0.8, 1e-4), "penalty": "bridge", "gamma": 1.5}, ["N17"]),
        ({"budget": Budget(0.8, 1e-4), "method": "literal", "rows": 200, "steps": 12}, ["N8"]),
        ({"budget": Budget(0.8, 1e-4), "bounds": Bounds(1.0, 1.0, 0.2)}, ["N10, N11, N12"]),
        ({"budget": Budget(0.8, 1e-4), "bounds": Bounds(1.0, 1.0, 0.25)}, []),
    ],
)
def test_what_is_not_proved_of_the_printed_forms(given, errata):
    found = release(calibration="paper", **given)
    assert [obstacle.erratum for obstacle in found.obstacles] == errata
    assert found.guarantee == ("none" if errata else "proved_exact")
    assert found.theta.shape == (REPEATS, P) and np.isfinite(found.theta).all()


@together.over("calibration", ["corrected", "tight"])
@together.over(
    ("given", "words"),
    [
        ({"moor": True}, r"moor=True with penalty='lasso', strength=1.5.*valid: moor=False; penalty='ridge'; or"),
        ({"moor": True, "penalty": "elastic_net", "kappa": 0.1}, r".*kappa=0.1.*strength\*kappa >= Lambda0 = 0.3125"),
        ({"moor": True, "penalty": "bridge", "gamma": 0.5}, "moor=True with penalty='bridge'.*N4.*moor=False"),
        ({"penalty": "bridge", "gamma": 1.5}, r"gamma=1.5.*not convex \(erratum N17\); valid: gamma <= 1"),
        ({"variant": "vs"}, r"variant='vs'.*low=\[-inf\].*N3.*valid: .*low >= 0 or high <= 0"),
        ({"variant": "vs", "low": -1.0, "high": 1.0}, r"variant='vs'.*low=\[-1.0\], high=\[1.0\].*variant='erm'"),
        ({"variant": "vs", "low": [0, 0, -1, 0], "high": 1.0}, r"variant='vs'.*low=\[-1.0, 0.0\]"),
        ({"retrieval": "recycle"}, "retrieval='recycle' with penalty='lasso'.*N5.*valid: retrieval='none', or penalty"),
        ({"retrieval": "return"}, "retrieval='return' with penalty='lasso'.*N5"),
        ({"method": "literal"}, r"method='literal'.*\(erratum N8\); valid: method='limit'"),
        ({"bounds": Bounds(1.0, 0.5, 0.25)}, "bounds .zeta1 zeta2=0.5, zeta3=0.25. do not hold.*leave bounds out"),
    ],
)
def test_what_has_no_valid_form_is_refused_with_one_that_has(calibration, given, words):
    with pytest.raises(ValueError, match=f"calibration='{calibration}' has no valid form here: {words}"):
        planned(calibration=calibration, **given)


def test_vs_is_valid_in_any_one_orthant():
    walls = {"low": np.array([0.0, -1.0, 0.0, 0.2]), "high": np.array([2.0, 0.0, 2.0, 2.0])}
    found = release(variant="vs", **walls)
    assert found.guarantee == "proved_exact"
    assert (found.theta >= walls["low"]).all() and (found.theta <= walls["high"]).all()


class TestRidge:
    """Its modulus is public, so Algorithm 2 is another share of epsilon, known beforehand."""

    GIVEN: ClassVar = {"penalty": "ridge", "strength": 2.0}  # Lambda0 = 0.25/0.8 = 0.3125

    @BUDGETS
    def test_recycling_is_the_share_that_the_ridge_leaves(self, budget):
        made = planned(**self.GIVEN, budget=budget, retrieval="recycle")
        spent = 0.25 / (2 * 2.0)
        share = 1 - spent / 0.8
        peer = planned(**self.GIVEN, budget=budget, share=share)
        assert made.law.scale == pytest.approx(peer.law.scale) and made.spent == budget
        assert float(peer.scheme.floor) == pytest.approx(2.0) and made.modulus == peer.modulus == 4.0
        assert made.credit == pytest.approx(1 - 0.3125 / 2)
        # Eq 14: the noise of r epsilon + Delta.
        plain = planned(**self.GIVEN, budget=budget).law.scale
        more = 0.4 + made.credit * 0.4
        root = 1.0 if budget.delta == 0 else math.sqrt((more + math.log(1e4)) / (0.4 + math.log(1e4)))
        assert made.law.scale / plain == pytest.approx(0.4 / more * root)

    @BUDGETS
    def test_tight_recycling_uses_the_whole_modulus(self, budget):
        made = planned(**self.GIVEN, budget=budget, calibration="tight", retrieval="recycle")
        least = calibrate(
            made.bounds, budget, share=0.5, variant="erm", calibration="tight", features=P, modulus=4.0,
            loss=losses.make("logistic"),
        )[0]  # fmt: skip
        assert made.law == least
        assert made.law.scale < planned(**self.GIVEN, budget=budget, retrieval="recycle").law.scale

    @BUDGETS
    def test_what_is_returned_is_not_claimed(self, budget):
        kept, returned = (release(**self.GIVEN, budget=budget, retrieval=word) for word in ("none", "return"))
        np.testing.assert_array_equal(kept.theta, returned.theta)
        spent = returned.event[1]["epsilon"]
        assert spent == pytest.approx(0.4 + 0.25 / 4.0) and returned.guarantee == "proved_exact"
        np.testing.assert_allclose(returned.retrieved, 1 - 0.3125 / 2)
        np.testing.assert_array_equal(kept.retrieved, 0.0)
        # Theorem 3: the radius' scale and the modulus 4 spend no more than that.
        if budget.delta == 0:
            scale = planned(**self.GIVEN, budget=budget).law.scale
            assert 1 / scale + math.log1p(0.25 / 4) <= spent

    def test_a_ridge_below_the_floor_leaves_nothing(self):
        for word in ("return", "recycle"):
            made = planned(penalty="ridge", strength=0.1, retrieval=word)
            assert made.credit == 0 and made.spent == Budget(0.8)
            assert made.law.scale == pytest.approx(planned(penalty="ridge", strength=0.1).law.scale)

    def test_returning_what_tight_has_already_spent_is_refused(self):
        with pytest.raises(ValueError, match="retrieval='return' with calibration='tight': take retrieval='recycle'"):
            planned(**self.GIVEN, calibration="tight", retrieval="return")

    def test_other_penalties_retrieve_what_their_weights_show(self):
        for word in ("return", "recycle"):
            found = release(calibration="paper", moor=True, strength=4.0, retrieval=word)
            assert found.guarantee == "none" and ((found.retrieved >= 0) & (found.retrieved <= 1)).all()
            assert found.retrieved.max() > 0


def test_bounds_are_those_of_the_domain_and_of_theta():
    for loss, given, zetas in (
        ("logistic", {}, (1.0, 1.0, 0.25)),
        ("smoothed_hinge", {}, (1.0, 1.0, 1.0)),
        ("squared", {"eta_bound": 1.5}, (1.0, 5.5, 1.0)),
        ("squared", {"eta_bound": math.inf, "low": 0.0, "high": 0.5}, (1.0, 5.0, 1.0)),
        ("squared", {"eta_bound": 0.8, "low": 0.0, "high": 0.5}, (1.0, 4.8, 1.0)),
        ("poisson", {"eta_bound": 1.5}, (1.0, math.exp(1.5), math.exp(1.5))),
    ):
        assert planned(loss, **given).bounds == Bounds(*zetas)


@together.over(
    ("given", "error", "words"),
    [
        (
            {"loss": "squared", "eta_bound": math.inf},
            DomainViolation,
            "loss='squared' has no bounded gradient.*y_bound",
        ),
        (
            {"loss": "poisson", "eta_bound": math.inf},
            DomainViolation,
            "loss='poisson' has no bounded gradient.*eta_bound",
        ),
        ({"loss": "squared", "domain": Domain(1.0)}, DomainViolation, "y_bound=None.*declare y_bound and eta_bound"),
        ({"loss": "squares"}, ValueError, "loss='squares' is not one of 'squared'"),
        ({"eta_bound": 0.0}, DomainViolation, "eta_bound=0.0 must be a number"),
        ({"penalty": "nuclear"}, ValueError, "penalty='nuclear' is not one of 'ridge', 'lasso'"),
        ({"penalty": "bridge"}, ValueError, r"gamma=None must be a number in \[0, 2\)"),
        ({"penalty": "bridge", "gamma": 2}, ValueError, r"gamma=2.0 must be a number in \[0, 2\)"),
        ({"penalty": "elastic_net"}, ValueError, r"kappa=None must be a number in \(0, 1\)"),
        ({"penalty": "elastic_net", "kappa": 0}, ValueError, r"kappa=0.0 must be a number in \(0, 1\)"),
        ({"gamma": 0.5}, ValueError, "gamma=0.5 belongs to the bridge"),
        ({"strength": 0}, ValueError, "strength=0.0 must be a number in .* it is Lambda"),
        ({"share": 0.0}, InvalidBudget, r"share=0.0 must be a number in \(0, 1\); it is r"),
        ({"share": 1.0}, InvalidBudget, r"share=1.0 must be a number in \(0, 1\); it is r"),
        ({"variant": "vs", "truncation": 0.5}, ValueError, r"truncation=0.5 must be a number in \[-inf, 0\]; c is 0"),
        ({"variant": "vs_plus", "truncation": 0.5}, ValueError, r"truncation=0.5 must be a number in \[-inf, 0\]"),
        (
            {"variant": "vs_plus", "truncation": -1.0},
            ValueError,
            "truncation=-1.0 is not offered with variant='vs_plus'",
        ),
        ({"variant": "erm", "truncation": 0.0}, ValueError, "truncation=0.0 is not offered with variant='erm'"),
        ({"low": 1.0, "high": 0.0}, DomainViolation, "low=1.0 must be below high=0.0: the box is empty"),
        ({"low": [0.0, 1.0]}, DomainViolation, r"low=\[0.0, 1.0\] must be a number, or one for each of 4 features"),
        ({"high": math.nan}, DomainViolation, "high=nan must hold no NaN"),
        ({"retrieval": "keep"}, ValueError, "retrieval='keep' is not one of 'none', 'return', 'recycle'"),
        ({"method": "exact"}, ValueError, "method='exact' is not one of 'limit', 'literal'"),
        ({"calibration": "loose"}, ValueError, "calibration='loose' is not one of"),
        ({"neighbours": "swap"}, ValueError, "neighbours='swap' is not one of"),
    ],
)
def test_what_is_wrong_is_named(given, error, words):
    with pytest.raises(error, match=words):
        planned(**given)


def test_what_the_solver_is_asked_is_checked():
    with pytest.raises(ValueError, match=r"tolerance=2\.0 must be a number"):
        release(tolerance=2.0)
    with pytest.raises(ValueError, match="leave low and high out"):
        release(calibration="paper", method="literal", low=0.0)


def test_a_truncation_that_is_the_variants_own_may_be_said():
    for variant, point in itertools.product(("vs", "vs_plus"), (None, "own")):
        own = {"vs": -math.inf, "vs_plus": 0.0}[variant] if point else None
        assert planned(variant=variant, truncation=own, calibration="paper").scheme.target == "lasso"


def test_a_coarser_target_stays_within_its_certificate():
    exact, coarse = release(tolerance=1e-9), release(tolerance=1.0)
    gap = np.linalg.norm(exact.theta - coarse.theta, axis=1)
    assert (gap <= coarse.certificate + exact.certificate).all()


def test_the_literal_way_comes_near_the_limit():
    given = {"calibration": "paper", "budget": Budget(3.0, 1e-2), "repeats": 2, "strength": 0.3}
    near, exact = release(**given, method="literal", rows=20_000, steps=40), release(**given)
    np.testing.assert_allclose(near.theta, exact.theta, atol=0.05 * np.abs(exact.theta).max())


def test_the_same_generator_gives_the_same_bytes_and_repeats_are_independent_draws():
    first, second = release(), release()
    assert first.theta.tobytes() == second.theta.tobytes()
    assert len(np.unique(first.theta, axis=0)) == REPEATS
