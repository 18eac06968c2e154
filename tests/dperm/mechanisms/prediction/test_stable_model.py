"""A stable w that is released once: its sensitivity in closed form and by brute force, its noise, its answers."""

import numpy as np
import pytest
import together
from scipy import stats

import dperm
from dperm import losses
from dperm.accounting import gaussian
from dperm.domain import Budget, Domain
from dperm.errors import InvalidBudget
from dperm.mechanisms.prediction import stable_erm, stable_model, stable_sgd
from dperm.mechanisms.prediction.ledger import PredictionLedger
from dperm.mechanisms.prediction.noisy_linear import NoisyLinear

pytestmark = pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
BUDGET = Budget(1.0, 1e-6)
RATIO = gaussian.gaussian_ratio(1.0, 1e-6)
MODEL = {"answers": "model", "classes": (-1, 1), "random_state": 0}


def spent(distance, scale):
    """The exact delta of two Gaussians so far apart, at epsilon = 1."""
    return gaussian.hockey_stick(1.0, distance / scale)


def moved(make, given, data, other):
    """How far the w of neighbours lie apart: the same seed has the same noise."""
    one, two = (make(**MODEL, **given).fit(*records) for records in (data, other))
    return np.linalg.norm(one.coef_ - two.coef_)


@together.over(("corollary", "weight"), [("4.10", 1), ("4.11", 2)])
@together.over(("neighbours", "number"), [("replace", 2), ("add_remove", 1)])
def test_on_a_line_one_record_moves_w_by_k_slopes_over_the_weight_and_delta_is_spent(
    corollary, weight, neighbours, number
):
    """(|w - y|)' = -y where |w| < 1, so weight total w = the sum of labels; the solver's slack is next to nothing."""
    X, y = np.full((9, 1), 0.5), np.array([1.0] * 5 + [-1.0] * 4)
    other = (X, np.where(np.arange(9) == 0, -1.0, y)) if neighbours == "replace" else (X[1:], y[1:])
    given = {"loss": "absolute", "corollary": corollary, "total": 10.0, "neighbours": neighbours, "tolerance": 1e-6}
    one, two = (
        dperm.StableERM(answers="model", x_norm=0.5, random_state=0, **given).fit(*records)
        for records in ((X, y), other)
    )
    distance = abs(one.coef_ - two.coef_)[0]
    assert distance == pytest.approx(number * 0.5 / (weight * 10), rel=1e-5)
    scale = one.privacy_.event.noise_multiplier * distance
    assert spent(distance, scale) == pytest.approx(1e-6, rel=1e-4) and one.privacy_.guarantee == "proved"


@pytest.mark.parametrize("loss", ["logistic", "hinge", "smoothed_hinge"])
def test_no_neighbour_of_stable_erm_spends_more_than_delta(loss):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((12, 3))
    X, y = X / np.linalg.norm(X, axis=1)[:, None], rng.choice([-1.0, 1.0], 12)
    for neighbours in ("replace", "add_remove"):
        given = {"loss": loss, "total": 3.0, "neighbours": neighbours, "tolerance": 0.1}
        # Literally: k L/(2 lambda n), and a tenth of it for the solver, on either side.
        scale = (2 if neighbours == "replace" else 1) / 6 * 1.2 / RATIO
        for i in range(12):
            other = np.delete(X, i, 0), np.delete(y, i)
            if neighbours == "replace":
                other = np.vstack([other[0], -X[i]]), np.append(other[1], y[i])
            distance = moved(dperm.StableERM, given, (X, y), other)
            assert distance > 0 and spent(distance, scale) <= 1e-6


@pytest.mark.parametrize("n", [5, 40])
def test_the_first_record_of_stable_sgd_spends_delta_and_no_other_more(n):
    """Alternating targets far away: each step is eta long, and w - w' is 2 eta (n - i)/n."""
    y, X = 1e3 * (-1.0) ** np.arange(n), np.ones((n, 1))
    size, scale = 1 / np.sqrt(n), 2 / np.sqrt(n) * (n - 1) / n / RATIO
    for i in (0, 1, n // 2, n - 1):
        other = np.where(np.arange(n) == i, -y, y)
        given = {"loss": "huber", "radius": 1.0}
        one, two = (dperm.StableSGD(answers="model", random_state=0, **given).fit(X, targets) for targets in (y, other))
        distance = abs(one.coef_ - two.coef_)[0]
        assert distance <= 2 * size * (n - 1 - i) / n * (1 + 1e-9) and spent(distance, scale) <= 1e-6 * (1 + 1e-6)
        if not i:
            assert spent(distance, scale) == pytest.approx(1e-6, rel=1e-4)


# Kolmogorov and Smirnov's test at a fixed seed.
@together.over("module", [stable_erm, stable_sgd])
@together.over("fit_intercept", [False, True])
def test_the_noise_is_gaussian_of_the_scale_of_the_theorem_and_spherical_laplace_without_delta(module, fit_intercept):
    rng = np.random.default_rng(5)
    X, y = rng.uniform(-0.4, 0.4, (60, 3)), rng.choice([-1.0, 1.0], 60)
    # Of another length than 1, so that a missing L_f shows.
    domain = Domain(2.0, None, 1.5)
    made = module.prepare(X, y, losses.logistic(), domain=domain, epsilon=1.0, calibration="tight")
    for budget in (BUDGET, Budget(1.0)):
        found = stable_model.release(made, domain=domain, budget=budget, rng=np.random.default_rng(8), repeats=2_000)
        noise = found.theta - made.w
        if budget.delta:
            scale = made.rate / 2.0 / RATIO
            assert stats.kstest(noise.ravel() / scale, "norm").pvalue > 1e-3
            assert found.event == ("GaussianDpEvent", {"noise_multiplier": pytest.approx(1 / RATIO)})
        else:
            length = np.linalg.norm(noise, axis=1) / (made.rate / 2.0)
            assert stats.kstest(length, stats.gamma(3).cdf).pvalue > 1e-3
            assert found.event == ("EpsilonDeltaDpEvent", {"epsilon": 1.0, "delta": 0.0})
        assert found.guarantee == "proved" and found.converged.all()


def test_what_is_not_proved_of_an_answer_is_not_of_the_model():
    predictor = NoisyLinear(np.zeros(2), 1.0, 1.0, "none")
    found = stable_model.release(predictor, domain=Domain(1.0, None, 1.0), budget=BUDGET, rng=np.random.default_rng(0))
    assert found.guarantee == "none"


def test_one_model_has_the_noise_of_four_answers_and_stays_there():
    """The table of docs/privacy.md, section 12: standard deviations in units of gamma."""
    each = {
        m: np.sqrt(2) / PredictionLedger(1.0, 1e-6, answers=m, neighbours="replace", mechanism={}).each
        for m in (2, 3, 100, 1_000, 10_000)
    }
    once = 1 / RATIO
    assert once == pytest.approx(4.2247, abs=1e-4)
    assert [each[m] for m in (100, 1_000, 10_000)] == pytest.approx([58.898, 188.69, 597.38], rel=1e-4)
    assert each[2] < once < each[3]


def test_a_delta_that_no_gaussian_has_is_refused():
    predictor = NoisyLinear(np.zeros(2), 1.0, 1.0, "proved")
    with pytest.raises(InvalidBudget, match="delta=1e-310"):
        stable_model.release(
            predictor, domain=Domain(1.0, None, 1.0), budget=Budget(1.0, 1e-310), rng=np.random.default_rng(0)
        )
