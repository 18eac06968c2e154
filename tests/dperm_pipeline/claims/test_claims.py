"""Verdicts are what the stated tests say, and whoever reads one can see why."""

import math
from types import SimpleNamespace

import fake_rows
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dperm.errors import CorruptFile, DataError
from dperm_pipeline import claims, plan, tables
from dperm_pipeline.claims import rows as rows_module
from dperm_pipeline.claims import wilcoxon

EXPERIMENT = "kifer2012-output"


def rows_with(shift, *, repeats=12, seed=0, epsilons=(0.1, 1.0), spread=1.0):
    """Rows of digits in which output - objective is `shift(epsilon, delta, metric)` plus noise."""
    rng = np.random.default_rng(seed)
    frame = fake_rows.rows(datasets=("digits",), epsilons=epsilons, multiples=(2.0, 20.0), repeats=repeats)
    frame = frame[frame["metric"].isin(["excess_risk", "test_loss"])].copy()
    for key, index in frame.groupby(
        ["mechanism", "epsilon", "delta", "metric", "ridge_multiple", "calibration"]
    ).groups.items():
        mechanism, epsilon, delta, metric = key[:4]
        add = shift(epsilon, delta, metric) if mechanism == "output" else 0.0
        frame.loc[index, "value"] = 50.0 + add + spread * rng.standard_normal(len(index))
    return frame


def judged(frame, tmp_path, catalogue, **kwargs):
    path = fake_rows.write(frame, tmp_path / "rows.parquet")
    out = tmp_path / "claims.parquet"
    kwargs = {"unavailable": {}, "metadata": {"scale": "quick"}, **kwargs}
    claims.judge(catalogue, {EXPERIMENT: path}, out, **kwargs)
    return claims.read(out).set_index(["variant", "dataset"])


def test_few_rows_of_several_metrics_are_read_in_one_pass_and_decide_the_same(tmp_path, catalogue, monkeypatch):
    frame, reads = rows_with(lambda *_: 5.0), []
    one = {"metrics": ["test_loss"], "measured": "test_loss", "ratio": "test_loss"}
    two = [*catalogue, {**catalogue[0], **one, "id": "K-c39"}]

    def read(path, **what):
        reads.append(what)
        return tables.read(path, **what)

    monkeypatch.setattr(rows_module, "tables", SimpleNamespace(read=read, given_up=tables.given_up))
    found = {}
    for limit in (0, claims.ROWS_TOGETHER):
        monkeypatch.setattr(claims, "ROWS_TOGETHER", limit)
        found[limit] = judged(frame, tmp_path, two)
        passes = [what for what in reads if "value" in what["columns"]]
        assert len(passes) == (2 if limit == 0 else 1)
        reads.clear()
    apart, together = found.values()
    pd.testing.assert_frame_equal(apart, together)
    assert set(together["id"]) == {"K-c38", "K-c39"}


# -- verdicts --------------------------------------------------------------------------------------------------------


def test_a_clear_advantage_everywhere_is_reproduced(tmp_path, catalogue):
    frame = rows_with(lambda *_: 5.0)
    line = judged(frame, tmp_path, catalogue).loc["tight", "digits"]
    assert line["verdict"] == "reproduced"
    assert "8 of 8 points reject in favour of the claim and 0 against" in line["reason"]
    assert line["low"] < 5.0 < line["high"] and line["n"] == 12 and math.isnan(line["expected"])


def test_measured_is_the_least_favourable_test_loss_with_its_interval(tmp_path, catalogue):
    frame = rows_with(lambda e, d, m: 1.0 if (e, d, m) == (1.0, 1e-6, "test_loss") else 9.0, repeats=30)
    line = judged(frame, tmp_path, catalogue).loc["tight", "digits"]
    here = frame[frame["chosen"] & (frame["epsilon"] == 1.0) & (frame["delta"] == 1e-6)]
    values = here.pivot_table(
        index="repeat", columns=["mechanism", "calibration", "metric"], values="value", observed=True
    )
    d = (values["output", "tight", "test_loss"] - values["objective", "tight", "test_loss"]).to_numpy()
    assert line["measured"] == pytest.approx(d.mean(), rel=1e-12)
    assert "at its least favourable point, epsilon 1, delta 1e-06 (p = " in line["reason"]
    # A percentile bootstrap of 30 near-normal values is close to the normal interval.
    half = 1.96 * d.std(ddof=1) / math.sqrt(30)
    assert line["low"] == pytest.approx(d.mean() - half, abs=0.15 * half)
    assert line["high"] == pytest.approx(d.mean() + half, abs=0.15 * half)
    excess = frame[frame["chosen"] & (frame["metric"] == "excess_risk") & (frame["calibration"] == "tight")]
    means = excess.groupby(["mechanism", "epsilon", "delta"], observed=True)["value"].mean()
    ratios = means["output"] / means["objective"]
    assert f"mean excess risk of output.tight is {ratios.min():.3g} to {ratios.max():.3g} times" in line["reason"]


def test_one_point_against_the_claim_is_not_reproduced(tmp_path, catalogue):
    frame = rows_with(lambda e, d, m: -5.0 if (e, d, m) == (0.1, 0.0, "excess_risk") else 5.0)
    line = judged(frame, tmp_path, catalogue).loc["tight", "digits"]
    assert line["verdict"] == "not reproduced"
    assert "7 of 8 points reject in favour of the claim and 1 against" in line["reason"]
    assert "against it: excess risk at epsilon 0.1, delta 0;" in line["reason"]


def test_no_difference_at_one_point_is_inconclusive_and_states_the_power(tmp_path, catalogue):
    frame = rows_with(lambda e, d, m: 0.0 if (e, d, m) == (0.1, 0.0, "test_loss") else 5.0, repeats=30)
    line = judged(frame, tmp_path, catalogue).loc["tight", "digits"]
    assert line["verdict"] == "inconclusive"
    effect = wilcoxon.detectable(30, 0.05 / 8)
    assert f"power: 30 pairs detect a mean difference of {effect:.2f} standard deviations" in line["reason"]
    assert "with probability 0.8 at level 0.0063" in line["reason"]


@pytest.mark.parametrize("repeats", [1, 5, 7])
def test_too_few_repeats_are_inconclusive_and_say_how_many_are_needed(repeats, tmp_path, catalogue):
    line = judged(rows_with(lambda *_: 50.0, repeats=repeats), tmp_path, catalogue).loc["tight", "digits"]
    assert line["verdict"] == "inconclusive"  # 2^-7 = 0.0078 > 0.05 / 8 = 0.0063
    assert (
        f"{repeats} differing pairs there cannot reject" in line["reason"] and "at least 8 are needed" in line["reason"]
    )


def test_methods_that_never_differ_are_inconclusive(tmp_path, catalogue):
    line = judged(rows_with(lambda *_: 0.0, spread=0.0), tmp_path, catalogue).loc["tight", "digits"]
    assert line["verdict"] == "inconclusive" and line["measured"] == line["low"] == line["high"] == 0.0
    assert "0 differing pairs" in line["reason"]


def test_failed_runs_count_against_whatever_is_tested(tmp_path, catalogue):
    frame = rows_with(lambda *_: 5.0, repeats=12)
    lost = (frame["mechanism"] == "output") & (frame["epsilon"] == 0.1) & (frame["delta"] == 0.0)
    one = judged(fake_rows.fail(frame, lost & (frame["repeat"] < 1)), tmp_path, catalogue).loc["tight", "digits"]
    assert one["verdict"] == "reproduced" and "most: 1 of 12" in one["reason"]
    many = judged(fake_rows.fail(frame, lost & (frame["repeat"] < 6)), tmp_path, catalogue).loc["tight", "digits"]
    assert many["verdict"] == "inconclusive" and many["n"] == 6
    # The rows of a whole cell gone: the same words, and never "reproduced" on what is left.
    gone = judged(frame[~lost], tmp_path, catalogue).loc["tight", "digits"]
    assert gone["verdict"] == "inconclusive" and gone["n"] == 0 and math.isnan(gone["measured"])
    assert "12 of 12" in gone["reason"]
    # Nor do failures speak against the claim.
    worse = rows_with(lambda *_: -5.0, repeats=12)
    assert (
        judged(fake_rows.fail(worse, lost), tmp_path, catalogue).loc["tight", "digits"]["verdict"] == "not reproduced"
    )
    everywhere = frame["mechanism"] == "output"
    assert (
        judged(fake_rows.fail(worse, everywhere), tmp_path, catalogue).loc["tight", "digits"]["verdict"]
        == "inconclusive"
    )


def test_only_chosen_rows_are_compared(tmp_path, catalogue):
    frame = rows_with(lambda *_: 5.0)
    other = frame.copy()
    other.loc[~other["chosen"], "value"] = 1e6 * (other["mechanism"] == "objective")
    assert judged(frame, tmp_path, catalogue).equals(judged(other, tmp_path, catalogue))
    with pytest.raises(DataError, match=r"cms11\.paper has two values at epsilon=0\.1"):
        judged(frame.assign(chosen=True), tmp_path, catalogue)


def test_the_order_of_rows_changes_nothing_and_files_are_equal(tmp_path, catalogue):
    frame = rows_with(lambda *_: 0.5)
    written = []
    for rows in (frame, frame, frame.sample(frac=1.0, random_state=5)):
        judged(rows, tmp_path, catalogue)
        written.append((tmp_path / "claims.parquet").read_bytes())
    assert written[0] == written[1] == written[2]


def test_not_run_says_why(tmp_path, catalogue):
    verdicts = judged(rows_with(lambda *_: 5.0), tmp_path, catalogue, unavailable={"adult": "no network, no mirror"})
    assert verdicts.loc["tight", "adult"]["reason"] == "the data set is unavailable: no network, no mirror"
    assert verdicts.loc["tight", "diabetes"]["reason"] == "diabetes is not in this scale's grid"
    assert set(verdicts["verdict"]) == {"reproduced", "not run"}
    assert verdicts.loc["tight", "adult"][["measured", "low", "high", "n"]].isna().all()
    claims.judge(catalogue, {EXPERIMENT: None}, tmp_path / "none.parquet", unavailable={}, metadata={})
    none = claims.read(tmp_path / "none.parquet")
    assert set(none["verdict"]) == {"not run"} and none["reason"].str.contains("not among the selected papers").all()
    baseline = fake_rows.rows(datasets=("digits",))
    baseline = baseline[baseline["mechanism"] == "nonprivate"]
    line = judged(baseline, tmp_path, catalogue).loc["printed", "digits"]
    assert line["verdict"] == "not run" and "no rows of cms11.paper or output.tight" in line["reason"]


def with_lost(frame, where):
    """Rows beside which a cell is lost."""
    lost = frame.head(1).assign(dataset="", variant=where, metric=tables.GIVEN_UP, value=math.nan, status="failed")
    return pd.concat([frame, lost], ignore_index=True)


@pytest.mark.parametrize(
    ("where", "named", "verdict"),
    [
        ("dataset=digits, epsilon=1.0", ["digits"], "inconclusive"),
        ("dataset=adult, epsilon=1.0", ["digits"], "reproduced"),
        # What is no data set that is prepared may be written by any cell.
        ("dataset=adult, epsilon=1.0", ["digits", "a-law"], "inconclusive"),
        ("design=adult", ["digits"], "inconclusive"),
    ],
)
def test_a_lost_cell_concerns_what_it_could_have_written(tmp_path, catalogue, where, named, verdict):
    claim = {**catalogue[0], "datasets": named}
    frame = rows_with(lambda *_: 5.0)
    law = frame.assign(dataset="a-law")
    frame = with_lost(pd.concat([frame, law]) if "a-law" in named else frame, where)
    found = judged(frame, tmp_path, [claim], prepared=("adult", "digits"))
    line = found.loc["tight", named[-1]]
    assert line["verdict"] == verdict
    said = f"whole cells are missing, whose solver did not converge: {frame['mechanism'].iloc[0]}"
    assert line["reason"].startswith(said) == (verdict == "inconclusive")


def test_a_law_whose_only_cell_is_lost_is_not_called_unplanned(tmp_path, catalogue):
    claim = {**catalogue[0], "datasets": ["a-law", "diabetes"]}
    frame = with_lost(rows_with(lambda *_: 5.0), "dataset=digits")
    found = judged(frame, tmp_path, [claim], prepared=("diabetes", "digits"))
    line = found.loc["tight", "a-law"]
    assert line["verdict"] == "not run" and "dataset=digits" in line["reason"] and "no rows of a-law" in line["reason"]
    assert "grid" not in line["reason"]
    assert found.loc["tight", "diabetes"]["reason"] == "diabetes is not in this scale's grid"


def test_a_metric_that_a_data_set_does_not_have_is_not_run(tmp_path, catalogue):
    """Such as a misclassification rate on real targets."""
    claim = {**catalogue[0], "metrics": ["excess_risk", "test_error"], "measured": "test_error", "ratio": "test_error"}
    line = judged(rows_with(lambda *_: 5.0), tmp_path, [claim]).loc["tight", "digits"]
    assert line["verdict"] == "not run" and "no rows of test error" in line["reason"]


def test_a_message_about_the_catalogue_judges_nothing_again():
    modules = plan.modules("dperm_pipeline.claims")
    assert "dperm_pipeline.claims.paired" in modules
    assert not any(module.startswith(("dperm_pipeline.plan", "dperm_pipeline.claims.catalogue")) for module in modules)


def test_claims_parquet_has_the_columns_of_the_design(tmp_path, catalogue):
    judged(rows_with(lambda *_: 5.0), tmp_path, catalogue)
    table = pq.read_table(tmp_path / "claims.parquet")
    columns = "id paper variant dataset place statement verdict measured low high expected certified n held points "
    columns += "figure reason test note experiment depends_on choice remark words beside headline"
    assert " ".join(table.column_names) == columns
    assert tables.metadata(tmp_path / "claims.parquet").items() >= {"scale": "quick"}.items()
    assert len(table) == 15 and set(table["variant"].to_pylist()) == {"tight", "tight-over-kst", "printed"}


def test_the_summary_counts_and_lists(tmp_path, catalogue):
    # The claim counts Adult alone, which is not at hand here: let all its data sets count.
    catalogue[0]["beside"] = ["tight", "tight-over-kst"]
    judged(rows_with(lambda *_: 5.0), tmp_path, catalogue, unavailable={"adult": "offline"})
    lines = claims.summary(tmp_path / "claims.parquet").splitlines()
    assert lines[0].startswith("claims: 1 holds as printed, 0 holds when mended, 0 depends on, 0 undecided, 0 fails, ")
    assert len(lines) == 2 and lines[1].startswith("  holds as printed      K-c38  (4.6)  points: 4 of 4")


def test_something_else_than_claims_is_refused(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(CorruptFile, match="not a readable Parquet file"):
        claims.read(tmp_path / "a.parquet")
    pq.write_table(pa.table({"id": ["x"]}), tmp_path / "b.parquet")
    with pytest.raises(CorruptFile, match="does not hold what it should"):
        claims.summary(tmp_path / "b.parquet")
    with pytest.raises(FileNotFoundError):
        claims.read(tmp_path / "c.parquet")
    with pytest.raises(ValueError, match="unknown verdict 'refuted'"):
        claims.Verdict("refuted", "")


def test_text_in_rows_may_come_as_categories_with_unused_levels(catalogue):
    frame = rows_with(lambda *_: 5.0)
    plain = claims.decide(catalogue[0], "tight", frame)
    for column in ("mechanism", "calibration", "dataset", "metric", "status"):
        frame[column] = pd.Categorical(frame[column], categories=[*reversed(sorted(set(frame[column]))), "unused"])
    assert claims.decide(catalogue[0], "tight", frame) == plain
