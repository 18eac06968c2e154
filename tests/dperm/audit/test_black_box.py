"""The attack by draws alone against the exact one, which knows the law."""

import pytest

from dperm.audit import black_box, linear

ROW = {"neighbours": "add_remove", "variant": "gamma", "epsilon": 1.0, "delta": 0.0}
JOB = {
    "paper": "kifer2012", "mechanism": "output", "calibration": "tight", "rows": [ROW], "confidence": 0.95, "seed": 1,
}  # fmt: skip


def test_certifies_most_of_what_the_exact_attack_finds():
    exact, *_ = linear.run({**JOB, "pair": "linear", "draws": 400})
    (sampled,) = black_box.run({**JOB, "pair": "linear", "draws": 20_000})
    # Right guesses a wrong one.
    least = sampled["hits"] / sampled["other_hits"]
    # e^epsilon is the ratio of the event's probabilities: estimated, so not quite below the exact one.
    assert exact["exact_bound"] == pytest.approx(1.0, rel=0.05)
    assert 2.0 < least < 1.1 * 2.7183
    assert (sampled["attack"], sampled["guarantee"], sampled["loss"]) == ("sampling", "proved", exact["loss"])


@pytest.mark.parametrize("pair", black_box.PAIRS)
def test_every_pair_draws_from_both_data_sets(pair):
    (row,) = black_box.run({**JOB, "pair": pair, "draws": 400})
    assert row["draws"] == 400 and row["tries"] > 0 and row["other_tries"] > 0
