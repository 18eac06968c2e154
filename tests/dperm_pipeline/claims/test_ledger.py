"""Rule L: refuted by the ledger or by a quadrature, else as good as its weakest proof."""

import fake_audits
import pandas as pd
import pytest

from dperm_pipeline import claims, tables
from dperm_pipeline.audits import ledger as collected
from dperm_pipeline.claims import ledger

LAW = {"mechanism": "objective", "calibration": "paper", "variant": "gamma"}


def privacy(folder, *attacks, rows=()):
    paths = [fake_audits.write_attacks([attack], folder / f"{k}.parquet") for k, attack in enumerate(attacks)]
    out = folder / "privacy.parquet"
    collected.collect(paths, rows, out, confidence=0.95, level=0.05, metadata={})
    return out


def attack(bound, **changes):
    return fake_audits.exact(bound, **{**LAW, **changes})


def claim(**variant):
    return {
        "id": "K-c05", "paper": "kifer2012", "place": "x", "statement": "x", "experiment": "e", "figure": "e",
        "test": "ledger", "variants": {"printed": {"ledger": LAW, **variant}},
    }  # fmt: skip


def decide(folder, *attacks, rows=None, **variant):
    ledger_rows = tables.read_records(privacy(folder, *attacks))
    return claims.decide(claim(**variant), "printed", rows, privacy=ledger_rows)


@pytest.mark.parametrize(
    ("bounds", "guarantees", "verdict"),
    [
        ((0.9, 0.5), ("proved", "proved_exact"), "reproduced"),
        ((0.9, 0.5), ("proved", "claimed"), "inconclusive"),
        ((0.9, 0.5), ("proved", "none"), "inconclusive"),
        ((1.5, 0.5), ("proved", "proved"), "not reproduced"),
        ((0.9, 1.5), ("claimed", "none"), "not reproduced"),
    ],
)
def test_the_ledger_decides(tmp_path, bounds, guarantees, verdict):
    sides = zip(("add_remove", "replace"), bounds, guarantees, strict=True)
    found = decide(tmp_path, *(attack(b, neighbours=n, guarantee=g) for n, b, g in sides))
    assert found.verdict == verdict and found.measured == found.low == max(bounds) and found.n == 0
    assert f"refutes {sum(b > 1 for b in bounds)} of 2 rows" in found.reason
    assert ("power: no number of draws shows that a promise is kept" in found.reason) == (verdict == "inconclusive")


def test_other_rows_of_the_ledger_do_not_matter(tmp_path):
    others = [attack(5.0, **{key: value}) for key, value in (("mechanism", "output"), ("calibration", "tight"))]
    found = decide(tmp_path, attack(0.25, epsilon=0.5), *others)
    assert (found.verdict, found.measured, found.certified) == ("reproduced", 0.5, 0.25)  # 0.5 of the claimed epsilon
    assert "epsilon 0.25 of 0.5 at delta 0" in found.reason


def test_the_code_must_draw_the_promised_noise(tmp_path):
    """An exact attack speaks of the promised law alone: what the white-box test says of the code counts too."""
    assert ledger.NOISE == collected.NOISE
    found = decide(tmp_path, attack(0.9, white_box_p=1e-30))
    assert found.verdict == "not reproduced" and f"{collected.NOISE} in 1 rows" in found.reason


def test_everything_that_is_named_must_have_been_attacked(tmp_path):
    path = privacy(tmp_path, attack(0.9))
    entry = claim()
    entry["variants"]["printed"]["ledger"] = {**LAW, "variant": ["gamma", "gaussian"]}
    found = claims.decide(entry, "printed", None, privacy=tables.read_records(path))
    assert found.verdict == "inconclusive" and "nothing was attacked with variant gaussian" in found.reason


@pytest.mark.parametrize(("excess", "verdict"), [(-0.1, "reproduced"), (0.1, "not reproduced"), (None, "inconclusive")])
def test_a_quadrature_counts_as_an_attack(tmp_path, excess, verdict):
    rows = pd.DataFrame(
        {
            "dataset": "q1", "repeat": 0, "metric": "excess", "row": "printed", "epsilon": [0.1, 1.0],
            "value": [-1.0, float("nan") if excess is None else excess],
            "status": ["ok", "failed" if excess is None else "ok"],
        }
    )  # fmt: skip
    found = decide(tmp_path, attack(0.9), rows=rows, where={"row": "printed"}, points=["epsilon"])
    assert found.verdict == verdict and "quadrature: the bound holds at" in found.reason


@pytest.mark.parametrize(
    ("guarantee", "stated", "excess", "verdict"),
    [
        ("proved_exact", "proved", -0.1, "reproduced"),
        ("proved_exact", "claimed", -0.1, "inconclusive"),
        ("none", "proved", -0.1, "inconclusive"),
        ("claimed", "proved", -0.1, "inconclusive"),
        ("proved_exact", "proved", 0.1, "not reproduced"),
        ("none", "none", 0.1, "not reproduced"),
    ],
)
def test_what_the_library_does_not_run_is_attacked_by_quadrature_alone(tmp_path, guarantee, stated, excess, verdict):
    rows = pd.DataFrame(
        {
            "dataset": ["q1"], "repeat": 0, "metric": "excess", "row": "norm", "value": excess, "status": "ok",
            "guarantee": stated,
        }
    )  # fmt: skip
    entry = claim()
    entry["variants"] = {"printed": {"where": {"row": "norm"}, "guarantee": guarantee}}
    found = claims.decide(entry, "printed", rows, privacy=tables.read_records(privacy(tmp_path, attack(5.0))))
    assert found.verdict == verdict and found.measured == excess
    weaker = min((guarantee, stated), key=("none", "claimed", "proved_exact", "proved").index)
    assert f"guarantee: {weaker}; quadrature: the bound holds at" in found.reason


def test_what_nobody_attacked_is_not_run(tmp_path):
    found = decide(tmp_path, attack(0.9, mechanism="output"))
    assert found.verdict == "not run" and "mechanism objective, calibration paper, variant gamma" in found.reason


def test_judged_from_files(tmp_path):
    """A promise speaks of all data sets: its verdict has none, and needs no rows."""
    path, out = privacy(tmp_path, attack(0.9)), tmp_path / "claims.parquet"
    claims.judge([claim()], {}, out, privacy=path, unavailable={}, metadata={})
    assert claims.read(out)[["dataset", "verdict", "measured"]].values.tolist() == [["", "reproduced", 0.9]]
    claims.judge([claim()], {}, out, unavailable={}, metadata={})
    assert claims.read(out)["verdict"].tolist() == ["not run"]
    assert claims.read(out)["reason"].tolist() == ["there is no privacy ledger"]
