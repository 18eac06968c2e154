"""The attack by draws alone against the exact one, which knows the law."""

import audit_jobs
import pytest

from dperm.audit import black_box, linear

ROW = {"variant": "gamma"}


def test_certifies_most_of_what_the_exact_attack_finds():
    exact, *_ = linear.run(audit_jobs.job("output", "linear", ROW))
    (sampled,) = black_box.run(audit_jobs.job("output", "linear", ROW, draws=20_000))
    # Right guesses a wrong one.
    least = sampled["hits"] / sampled["other_hits"]
    # e^epsilon is the ratio of the event's probabilities: estimated, so not quite below the exact one.
    assert exact["exact_bound"] == pytest.approx(1.0, rel=0.05)
    assert 2.0 < least < 1.1 * 2.7183
    assert (sampled["attack"], sampled["guarantee"], sampled["loss"]) == ("sampling", "proved", exact["loss"])


@pytest.mark.parametrize("pair", black_box.PAIRS)
def test_every_pair_draws_from_both_data_sets(pair):
    (row,) = black_box.run(audit_jobs.job("output", pair, ROW))
    assert row["draws"] == 400 and row["tries"] > 0 and row["other_tries"] > 0
