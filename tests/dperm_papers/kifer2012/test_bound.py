"""The noise by theorem: every formula against its own equation, and the two-step bound against exact laws."""

import math

import fake_rows
import numpy as np
import pytest
from chosen_rows import of

from dperm import losses
from dperm.accounting import gaussian, objective
from dperm.domain import Budget, Domain
from dperm.laws.quadrature import Pair
from dperm.noise import Gaussian
from dperm_papers.kifer2012.bound import experiment as bound
from dperm_papers.kifer2012.shared import quadrature, worst_pairs

HUBER, LOGISTIC = losses.make("huber", knee=1.0), losses.make("logistic")


@pytest.fixture(scope="module")
def rows():
    return fake_rows.bound()


def points(rows, **where):
    """Epsilon, delta, log(1 + lambda/Delta) and sigma/zeta of every row that is asked for."""
    for row in of(rows, **where).itertuples():
        yield row.epsilon, row.delta, math.log1p(row.epsilon / row.ridge_multiple), row.value


def test_printed_noise_is_the_papers_with_zeta_once_or_twice(rows):
    for times, relation in ((1, "add_remove"), (2, "replace")):
        for epsilon, delta, _, sigma in points(rows, calibration="paper", neighbours=relation):
            assert sigma == pytest.approx(times * math.sqrt(8 * math.log(2 / delta) + 4 * epsilon) / epsilon)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("sign", ["any", "one"])
def test_tight_noise_spends_all_of_delta_by_the_theorems(rows, relation, sign):
    found = list(points(rows, calibration="tight", neighbours=relation, sign=sign))
    assert len(found) == 4 * 2
    for epsilon, delta, log_det, sigma in found:
        a, rest = 1 / sigma, epsilon - log_det
        h = gaussian.hockey_stick
        expected = {
            ("add_remove", "any"): max(h(rest, a), 2 * h(epsilon, a)),
            ("add_remove", "one"): h(rest, a),
            ("replace", "any"): 2 * (h(rest, 2 * a) + h(rest, math.sqrt(2) * a)),
            ("replace", "one"): h(rest, 2 * a) + 2 * h(rest, a),
        }[relation, sign]
        assert expected == pytest.approx(delta, rel=1e-6)


def test_our_bound_never_asks_for_more_than_twice_the_tail(rows):
    keys = ["row", "epsilon", "delta", "ridge_multiple"]
    here = rows[(rows["neighbours"] == "add_remove") & (rows["sign"] == "any")]
    wide = here.pivot_table(index=keys, columns="calibration", values="value")
    assert (wide["tight"] < wide["twice"]).all() and (wide["twice"] < wide["paper"]).all()
    for epsilon, delta, log_det, sigma in points(rows, calibration="twice"):
        assert 2 * gaussian.hockey_stick(epsilon - log_det, 1 / sigma) == pytest.approx(delta, rel=1e-6)


def test_two_steps_take_the_best_split(rows):
    """A fine scan of the split, written out, neither beats the noise by more than its grid nor misses delta."""
    for one_sided in (False, True):
        sign = "one" if one_sided else "any"
        for epsilon, delta, log_det, sigma in points(rows, calibration="steps", sign=sign):
            splits = np.linspace(log_det, epsilon, 5001)
            first = gaussian.hockey_stick(splits - log_det, 1 / sigma)
            second = gaussian.hockey_stick(epsilon - splits, 1 / sigma) * (1 if one_sided else 2)
            assert np.min(first + np.exp(splits) * second) == pytest.approx(delta, rel=1e-3)


@pytest.mark.parametrize("loss", [HUBER, LOGISTIC], ids=lambda loss: loss.name)
def test_no_replaced_record_exceeds_the_two_step_bound(loss):
    """Exact laws of random pairs, both orders; and some come within a factor of ten of it."""
    rng = np.random.default_rng(3)
    closest = 0.0
    for _ in range(150):
        epsilon = float(rng.choice([0.1, 0.5, 1.0, 2.0]))
        curvature = rng.choice([2, 5, 20, 200]) * loss.curvature_bound(Domain(x_norm=1.0)) / epsilon
        log_det = math.log1p(loss.curvature_bound(Domain(x_norm=1.0)) / curvature)
        sigma = rng.uniform(0.3, 3) / epsilon

        def record(sigma=sigma, curvature=curvature):
            if loss is LOGISTIC:
                return (rng.choice([-1.0, 1.0]) * rng.uniform(0.5, 1), rng.choice([-1.0, 1.0]))
            return (1.0, rng.choice([1e6, -1e6, *(rng.uniform(-4, 4, 4) * sigma / curvature)]))

        common = [record()][: rng.integers(2)]
        pair = Pair(*(quadrature.law(loss, [*common, record()], curvature, Gaussian(sigma)) for _ in range(2)))
        allowed = bound.two_steps(1 / sigma, epsilon=epsilon, log_det=log_det, one_sided=loss.one_sided)
        spent = max(pair.delta(epsilon), pair.reversed().delta(epsilon))
        assert spent <= allowed * (1 + 1e-9)
        closest = max(closest, spent / allowed)
    assert closest > 0.1


def test_what_is_needed_is_spent_by_a_pair_on_the_line(rows):
    needed = rows[rows["calibration"] == "needed"]
    assert set(needed["ridge_multiple"]) == {20.0} and set(needed["sign"]) == {"any"}
    for row in needed.iloc[[0, -1]].itertuples():
        case = worst_pairs.Case("", HUBER, Domain(x_norm=1.0))
        found = worst_pairs.worst(
            case, 20 / row.epsilon, Gaussian(row.value), Budget(row.epsilon, row.delta), row.neighbours
        )
        spent = max(pair.epsilon(row.delta) for _, pair in found.values())
        assert spent == pytest.approx(row.epsilon, rel=2e-3)
    ours = rows[(rows["calibration"] == "tight") & (rows["sign"] == "any") & (rows["ridge_multiple"] == 20)]
    keys = ["row", "epsilon", "delta", "neighbours"]
    share = needed.set_index(keys)["value"] / ours.set_index(keys)["value"]
    assert (share < 1).all() and (share > 0.5).all()


def test_the_ratio_is_what_the_mechanism_draws(rows):
    """The figure's sigma is that of ObjectivePerturbation's own calibration."""
    from dperm.mechanisms import objective as mechanism

    here = rows[(rows["row"] == "delta") & (rows["calibration"] == "tight") & (rows["sign"] == "any")]
    here = here[(here["neighbours"] == "replace") & (here["ridge_multiple"] == 2)]
    assert list(here["epsilon"]) == [1.0, 1.0]
    for delta, sigma in zip(here["delta"], here["value"], strict=True):
        noise, _ = mechanism.calibrate(
            HUBER, Domain(x_norm=1.0), Budget(1.0, delta), curvature=2.0, calibration="tight", neighbours="replace"
        )
        assert sigma == pytest.approx(noise.scale, rel=1e-9)
        assert objective.objective_delta(
            1 / sigma, epsilon=1.0, log_det=math.log(1.5), one_sided=False, neighbours="replace"
        ) == pytest.approx(delta, rel=1e-6)
