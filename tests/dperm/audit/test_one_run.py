"""One run with many coins: the bound by a literal transcription, its size on exact mechanisms, its power.

Fixed seeds. Of 400 audits at 95 % more than 33 refuted would happen with a chance of 1e-3 at a size of exactly .05.
"""

import numpy as np
import pytest
from scipy import special, stats

from dperm import NoisyGradientDescent
from dperm.accounting.gaussian import hockey_stick
from dperm.audit import bounds, one_run

AUDITS, ALLOWED = 400, 33


def literal(canaries, made, right, epsilon, delta):
    """The paper's sum, term by term."""
    share = 1 / (1 + np.exp(-epsilon))
    total, most = 0.0, 0.0
    for i in range(1, right + 1):
        total += stats.binom.pmf(right - i, made, share)
        most = max(most, total / i)
    return min(1.0, stats.binom.sf(right - 1, made, share) + 2 * canaries * delta * most)


def test_the_tail_is_that_of_the_paper():
    rng = np.random.default_rng(0)
    for _ in range(50):
        canaries = int(rng.integers(6, 400))
        made = int(rng.integers(1, canaries + 1))
        right, epsilon = int(rng.integers(0, made + 1)), float(rng.exponential(2.0))
        for delta in (0.0, 1e-5, 1e-2):
            asked = literal(canaries, made, right, epsilon, delta) if right else 1.0
            assert bounds.tail_of_one_run(right, made, canaries, epsilon, delta) == pytest.approx(asked, rel=1e-9)


def responses(epsilon, delta):
    """Randomised response, which tells the truth outright with probability delta: (epsilon, delta), and no less."""

    def train(included, rng):
        kept = rng.random(len(included)) < special.expit(epsilon)
        leaked = rng.random(len(included)) < delta
        return np.where(leaked, 2.0, 1.0) * np.where(kept | leaked, included, ~included)

    return train


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.0, 0.01])
def test_exact_mechanisms_are_refuted_no_more_often_than_is_said(delta):
    streams = np.random.default_rng(1).spawn(AUDITS)
    refuted = sum(
        one_run.lower_bound(responses(1.0, delta), lambda kept: kept, 60, delta=delta, rng=rng).refutes(1.0)
        for rng in streams
    )
    assert refuted <= ALLOWED


def test_half_of_the_noise_is_seen_in_one_run():
    """Laplace noise of half the scale for a claim of 1; what is certified, and its p-values, agree."""

    def train(included, rng):
        return included + rng.laplace(0, 0.5, len(included))

    found = one_run.lower_bound(train, lambda noisy: noisy, 1_000, rng=np.random.default_rng(2))
    assert 1.4 < found.epsilon < 2 and found.refutes(1.0) and not found.refutes(2.0)
    assert found.p_value(found.epsilon) == pytest.approx(0.05, rel=1e-6)
    assert found.guesses[0] == 1_000 and list(found.guesses) == sorted(found.guesses, reverse=True)


def test_a_gaussian_is_held_against_its_whole_curve():
    def train(included, rng):
        return 2.0 * included + rng.normal(size=len(included))

    found = one_run.lower_bound(train, lambda noisy: noisy, 2_000, delta=1e-5, rng=np.random.default_rng(3))
    assert 0.5 < found.mu < 2
    by_curve = [found.against(lambda e, mu=mu: float(hockey_stick(e, mu))) for mu in (found.mu * 0.999, 2.0)]
    assert by_curve[0] <= 0.05 and by_curve[1] > 0.5


def test_a_learner_that_forgets_its_noise_is_caught_by_one_fit():
    """Rows of a feature each: a coefficient tells whether its row was there."""
    canaries = 60
    X = np.eye(canaries)

    def fitted(epsilon):
        def train(included, rng):
            model = NoisyGradientDescent(
                epsilon=epsilon, delta=1e-6, classes=[0, 1], steps=1, random_state=int(rng.integers(2**31))
            )
            return model.fit(X[included], np.ones(included.sum())).coef_.ravel()

        return one_run.lower_bound(train, lambda coef: coef, canaries, delta=1e-6, rng=np.random.default_rng(4))

    assert not fitted(1.0).refutes(1.0)
    assert fitted(1e4).refutes(1.0)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"canaries": 5}, "canaries=5"),
        ({"guesses": [7]}, "even"),
        ({"guesses": [22]}, "at most the 20"),
        ({"delta": 1.0}, "delta"),
        ({"score": lambda kept: kept[1:]}, r"shape \(19,\)"),
    ],
)
def test_messages(changed, words):
    asked = {"train": responses(1.0, 0.0), "score": lambda kept: kept, "canaries": 20, "rng": np.random.default_rng(0)}
    with pytest.raises(ValueError, match=words):
        one_run.lower_bound(**asked | changed)
