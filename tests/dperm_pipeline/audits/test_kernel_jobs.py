"""Attacks on private learning with kernels: their jobs, and mistakes in the code.

Fixed seeds; drawn laws are tested at 1e-4.
"""

from dataclasses import replace

import audit_jobs
import numpy as np
import pytest
import together

from dperm.audit import exact, kernel
from dperm.audit.mutants import kernel as mutants
from dperm.errors import ConfigError, DataError
from dperm.mechanisms.kernel import pinp, tddl, tdil
from dperm_pipeline.audits import attacks
from dperm_pipeline.plan import audits

LEVEL = 1e-4


def row(calibration, variant, neighbours="replace", **changed):
    plain = {"neighbours": neighbours, "epsilon": 1.0, "delta": 1e-6}
    return {"calibration": calibration, "variant": variant, **plain, **changed}


def job(mechanism, *rows, draws=400):
    return audit_jobs.job(mechanism, "flip", *rows, paper="jain2013", family="kernel", draws=draws)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["tddl", "rkhs_gaussian", "explicit_output", "pinp", "tdil"])
def test_every_variant_has_rows_that_fit(mechanism):
    rows = [row(c, v) for (name, c), vs in kernel.KNOWN.items() if name == mechanism for v in vs]
    asked = job(mechanism, *rows)
    found = kernel.run(asked)
    assert all(set(record) <= set(attacks.ATTACKS.names) for record in found)
    assert [record["calibration"] for record in found] == [one["calibration"] for one in rows for _ in (0, 1)]
    for given, records in zip(rows, zip(found[::2], found[1::2], strict=True), strict=True):
        assert records[0]["exact_bound"] >= 0 and records[1]["tries"] > 0
        assert (records[0]["exact_bound"] > 1) <= (given["calibration"] == "paper")
        assert all(record["white_box_p"] > LEVEL for record in records)
    assert found[:2] == kernel.run({**asked, "rows": rows[:1]})


@together.over(
    "mechanism, asked",
    [("tddl", row("tight", "laplace")), ("rkhs_gaussian", row("paper", "fresh")), ("pinp", row("tight", "bare"))],
)
def test_what_cannot_be_attacked_is_said(mechanism, asked):
    with pytest.raises(ConfigError, match=asked["variant"]):
        kernel.run(job(mechanism, asked))


def test_a_row_claims_no_more_than_the_mechanism_states(monkeypatch):
    own = pinp.constants
    monkeypatch.setattr(pinp, "constants", lambda *g, **n: replace(own(*g, **n), guarantee="none"))
    with pytest.raises(DataError, match="corrected"):
        kernel.run(job("pinp", row("corrected", "laplace")))


@pytest.mark.parametrize(
    ("mechanism", "calibration", "variant", "place"),
    [
        ("tddl", "tight", "gaussian", (tddl, "unit_noise")),
        ("tddl", "paper", "laplace", (tddl, "unit_noise")),
        ("pinp", "corrected", "laplace", (pinp, "draw_run")),
        ("tdil", "corrected", "laplace", (tdil, "draw_run")),
    ],
)
def test_half_of_the_noise_in_the_code_is_seen(mechanism, calibration, variant, place, monkeypatch):
    """The law that is attacked is the constants'; that the code draws it is what the white-box test asks."""
    own = getattr(*place)

    def halved(*given, **named):
        drawn = own(*given, **named)
        return drawn / 2 if isinstance(drawn, np.ndarray) else tuple(part / 2 for part in drawn)

    monkeypatch.setattr(*place, halved)
    found = kernel.run(job(mechanism, row(calibration, variant)))
    assert found[0]["white_box_p"] < 1e-6


def test_calibrations_share_a_job():
    rows = [row("paper", "bare"), row("tight", "gaussian")]
    attack = {
        "mechanism": "rkhs_gaussian", "paper": "jain2013", "family": "kernel", "budgets": rows,
        "pairs": {"quick": ["flip"]},
    }  # fmt: skip
    settings = {"draws": {"quick": 7}, "confidence": 0.9}
    fixed = (settings, "quick", 1, ["jain2013"])
    declared = {"attacks": [{**attack, "together": True}], "mutants": {"quick": []}}
    (made,) = audits.single(audits.jobs(declared, *fixed)).items()
    assert made[0] == ("rkhs-gaussian", "flip") and made[1]["rows"] == rows and "calibration" not in made[1]
    apart = audits.single(audits.jobs({**declared, "attacks": [attack]}, *fixed))
    assert set(apart) == {("rkhs-gaussian.paper", "flip"), ("rkhs-gaussian.tight", "flip")}
    assert all("calibration" not in one for made in apart.values() for one in made["rows"])


# Mutants.


def test_exact_mutants_spend_more_and_their_twins_do_not():
    # How one is attacked shows when it is made, which takes a while: not as cases, which are made to be collected.
    found = [one for one in mutants.MUTANTS if one.attack == "exact"]
    for mutant in found:
        broken, twin = (
            exact.exact(subject.law, subject.pairs, delta=mutant.delta).epsilon
            for subject in (mutant.make(True), mutant.make(False))
        )
        assert broken > 1.4 and 0.2 < twin <= 1, mutant.name
    assert found


@together.over(
    "make, share",
    [(mutants.half_sensitivity.make, 1 / 2), (mutants.forgotten_slack.make, 1 / 2), (mutants.fresh_noise.make, 1.0)],
)
def test_sampled_mutants_have_the_noise_that_is_said(make, share):
    """Mean absolute deviations of an answer; the pair is as far apart as the proper noise is made for."""
    one, other = (make(broken) for broken in (True, False))
    size = []
    for subject in (one, other):
        assert (subject.data, subject.neighbour) == (other.data, other.neighbour)
        outputs = subject.mechanism(subject.data, 4_000, np.random.default_rng(1))
        size.append(np.abs(outputs[:, 0] - np.median(outputs[:, 0])).mean())
    assert size[0] / size[1] == pytest.approx(share, rel=0.08)


def test_fresh_noise_averages_out():
    spread = [
        make.mechanism(make.data, 2_000, np.random.default_rng(1)).mean(axis=1).std()
        for make in (mutants.fresh_noise.make(True), mutants.fresh_noise.make(False))
    ]
    assert spread[1] / spread[0] == pytest.approx(4, rel=0.1)


def test_the_ball_and_the_points_of_mutants_are_private():
    ball, proper = mutants.private_ball.make(True), mutants.private_ball.make(False)
    for place in (ball.data, ball.neighbour):
        assert ball.mechanism(place, 500, np.random.default_rng(1)).max() == pytest.approx(place, rel=1e-9)
        assert proper.mechanism(place, 500, np.random.default_rng(1)).max() > 1.1 * place
    own, anybodys = mutants.training_points.make(True), mutants.training_points.make(False)
    for row_ in (own.data, own.neighbour):
        assert (own.mechanism(row_, 50, np.random.default_rng(1))[:, row_ == 0] == 0).all()
        assert (anybodys.mechanism(row_, 50, np.random.default_rng(1))[:, 1] == 0).all()
