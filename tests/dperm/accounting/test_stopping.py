"""The best of a random number of private trials: against brute force over finite trials, and other people's bounds.

Brute force: K runs out far beyond its law's tail, and the first of the best outputs is at each place in turn.
"""

import math

import numpy as np
import pytest
import together
from dp_accounting import dp_event, rdp
from scipy import stats

from dperm.accounting import stopping
from dperm.accounting.gaussian import gaussian_ratio, hockey_stick
from dperm.domain import Budget
from dperm.errors import InvalidBudget

LAWS = [(1.0, 1.0), (3.0, 0.0), (3.0, 1.0), (10.0, 0.5), (10.0, 1.0), (30.0, 4.0)]
FURTHEST = 3_000


def probabilities(law):
    """P(K = 1), P(K = 2), ..., from SciPy's laws: K is a negative binomial number that is not 0, or logarithmic."""
    k = np.arange(1, FURTHEST)
    if law.gamma == 1:
        return (k == 1).astype(float)
    if law.shape == 0:
        return stats.logser.pmf(k, 1 - law.gamma)
    return stats.nbinom.pmf(k, law.shape, law.gamma) / stats.nbinom.sf(0, law.shape, law.gamma)


def selected(p, scores, law):
    """The law of the first of the best among K outputs of law p: one by one, by place and number."""
    found = np.zeros(len(p))
    for k, chance in enumerate(probabilities(law), start=1):
        if chance < 1e-12:
            continue
        for y, score in enumerate(scores):
            worse, not_better = p[scores < score].sum(), p[scores <= score].sum()
            places = worse ** np.arange(k) * not_better ** np.arange(k - 1, -1, -1)
            found[y] += chance * p[y] * places.sum()
    return found


def curve(p, q):
    """The privacy curve of a pair of finite laws, in both directions."""
    return lambda e: max(np.maximum(a - math.exp(e) * b, 0).sum() for a, b in ((p, q), (q, p)))


@together.over(("mean", "shape"), [*LAWS, (10.0, 1e-7)])
def test_the_law_of_the_number_of_trials_is_that_of_scipy(mean, shape):
    law, k = stopping.trials(mean, shape), np.arange(1, FURTHEST)
    p = probabilities(law)
    assert p.sum() == pytest.approx(1, abs=1e-8) and (k * p).sum() == pytest.approx(mean, rel=1e-6)
    assert law.mean == pytest.approx(mean, rel=1e-9)
    for t in (0.0, 0.3, 0.95, 1.0):
        assert law.generating(t) == pytest.approx((p * t**k).sum(), abs=1e-7)
    rng = np.random.default_rng(0)
    drawn = np.array([law.draw(rng) for _ in range(3_000)])
    cells = [np.mean(drawn == 1), np.mean(drawn == 2), np.mean(drawn > mean)]
    wanted = [p[0], p[1], p[k > mean].sum()]
    assert np.abs(np.subtract(cells, wanted)).max() < 5 * 0.5 / math.sqrt(3_000)


@together.over(("mean", "shape"), LAWS)
def test_no_finite_trial_spends_more_than_the_theorem_says(mean, shape):
    """Random trials of up to five outputs, of which some are equally good."""
    law, rng = stopping.trials(mean, shape), np.random.default_rng(1)
    for _ in range(3):
        p, q = rng.dirichlet(np.full(5, 0.7), size=2)
        q = 0.7 * p + 0.3 * q
        scores = rng.integers(3, size=5)
        one, other = (selected(law_of, scores, law) for law_of in (p, q))
        assert one.sum() == pytest.approx(1, abs=1e-6)
        trial, best = curve(p, q), curve(one, other)
        first = (1 + shape) * stopping.first_epsilon(trial, law.gamma)
        for left in (0.0, 0.05, 0.2, 0.5, 1.0):
            assert best(first + left) <= law.mean * trial(left) + 1e-7


@together.over(("mean", "shape"), LAWS)
def test_a_pure_trial_attains_it(mean, shape):
    """A rare output below one of which the neighbour has more, as much as turns its randomised response around."""
    law, budget = stopping.trials(mean, shape), Budget(1.0)
    base = stopping.base_budget(budget, law, stopping.worst)
    rare, up = 1e-7, math.exp(base.epsilon)
    above = 1 / (1 + up)
    p = np.array([1 - above - up * rare, up * rare, above])
    q = np.array([1 - up * above - rare, rare, up * above])
    assert np.abs(np.log(p / q)).max() <= base.epsilon + 1e-6
    one, other = (selected(law_of, np.arange(3), law) for law_of in (p, q))
    assert abs(math.log(one[1] / other[1])) == pytest.approx(1.0, abs=1e-4)
    assert np.abs(np.log(one / other)).max() <= 1 + 1e-6


def test_many_trials_cost_what_corollary_3_says_and_one_costs_itself():
    for shape in (0.0, 1.0, 2.5):
        base = stopping.base_budget(Budget(1.0), stopping.trials(1e6, shape), stopping.worst)
        assert base.epsilon == pytest.approx(1 / (2 + shape), rel=1e-4) and base.epsilon >= 1 / (2 + shape)
    alone = stopping.base_budget(Budget(1.0, 1e-6), stopping.trials(1, 1.0), stopping.gaussian)
    assert alone.epsilon == pytest.approx(1.0) and 0.99e-6 < alone.delta < 1e-6


@together.over("delta", [1e-6, 1e-3])
@together.over(("mean", "shape"), [(3.0, 0.0), (10.0, 1.0), (30.0, 0.5)])
def test_a_gaussian_trial_is_charged_less_than_by_renyi_divergences(mean, shape, delta):
    """dp-accounting has Papernot and Steinke's Theorem 2, and converts to (epsilon, delta)."""
    law = stopping.trials(mean, shape)
    base = stopping.base_budget(Budget(1.0, delta), law, stopping.gaussian)
    ratio = gaussian_ratio(base.epsilon, base.delta)
    accountant = rdp.RdpAccountant(1 + np.geomspace(0.05, 2000, 120))
    accountant.compose(dp_event.RepeatAndSelectDpEvent(dp_event.GaussianDpEvent(1 / ratio), mean, shape))
    assert 1.0 < accountant.get_epsilon(delta) < 2
    # And so it is by the theorem, with a curve written down here.
    first = stopping.first_epsilon(lambda e: float(hockey_stick(e, ratio)), law.gamma)
    assert hockey_stick(1 - (1 + shape) * first, ratio) * mean == pytest.approx(delta, rel=2e-2)
    assert hockey_stick(1 - (1 + shape) * first, ratio) * mean <= delta


def test_the_worst_curve_is_that_of_the_two_laws_that_attain_it():
    epsilon, delta = 0.7, 0.01
    response = (1 - delta) * np.array([math.exp(epsilon), 1]) / (1 + math.exp(epsilon))
    pair = curve(np.array([delta, 0, *response]), np.array([0, delta, *response[::-1]]))
    for e in (0.0, 0.3, 0.7, 2.0):
        assert stopping.worst(Budget(epsilon, delta))(e) == pytest.approx(pair(e), rel=1e-12)


def test_the_first_epsilon_is_the_smallest_that_will_do():
    trial = stopping.worst(Budget(0.5, 1e-3))
    for gamma in (0.9, 0.1, 1e-3, 1e-6):
        found = stopping.first_epsilon(trial, gamma)
        room = {e: math.expm1(e) * gamma / (1 - gamma) - trial(e) for e in (found, found * (1 - 1e-6))}
        assert room[found] >= 0 > room[found * (1 - 1e-6)]


@together.over(
    ("given", "words"),
    [((0.5, 1.0), r"n_iter=0.5 .*10 is usual"), (("a", 1.0), "n_iter='a'"), ((3, -1), "shape=-1.* logarithmic")],
)
def test_a_wrong_law_is_refused_by_its_name(given, words):
    with pytest.raises(ValueError, match=words):
        stopping.trials(*given)


def test_a_law_whose_first_chance_underflows_is_refused():
    """At P(K = 1) = 7.8e-319 a denormal had lost digits, and the law 16 % of its mass."""
    with pytest.raises(ValueError, match=r"n_iter=158500 with shape=100 .* lower shape"):
        stopping.trials(158_500, 100)
    assert stopping.trials(1 + 1e-13, 0) == stopping.Trials(1.0, 0.0)


def test_a_delta_that_leaves_nothing_is_refused():
    with pytest.raises(InvalidBudget, match=r"epsilon=0\.01, delta=0\.9 leave nothing for one of n_iter=30 trials"):
        stopping.base_budget(Budget(0.01, 0.9), stopping.trials(30, 1.0), stopping.worst)
