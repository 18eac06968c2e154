"""The ledger of mutants, and files that a ledger cannot be made of."""

import itertools
import math

import fake_audits
import fake_rows
import pandas as pd
import pytest

from dperm.errors import CorruptFile
from dperm_pipeline import tables
from dperm_pipeline.audits import attacks, ledger


def test_mutants_give_the_same_bytes_whatever_the_order(tmp_path):
    made = [
        fake_audits.write_mutants([fake_audits.mutant(name=name, group=group)], tmp_path / f"{name}.parquet")
        for name, group in (("b", "noise"), ("a", "noise"), ("c", "data"))
    ]
    seen, out = set(), tmp_path / "out.parquet"
    for paths in itertools.permutations(made):
        ledger.collect_mutants(paths, out, level=0.05, metadata={})
        seen.add(out.read_bytes())
    assert len(seen) == 1
    assert tables.read_records(out, ledger.MUTANTS)["name"].tolist() == ["c", "a", "b"]


def test_rows_that_name_a_law_and_rows_that_do_not_are_one_budget(tmp_path):
    """The weaker guarantee of the two counts, whichever names the law."""
    rows = fake_rows.rows(datasets=("adult",), epsilons=(3.0,), deltas=(0.0,), repeats=3)
    rows = rows[(rows["mechanism"] == "objective") & (rows["calibration"] == "tight")]
    path = fake_audits.write_attacks([fake_audits.attack(calibration="tight", variant="gamma")], tmp_path / "a.parquet")
    for weaker in ("", "gamma"):
        paths = [
            fake_rows.write(
                rows.assign(variant=name, guarantee="claimed" if name == weaker else "proved"),
                tmp_path / f"{name or 'unnamed'}.parquet",
            )
            for name in ("", "gamma")
        ]
        found = fake_audits.collect_files(tmp_path, [path], paths)
        rest = found[found["verdict"] == "not audited"]
        assert rest[["variant", "epsilon", "guarantee"]].values.tolist() == [["gamma", 3.0, "claimed"]]


SPOILT = ("cut short", "empty", "no Parquet", "one bit", "other columns")


def spoil(path, how):
    whole = path.read_bytes()
    if how == "cut short":
        path.write_bytes(whole[:-20])
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "no Parquet":
        path.write_text("paper,mechanism\n")
    elif how == "one bit":
        at = whole.index(b"kifer2012") if b"kifer2012" in whole else whole.index(b"half-noise")
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    else:
        fake_audits.released(path, epsilons=(1.0,))


@pytest.mark.parametrize("how", SPOILT)
@pytest.mark.parametrize("kind", ["attacks", "mutants"])
def test_corrupt_files_are_all_named_and_deleted(tmp_path, how, kind):
    """The others stay, and so does the ledger of an earlier run."""
    write = {"attacks": fake_audits.write_attacks, "mutants": fake_audits.write_mutants}[kind]
    record = {"attacks": fake_audits.attack(), "mutants": fake_audits.mutant()}[kind]
    bad, good, worse = (write([record], tmp_path / f"{name}.parquet") for name in ("bad", "good", "worse"))
    spoil(bad, how)
    spoil(worse, "cut short")
    out = tmp_path / "out.parquet"
    out.write_text("from before")
    with pytest.raises(CorruptFile, match=r"deleted, to be made again by the next run: .*") as caught:
        if kind == "attacks":
            ledger.collect([worse, good, bad], [], out, confidence=0.95, level=0.05, metadata={})
        else:
            ledger.collect_mutants([worse, good, bad], out, level=0.05, metadata={})
    assert str(bad) in str(caught.value) and str(worse) in str(caught.value) and str(good) not in str(caught.value)
    assert (bad.exists(), worse.exists(), good.exists()) == (False, False, True)
    assert out.read_text() == "from before"


def test_a_missing_file_is_no_corrupt_file(tmp_path):
    good = fake_audits.write_attacks([fake_audits.attack()], tmp_path / "good.parquet")
    with pytest.raises(FileNotFoundError, match="no-such"):
        fake_audits.collect_files(tmp_path, [good, tmp_path / "no-such.parquet"])
    assert good.exists() and not (tmp_path / "privacy.parquet").exists()


def test_what_is_read_has_to_be_a_ledger(tmp_path):
    other = fake_audits.write_attacks([fake_audits.attack()], tmp_path / "attacks.parquet")
    with pytest.raises(CorruptFile, match="does not hold what it should"):
        ledger.read(other)
    assert other.exists()
    with pytest.raises(FileNotFoundError):
        ledger.read(tmp_path / "no-such.parquet")


@pytest.mark.parametrize(
    ("mutant_p", "white_box_p", "twin_p", "verdict", "twin"),
    [
        (0.05, 0.9, 1.0, "refuted", "holds up"),
        (1e-9, 1e-9, 1.0, "refuted", "holds up"),
        (0.051, 0.05, 1.0, "caught by the white-box test", "holds up"),
        (1.0, 0.051, 0.051, "not caught", "holds up"),
        (1.0, None, 1.0, "not caught", "holds up"),
        (0.0, None, 0.05, "refuted", "refuted"),
        (1.0, 1.0, 0.0, "not caught", "refuted"),
    ],
)
def test_the_verdict_on_a_mutant(tmp_path, mutant_p, white_box_p, twin_p, verdict, twin):
    """What the job itself said of the mutant decides nothing."""
    changes = {"twin_white_box_p": 0.051, "caught_by": "nothing"}
    given = fake_audits.mutant(mutant_p=mutant_p, white_box_p=white_box_p, twin_p=twin_p, **changes)
    (row,) = fake_audits.collect_mutants(tmp_path, [given]).itertuples()
    assert (row.verdict, row.twin_verdict, row.p_holm) == (verdict, twin, mutant_p)
    assert row.verdict in ledger.CAUGHT


def test_holm_over_mutants_and_on_its_own_over_twins(tmp_path):
    """m = 4. Mutants 0.04, 0.001, 0.02, 1: 0.08, 0.004, 0.06, 1. Noise 1, 1, 0.012, null: 0.048. Twins 0.06, 0.048."""
    p = {"mutant_p": [0.04, 0.001, 0.02, 1.0], "white_box_p": [1.0, 1.0, 0.012, None], "twin_p": [0.02, 0.012, 1, 1]}
    records = [fake_audits.mutant(name=f"m{k}", **{key: p[key][k] for key in p}) for k in range(4)]
    found = fake_audits.collect_mutants(tmp_path, records)
    assert found["p_holm"].tolist() == pytest.approx([0.08, 0.004, 0.06, 1.0])
    assert found["verdict"].tolist() == ["not caught", "refuted", "caught by the white-box test", "not caught"]
    assert found["twin_verdict"].tolist() == ["holds up", "refuted", "holds up", "holds up"]
    strict = fake_audits.collect_mutants(tmp_path, records, level=0.003)
    assert set(strict["verdict"]) == {"not caught"} and set(strict["twin_verdict"]) == {"holds up"}


def test_mutants_are_handed_on_as_they_were(tmp_path):
    """Nulls of an exact mutant stay nulls, whole numbers whole, beside a sampled one."""
    exact = {
        **dict.fromkeys(fake_audits.COUNTS),
        "white_box_p": None,
        "twin_white_box_p": None,
        "mutant_bound": math.inf,
    }
    records = [
        fake_audits.mutant(name="z", group="data", attack="exact", **exact),
        fake_audits.mutant(name="y", group="noise"),
    ]
    found = fake_audits.collect_mutants(tmp_path, records)
    whole = tables.read_records(tmp_path / "mutants-in.parquet", attacks.MUTANTS)
    pd.testing.assert_frame_equal(found[list(attacks.MUTANTS.names)], whole)
    assert found.loc[0, list(fake_audits.COUNTS)].isna().all() and found.loc[1, "hits"] == 500
    assert tables.metadata(tmp_path / "mutants.parquet")["seed"] == 3


def test_a_twin_that_the_noise_test_accuses_is_named(tmp_path):
    records = [fake_audits.mutant(twin_white_box_p=1e-5), fake_audits.mutant(name="other", twin_white_box_p=0.3)]
    found = fake_audits.collect_mutants(tmp_path, records).set_index("name")["twin_verdict"]
    assert found["half-noise"] == "accused by the white-box test" and found["other"] == "holds up"


def test_of_attacks_that_are_alike_but_for_rounding_the_first_is_told(tmp_path):
    for more, told in ((1e-13, "knee"), (1e-8, "line")):
        records = [fake_audits.exact(0.5 + own, pair_words=name) for name, own in (("knee", 0.0), ("line", more))]
        path = fake_audits.write_attacks(records, tmp_path / f"{told}.parquet")
        assert fake_audits.collect_files(tmp_path, [path], ())["pair"].tolist() == [told]


def test_rows_whose_data_set_voids_the_guarantee_say_nothing_of_the_mechanism(tmp_path):
    """One half of the rows at each of two budgets, and all of the rows at a third."""
    rows = fake_rows.rows(datasets=("adult",), epsilons=(1.0, 2.0, 3.0), deltas=(0.0,), repeats=3)
    rows = rows[(rows["mechanism"] == "objective") & (rows["calibration"] == "tight")]
    void = rows.assign(guarantee="none", reason="a mean of all rows")
    made = pd.concat([rows[rows["epsilon"] < 3].assign(reason=""), void], ignore_index=True)
    found = fake_audits.collect_files(tmp_path, [], [fake_rows.write(made, tmp_path / "rows.parquet")])
    assert dict(zip(found["epsilon"], found["guarantee"], strict=True)) == {1.0: "proved_exact", 2.0: "proved_exact"}
