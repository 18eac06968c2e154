"""The ledger's figures, one a paper: a line for each law, what is refuted first; calls of an estimator share one."""

import fake_audits
import pandas as pd

from dperm_pipeline import figures, names
from dperm_pipeline.audits import ledger
from dperm_pipeline.figures import audit, source


def test_refuted_laws_stand_first_in_words_and_calls_share_a_line(tmp_path):
    called = [fake_audits.exact(0.5 + k / 10, variant=f"called-{loss}") for k, loss in enumerate(("huber", "logistic"))]
    refuted = [
        fake_audits.exact(bound, mechanism="soft_majority", variant=law, calibration="paper", guarantee="none")
        for law, bound in (("upside-down", 1.2), ("half-noise", 4.0))
    ]
    others = [fake_audits.exact(0.3, paper="li2021", mechanism="napp", variant="vs_plus-moor")]
    tried = [fake_audits.attack(), *called, *refuted, *others]
    made = fake_audits.write_attacks(tried, tmp_path / "attacks.parquet")
    ledger.collect([made], [], tmp_path / "privacy.parquet", confidence=0.95, level=0.05, metadata={})
    of_paper = [figures.FIGURES[f"privacy-ledger-{paper}"] for paper in ("kifer2012", "li2021")]
    rows, others = (source.Rows(tmp_path / "privacy.parquet", [target]).of(target)[0] for target in of_paper)
    (axis,) = audit.ledger(rows).axes
    assert [label.get_text() for label in axis.get_yticklabels()] == [
        "soft majority: half of the noise (our control)",
        "soft majority: the printed scale, upside down",
        "objective perturbation: Gamma noise",
        "objective perturbation: as called in the library",
    ]
    at = [line.get_xdata()[0] for line in axis.lines if len(line.get_xdata()) == 1]
    assert {round(float(x), 6) for x in at} >= {0.5, 0.6}
    said = {text.get_text() for text in axis.texts}
    assert {"refuted: 2 laws, the furthest first", "not refuted: 2 laws", "→ 4 of 1", "1.2 of 1"} <= said
    (axis,) = audit.ledger(others).axes
    assert [label.get_text() for label in axis.get_yticklabels()] == ["NAPP: VS+, with MOOR"]
    # The table tells calls apart, and has all papers.
    _, words = audit.ledger_table(ledger.read(tmp_path / "privacy.parquet"))
    assert {"gamma", "called-huber", "called-logistic", "vs_plus-moor"} <= set(words["noise"])
    assert isinstance(words, pd.DataFrame)


def test_a_name_that_nobody_put_in_words_is_shown_without_underscores():
    assert names.mechanism("my_own") == "my own" and names.law("cut-3") == "cut at −3 standard deviations"
    assert names.law("exp_mech_gamma") == "exponential mechanism, Gamma noise" and names.law("my_own") == "my, own"
