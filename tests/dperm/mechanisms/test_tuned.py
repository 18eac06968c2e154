"""The private choice of Lambda: its portions, its odds by hand, and what is proved of which portions."""

import numpy as np
import pytest
import together
from scipy import stats

from dperm.domain import Budget, Domain
from dperm.mechanisms import tuned

FORM = {
    "strengths": np.array([0.1, 100.0]), "domain": Domain(1.0), "budget": Budget(2.0, 1e-4),
    "neighbours": "add_remove",
}  # fmt: skip
RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, (300, 2))
Y = np.where(X[:, 0] > 0, 1.0, -1.0)


def test_portions_by_place_differ_by_one_and_drawn_ones_are_uniform():
    by_place = tuned.portions(11, 4, by_place=True, rng=RNG)
    assert sorted(np.bincount(by_place)) == [2, 3, 3, 3] and (np.diff(by_place) >= 0).all()
    drawn = tuned.portions(4_000, 4, by_place=False, rng=RNG)
    assert stats.chisquare(np.bincount(drawn, minlength=4)).pvalue > 1e-4


def test_one_record_more_moves_no_record_of_drawn_portions_and_one_of_each_equal_portion():
    drawn = [tuned.portions(n, 3, by_place=False, rng=np.random.default_rng(1)) for n in (10, 11)]
    np.testing.assert_array_equal(drawn[0], drawn[1][:10])
    # Put before eleven others: of these the last of the first two portions go one further.
    placed = [tuned.portions(n, 3, by_place=True, rng=RNG) for n in (11, 12)]
    np.testing.assert_array_equal(np.flatnonzero(placed[0] != placed[1][1:]), [3, 7])


@together.over("calibration, factor", [("paper", 0.5), ("corrected", 0.5), ("tight", 1.0)])
def test_the_odds_of_a_choice(calibration, factor):
    counts = np.array([3, 5, 4])
    exponent = tuned.rate(2.0, calibration, "add_remove")
    chosen = tuned.choice(np.broadcast_to(counts, (20_000, 3)), exponent, np.random.default_rng(2))
    odds = np.exp(-factor * 2.0 * counts)
    assert stats.chisquare(np.bincount(chosen, minlength=3), 20_000 * odds / odds.sum()).pvalue > 1e-4
    assert tuned.rate(2.0, calibration, "replace") == 1.0


def test_what_is_released_is_the_chosen_candidate_and_mistakes_are_counted_on_the_last_portion():
    form = {**FORM, "calibration": "paper"}
    found = tuned.release(X, Y, "logistic", rng=np.random.default_rng(3), repeats=4, **form)
    for repeat, index in enumerate(found.chosen):
        np.testing.assert_array_equal(found.theta[repeat], found.candidates[repeat, index])
        wrong = [np.sum(np.where(X[200:] @ f > 0, 1, -1) != Y[200:]) for f in found.candidates[repeat]]
        np.testing.assert_array_equal(found.mistakes[repeat], wrong)
    # Lambda = 100 beside 100 records of half length leaves nothing but what noise tilts away from 0.
    assert found.candidates.shape == (4, 2, 2)


def test_what_is_proved():
    said = {}
    for calibration in ("paper", "corrected", "tight"):
        for neighbours in ("add_remove", "replace"):
            form = {**FORM, "calibration": calibration, "neighbours": neighbours}
            said[calibration, neighbours] = tuned.release(
                X[:30], Y[:30], "logistic", rng=np.random.default_rng(4), **form
            ).guarantee
    assert {key for key, word in said.items() if word == "none"} == {("paper", "add_remove"), ("paper", "replace")}


def test_a_loss_without_labels_has_no_mistakes():
    with pytest.raises(ValueError, match="no mistakes to count"):
        tuned.release(X, Y, "squared", rng=RNG, **FORM, calibration="tight")
