"""Worst-case pairs: neighbours within their domain, and what their docstrings claim of them."""

import math
from collections import Counter

import numpy as np
import pytest
import together

from dperm import losses
from dperm.accounting import objective as theorems
from dperm.audit import line, linear_targets, pairs, random_search
from dperm.domain import Budget, Domain

RELATIONS = ("add_remove", "replace")
HERE = [
    (name, neighbours)
    for name in pairs.PAIRS
    for neighbours in RELATIONS
    if (name, neighbours) != ("first_example", "add_remove")
]


def build(name, neighbours, *, epsilon=1.0, delta=0.0, **others):
    return pairs.PAIRS[name](neighbours=neighbours, budget=Budget(epsilon, delta), **others)


def aim(case, neighbours, *, mechanism="objective", epsilon=1.0, delta=0.0, calibration="tight"):
    return linear_targets.target(
        mechanism,
        loss=case.loss,
        domain=case.domain,
        budget=Budget(epsilon, delta),
        neighbours=neighbours,
        calibration=calibration,
        curvature=case.curvature,
    )


@pytest.mark.parametrize(("name", "neighbours"), HERE)
def test_a_pair_is_one_of_neighbours_within_its_domain(name, neighbours):
    case = build(name, neighbours)
    (X, y), (X2, y2) = case.data, case.neighbour
    rows, others = (Counter(tuple(row) for row in np.column_stack(side)) for side in ((X, y), (X2, y2)))
    assert (rows - others).total() == (neighbours == "replace")
    assert (others - rows).total() == 1
    assert np.linalg.norm(np.concatenate([X, X2]), axis=1).max() <= case.domain.x_norm
    assert case.words and X.shape[1] == X2.shape[1]
    if case.loss.targets == "binary":
        assert set(np.concatenate([y, y2])) <= {-1.0, 1.0}


@together.over("epsilon", [0.5, 1.0, 2.0, 3.0])
@together.over(("name", "neighbours"), HERE)
def test_the_printed_constants_may_be_used_with_every_pair(name, neighbours, epsilon):
    if name == "first_example":
        return
    aim(build(name, neighbours, epsilon=epsilon), neighbours, epsilon=epsilon, calibration="paper")


@pytest.mark.slow
@together.over("epsilon", [0.1, 1.0, 5.0])
@together.over(("delta", "least"), [(0.0, 0.99), (1e-4, 0.9999), (1e-9, 0.9999)])
def test_pulled_spends_all_that_theorem_4_allows_and_less_than_a_separate_calibration(delta, least, epsilon):
    case = build("pulled", "add_remove", epsilon=epsilon, delta=delta)
    for calibration, low, high in (("tight", least, 1.0), ("separate", 0.3, 0.95)):
        target = aim(case, "add_remove", epsilon=epsilon, delta=delta, calibration=calibration)
        found = line.lower_bound(target, case.data, case.neighbour, delta=delta).epsilon / epsilon
        assert low < found <= high
    # On a line one record's pull is all that a replaced one shows.
    case = build("pulled", "replace", epsilon=epsilon, delta=delta)
    target = aim(case, "replace", epsilon=epsilon, delta=delta)
    assert line.lower_bound(target, case.data, case.neighbour, delta=delta).epsilon < 0.7 * epsilon


@pytest.mark.parametrize(("neighbours", "records", "share"), [("add_remove", 10, 0.6), ("add_remove", 200, 0.9)])
def test_saturating_moves_the_noise_by_nearly_zeta(neighbours, records, share):
    """At the minimiser of `data`: B_D' - B_D is nearly -zeta along the first axis."""
    assert moved(build("saturating", neighbours, records=records), neighbours)[0] > share


@pytest.mark.parametrize(("records", "share"), [(10, 1.0), (200, 1.4)])
def test_saturating_moves_the_noise_by_more_than_zeta_when_a_record_is_replaced(records, share):
    """Along the second axis, of 2 zeta at most; one axis cannot show more than zeta (l' of one sign)."""
    move = moved(build("saturating", "replace", records=records), "replace")
    assert abs(move[1]) > share
    assert abs(move[0]) < 0.1


def moved(case, neighbours):
    target = aim(case, neighbours)
    theta = target.centre(case.data)[None]
    return np.abs(target.noise(theta, case.data) - target.noise(theta, case.neighbour))[0]


@pytest.mark.parametrize("calibration", ["paper", "tight"])
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_the_knee_has_full_force_and_full_curvature_at_one_theta(neighbours, calibration):
    """The largest log-likelihood ratio is all that Theorem 3 allows; it is found just inside the parabola's end."""
    case = build("knee", neighbours, calibration=calibration)
    target = aim(case, neighbours, calibration=calibration)
    record = case.data if neighbours == "replace" else case.neighbour
    knee = np.array([[record[1][0] + 1 - 1e-9, 0.0]])
    ratio = abs(target.log_density(knee, case.data) - target.log_density(knee, case.neighbour))[0]
    log_det = math.log1p(1 / case.curvature)
    theorem = theorems.gamma_epsilon(target.law.scale, 1.0, log_det=log_det, neighbours=neighbours)
    assert ratio == pytest.approx(theorem, abs=1e-6)
    # There the noise has the length s/2.
    likelier = target.noise(knee, record)
    assert likelier[0] == pytest.approx([0.5 * target.law.scale, 0.0], abs=1e-6)


@pytest.mark.parametrize("calibration", ["paper", "tight"])
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_line_attains_the_gamma_theorem(neighbours, calibration):
    case = build("line", neighbours, calibration=calibration)
    target = aim(case, neighbours, calibration=calibration)
    audit = line.lower_bound(target, case.data, case.neighbour, delta=0.0)
    log_det = math.log1p(1 / case.curvature)
    theorem = theorems.gamma_epsilon(target.law.scale, 1.0, log_det=log_det, neighbours=neighbours)
    assert audit.epsilon == pytest.approx(theorem, abs=1e-5)
    assert audit.refutes(1.0) == (calibration == "paper" and neighbours == "replace")


@pytest.mark.slow
@pytest.mark.parametrize(("calibration", "least", "most"), [("paper", 1.0205, 1.0213), ("tight", 0.855, 1.0)])
def test_line_refutes_the_printed_gaussian_noise_read_as_replace_one(calibration, least, most):
    case = build("line", "replace", delta=1e-6, calibration=calibration)
    target = aim(case, "replace", delta=1e-6, calibration=calibration)
    audit = line.lower_bound(target, case.data, case.neighbour, delta=1e-6)
    assert least < audit.epsilon < most


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_linear_moves_the_minimiser_by_all_of_the_sensitivity(neighbours, epsilon):
    for records, features in ((1, 1), (10, 1), (9, 3)):
        case = build("linear", neighbours, epsilon=epsilon, records=records, features=features)
        target = aim(case, neighbours, mechanism="output", epsilon=epsilon)
        move = np.linalg.norm(target.centre(case.neighbour) - target.centre(case.data))
        assert move == pytest.approx((1 if neighbours == "add_remove" else 2) / case.curvature, rel=1e-9)


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_linear_spends_all_of_epsilon(neighbours):
    """But for the 2 tau that the noise adds for the solver's error: a share of 1e-6 or 2e-6."""
    case = build("linear", neighbours)
    audit = line.lower_bound(aim(case, neighbours, mechanism="output"), case.data, case.neighbour, delta=0.0)
    assert 1 - 3e-6 < audit.epsilon <= 1.0


def averaged_sgd(X, y, loss, *, radius, lipschitz):
    """One pass of projected SGD from 0 with step R/(L sqrt(n)); the mean of w_0 to w_{n-1} (errata D2, D11)."""
    n, p = X.shape
    eta, w, total = radius / (lipschitz * math.sqrt(n)), np.zeros(p), np.zeros(p)
    for x, label in zip(X, y, strict=True):
        total += w
        w = w - eta * loss.derivative(x @ w, label) * x
        w *= min(1.0, radius / max(np.linalg.norm(w), 1e-300))
    return total / n


@pytest.mark.parametrize("records", [4, 25, 400])
def test_the_first_example_counts_in_every_iterate(records):
    """The mean of the iterates moves by 2 R/sqrt(n) (1 - 1/n): more than is printed, and no other place does."""
    case = build("first_example", "replace", records=records)
    given = {"radius": case.domain.theta_norm, "lipschitz": case.loss.gradient_bound(case.domain)}

    def move(place):
        roll = np.roll(np.arange(records), place)
        ends = [averaged_sgd(X[roll], y[roll], case.loss, **given) for X, y in (case.data, case.neighbour)]
        return float(np.linalg.norm(ends[0] - ends[1]))

    assert move(0) == pytest.approx(2 / math.sqrt(records) * (1 - 1 / records), rel=1e-12)
    assert move(0) > 1.4 / math.sqrt(records)
    assert all(move(place) < move(0) for place in range(1, min(records, 10)))


def test_what_the_pairs_refuse():
    with pytest.raises(ValueError, match="public under 'replace' only"):
        build("first_example", "add_remove")
    for name in ("saturating", "linear", "first_example"):
        with pytest.raises(ValueError, match="records=0"):
            build(name, "replace", records=0)
    for name in pairs.PAIRS:
        with pytest.raises(ValueError, match="neighbours='swap'"):
            build(name, "swap")


# The random search


def hunt(neighbours, *, scale=1.0, seed=0, loss=None, **others):
    loss, domain = loss or losses.huber(1.0), Domain(1.0)

    def make_target(curvature):
        return linear_targets.target(
            "objective", loss=loss, domain=domain, budget=Budget(scale), neighbours=neighbours,
            calibration="tight", curvature=curvature,
        )  # fmt: skip

    given = {"loss": loss, "domain": domain, "curvatures": (2.0, 6.0), "candidates": 15, "draws": 500} | others
    return make_target, random_search.random_search(
        make_target, neighbours=neighbours, rng=np.random.default_rng(seed), **given
    )


@pytest.mark.parametrize("loss", ["huber", "logistic"])
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_the_search_returns_neighbours_and_is_reproducible(neighbours, loss):
    loss = losses.make(loss)
    _, case = hunt(neighbours, loss=loss)
    _, again = hunt(neighbours, loss=loss)
    assert len(case.neighbour[1]) - len(case.data[1]) == (neighbours == "add_remove")
    assert np.linalg.norm(case.neighbour[0][-1]) == pytest.approx(1.0)
    assert case.words == again.words and case.words.startswith("random search, best of 15")
    np.testing.assert_array_equal(case.data[0], again.data[0])


def test_more_candidates_are_no_worse_and_reasoning_beats_luck():
    make_target, _ = hunt("replace")

    def reached(case):
        target = make_target(case.curvature)
        rng = np.random.default_rng(1)
        return random_search.reach(target, case.data, case.neighbour, draws=20_000, rng=rng)

    few, many = (reached(hunt("replace", candidates=number)[1]) for number in (2, 40))
    reasoned = reached(build("knee", "replace"))
    assert few <= many + 0.05
    assert many < reasoned + 0.05
    assert 0.7 < reasoned < 1.0


def test_the_search_needs_a_density_and_something_to_try():
    with pytest.raises(ValueError, match="candidates=0"):
        hunt("replace", candidates=0)
    target = linear_targets.Target(draw=None)
    with pytest.raises(ValueError, match="log_density"):
        random_search.random_search(
            lambda curvature: target, loss=losses.huber(), domain=Domain(1.0), curvatures=(1.0,),
            neighbours="replace", rng=np.random.default_rng(0),
        )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_line_gets_near_what_the_tight_gaussian_noise_allows(neighbours):
    """At the budget of config/audits.yaml: a curvature that leaves nearly all of epsilon to the noise shows most."""
    fixed = {"budget": Budget(3.0, 1e-9), "neighbours": neighbours, "calibration": "tight"}
    case = pairs.line(**fixed)
    problem = {"loss": case.loss, "domain": case.domain, "curvature": case.curvature}
    audit = line.lower_bound(
        linear_targets.target("objective", **problem, **fixed), case.data, case.neighbour, delta=1e-9
    )
    assert 0.97 * 3.0 < audit.epsilon < 3.0
