"""Consensus mode: free answers leak no more than Theorem U says, exactly on small cases."""

import math
import os
import threading
import time
from fractions import Fraction

import numpy as np
import pytest

from dperm import grid
from dperm.accounting import rounds
from dperm.errors import BudgetExhausted, CorruptFile, InvalidBudget, ReleaseError
from dperm.mechanisms.prediction import consensus
from dperm.mechanisms.prediction.consensus import Terms

TERMS = Terms(contested=2, round=0.6, each=0.5, threshold=2.0, slip=0.5 * math.exp(-0.6 * (5 - 2.0)))


def law(count, r, terms):
    """Probabilities of (free 0, free 1, contested 0, contested 1)."""
    free = float(consensus.free_probability(count, r, terms))
    label, one = int(consensus.majority(count, r)), 1 / (1 + math.exp(-terms.each * (2 * count - r) / 2))
    return np.array([free * (label == 0), free * (label == 1), (1 - free) * (1 - one), (1 - free) * one])


def test_free_probability_is_that_of_laplace_noise():
    noise = np.random.default_rng(0).laplace(0, 1 / TERMS.round, 400_000)
    for count, r in ((0, 11), (2, 11), (4, 11), (9, 11)):
        expected = (min(count, r - count) + noise < TERMS.threshold).mean()
        assert consensus.free_probability(count, r, TERMS) == pytest.approx(expected, abs=4e-3)


@pytest.mark.parametrize("r", [10, 11])
def test_only_near_a_tie_may_a_free_answer_differ_and_then_it_slips_seldom(r):
    for count in range(r):
        one, other = law(count, r, TERMS), law(count + 1, r, TERMS)
        if consensus.majority(count, r) == consensus.majority(count + 1, r):
            ratio = np.log(one[one > 0] / other[one > 0])
            # The round is e-DP, the contested bit each-DP.
            assert (np.abs(ratio[one[one > 0] > 0]) <= TERMS.round + TERMS.each + 1e-12).all()
            free = one[:2].sum(), other[:2].sum()
            assert abs(math.log(free[0] / free[1])) <= TERMS.round + 1e-12
        else:
            slip = 0.5 * math.exp(-TERMS.round * ((r - 1) // 2 - TERMS.threshold))
            assert max(one[:2].sum(), other[:2].sum()) <= slip * (1 + 1e-12)
            # And it is attained: no smaller delta would do.
            assert max(one[:2].sum(), other[:2].sum()) == pytest.approx(slip)


@pytest.mark.parametrize("r", [10, 11])
@pytest.mark.parametrize("length", [1, 3, 5])
def test_theorem_u_by_all_transcripts_of_adaptive_queries(r, length):
    """The exact hockey-stick divergence of the best adaptive attack, by recursion over all transcripts."""
    epsilon = 1.5
    rho = TERMS.each**2 / 8

    def value(p, q, left, remaining):
        """Sum over transcripts of (P - e^eps Q)_+, the analyst choosing the pair of counts of every query."""
        if not remaining or not left:
            return max(0.0, p - math.exp(epsilon) * q)
        best = 0.0
        for count in range(r // 2 - 2, r // 2 + 2):
            for one, other in ((count, count + 1), (count + 1, count)):
                P, Q = law(one, r, TERMS), law(other, r, TERMS)
                total = sum(value(p * P[k], q * Q[k], left - (k >= 2), remaining - 1) for k in range(4) if P[k] or Q[k])
                best = max(best, total)
        return best

    bound = rounds.rounds_delta(epsilon, TERMS.round, TERMS.contested, rho) + TERMS.contested * (
        0.5 * math.exp(-TERMS.round * ((r - 1) // 2 - TERMS.threshold))
    )
    if length <= 3:
        found = value(1.0, 1.0, TERMS.contested, length)
        assert 0 < found <= bound
    else:
        # Always the pair that straddles the tie: what slips does not grow with the number of queries.
        P, Q = (law(c, r, TERMS) for c in ((r - 1) // 2 + (r % 2 == 0), (r + 1) // 2 + (r % 2 == 0)))
        p, slipped = 1.0, 0.0
        for _ in range(TERMS.contested):
            slipped += p * P[:2].sum()
            p *= P[2:].sum()
        assert P[:2] @ Q[:2] == 0 and slipped <= bound


def test_terms_share_delta_between_rounds_and_slips():
    epsilon, delta, B = 1.0, 1e-6, 10
    r = consensus.shards_needed(epsilon, delta, B)
    terms = consensus.terms(epsilon, delta, r, B)
    spent = rounds.rounds_delta(epsilon, terms.round, B, terms.each**2 / 8)
    assert spent <= delta / 2 and spent == pytest.approx(delta / 2, rel=1e-5)
    h = (r - 1) // 2
    assert B * 0.5 * math.exp(-terms.round * (h - terms.threshold)) == pytest.approx(delta / 2)
    assert terms.slip >= 0.5 * math.exp(-terms.round * (h - terms.threshold))
    assert consensus.free_probability(r // 4, r, terms) >= 0.5
    assert consensus.free_probability(0, r, terms) > 0.999


def test_too_few_shards_are_refused_with_the_number_that_serves():
    with pytest.raises(InvalidBudget, match="shards=100 are too few for free answers") as told:
        consensus.terms(1.0, 1e-6, 100, 10)
    least = int(str(told.value).split("take ")[1].split(" ")[0])
    assert consensus.terms(1.0, 1e-6, least, 10).threshold > 0
    with pytest.raises(InvalidBudget):
        consensus.terms(1.0, 1e-6, least - 4, 10)


@pytest.mark.parametrize("delta", [0.0, 1.0])
def test_free_answers_need_delta(delta):
    with pytest.raises(InvalidBudget, match="mode='each'"):
        consensus.terms(1.0, delta, 10_000, 10)


def test_contested_answers_are_charged_and_free_ones_are_not(tmp_path):
    r = consensus.shards_needed(1.0, 1e-6, 3)
    path = tmp_path / "journal"
    ledger = consensus.ContestedLedger(1.0, 1e-6, r, 3, path=path)
    rng = np.random.default_rng(0)
    assert {consensus.answer(r, r, ledger, rng) for _ in range(200)} == {1}
    assert {consensus.answer(0, r, ledger, rng) for _ in range(200)} == {0}
    assert ledger.answered == 0
    for k in range(3):
        assert consensus.answer(r // 2, r, ledger, rng) in (0, 1)
        assert ledger.answered == k + 1
    # Not even a unanimous row after the last.
    with pytest.raises(BudgetExhausted, match="all 3 contested answers were given"):
        consensus.answer(r, r, ledger, rng)
    del ledger
    again = consensus.ContestedLedger(1.0, 1e-6, r, 3, path=path)
    assert again.remaining == 0
    again.close()
    for other in ((1.0, 1e-6, r + 2, 3), (1.0, 1e-6, r, 2), (1.1, 1e-6, r, 3)):
        with pytest.raises((InvalidBudget, CorruptFile), match=r"is the journal of .*: .* there and .* here"):
            consensus.ContestedLedger(*other, path=path)


def test_answers_have_the_law_of_the_mechanism():
    terms = consensus.terms(50.0, 1e-3, 401, 2000)
    ledger = consensus.ContestedLedger(50.0, 1e-3, 401, 2000)
    rng, count = np.random.default_rng(1), int(terms.threshold)
    answers = np.array([consensus.answer(count, 401, ledger, rng) for _ in range(2000)])
    probabilities = law(count, 401, terms)
    assert ledger.answered / 2000 == pytest.approx(probabilities[2:].sum(), abs=0.05)
    assert answers.mean() == pytest.approx(probabilities[[1, 3]].sum(), abs=0.05)


SHARDS = consensus.shards_needed(20.0, 1e-6, 1)


class Drawn:
    """Draws the uniform numbers that it is told to, slowly, and counts how often it is asked."""

    def __init__(self, *values):
        self.values, self.asked = values, 0

    def bytes(self, count):
        self.asked += 1
        time.sleep(0.01)
        return int(self.values[self.asked - 1] * 2 ** (8 * count)).to_bytes(count, "little")


def opened(path=None, contested=1):
    return consensus.ContestedLedger(20.0, 1e-6, SHARDS, contested, path=path)


def refused(ledger, error):
    """A row on which all agree is refused, and nothing was drawn for it."""
    rng = Drawn(0.5, 0.5)
    with pytest.raises(error):
        consensus.answer(SHARDS, SHARDS, ledger, rng)
    return rng.asked == 0


def test_a_closed_journal_answers_no_row_not_even_a_free_one(tmp_path):
    ledger = opened(tmp_path / "journal")
    assert consensus.answer(SHARDS, SHARDS, ledger, Drawn(0.5, 0.5)) == 1
    ledger.close()
    assert refused(ledger, ReleaseError)
    # What free rows were charged in between was given back.
    again = opened(tmp_path / "journal")
    assert again.remaining == 1
    again.close()


@pytest.mark.parametrize("before", [0, 1])
@pytest.mark.parametrize("kept", [True, False])
def test_a_forked_process_answers_from_the_journal_alone(tmp_path, before, kept):
    ledger = opened(tmp_path / "journal" if kept else None, contested=2)
    for _ in range(before):
        consensus.answer(SHARDS, SHARDS, ledger, Drawn(0.5, 0.5))
    child = os.fork()
    if not child:
        try:
            if kept:
                os._exit(consensus.answer(SHARDS, SHARDS, ledger, Drawn(0.5, 0.5)) - 1)
            os._exit(0 if refused(ledger, ReleaseError) else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert consensus.answer(SHARDS, SHARDS, ledger, Drawn(0.5, 0.5)) == 1
    ledger.close()


def test_a_disk_that_refuses_ends_it_before_anything_is_drawn(tmp_path, monkeypatch):
    ledger = opened(tmp_path / "journal")

    def full(_):
        raise OSError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        assert refused(ledger, OSError)
    assert refused(ledger, ReleaseError)
    # Nor does one answer that gave back what it had not used, and does not know whether that was written.
    ledger = opened(tmp_path / "other")
    consensus.answer(SHARDS, SHARDS, ledger, Drawn(0.5, 0.5))
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="no space left"):
            ledger.close()
    assert refused(ledger, ReleaseError)


@pytest.mark.parametrize("kept", [False, True])
def test_a_round_that_is_broken_off_stays_charged(tmp_path, kept):
    class Broken(Drawn):
        def bytes(self, count):
            raise KeyboardInterrupt

    ledger = opened(tmp_path / "journal" if kept else None)
    with pytest.raises(KeyboardInterrupt):
        consensus.answer(SHARDS, SHARDS, ledger, Broken())
    assert ledger.remaining == 0 and refused(ledger, BudgetExhausted)
    if kept:
        del ledger
        assert opened(tmp_path / "journal").remaining == 0


def test_threads_share_one_budget():
    # Every round is contested: all but one thread must be refused before they draw.
    ledger, rng, told = opened(), Drawn(0.999, 0.5), []

    def ask():
        try:
            told.append(consensus.answer(SHARDS // 2, SHARDS, ledger, rng))
        except BudgetExhausted as error:
            told.append(str(error)[:27])

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert rng.asked == 2 and told.count("all 1 contested answers wer") == 7 and ledger.answered == 1


@pytest.mark.parametrize(("count", "label"), [(0, 0), (4001, 1)])
def test_no_outcome_is_impossible_however_far_the_votes_agree(count, label):
    r = 4001
    ledger = consensus.ContestedLedger(50.0, 1e-6, r, 10)
    # Doubles cannot hold these chances: by far less than 2^-53 they are not 1.
    assert consensus.free_probability(count, r, ledger.terms) == 1 and ledger.each * r / 2 > 40
    agreed = Fraction(ledger.terms.round) * Fraction(ledger.terms.threshold)
    contested = until_decided(lambda bits: grid.above(agreed, bits), ONES)
    bit = until_decided(lambda bits: grid.logistic(Fraction(ledger.each) * (2 * count - r) / 2, bits), -label % 2**64)
    assert len(contested) > 1 and len(bit) >= 1
    for words, said, spent in (([0], label, 0), ([*contested, 2**63], label, 1), ([*contested, *bit], 1 - label, 2)):
        assert consensus.answer(count, r, ledger, Words(words)) == said and ledger.answered == spent


ONES = 2**64 - 1


def until_decided(enclosed, word):
    """So many equal words that the extreme uniform number which begins with them lies beyond the probability."""
    words, u = [word], word
    while enclosed(64 * len(words))[0] <= u < enclosed(64 * len(words))[1]:
        words.append(word)
        u = u << 64 | word
    return words


class Words:
    """Draws these words, all of them."""

    def __init__(self, words):
        self.words = list(words)

    def bytes(self, count):
        return self.words.pop(0).to_bytes(count, "little")


def test_the_slip_contains_the_grain_of_draws():
    B = 1000
    terms = consensus.terms(5.0, 1e-11, 60_000, B)
    drawn = 0.5 * math.exp(-terms.round * (29_999 - terms.threshold)) + 2.0**-53
    assert drawn <= terms.slip and B * terms.slip <= 0.5e-11 * (1 + 1e-9)
    with pytest.raises(InvalidBudget, match=r"that doubles can simulate them: take more than 4\.4e-13, or mode='each'"):
        consensus.terms(5.0, 4e-13, 60_000, B)
