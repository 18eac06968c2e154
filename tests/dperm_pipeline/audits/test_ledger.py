"""Ledgers by hand: bounds from scipy's beta quantiles, Holm on paper, and what stands where nothing was attacked."""

import itertools
import math

import fake_audits
import fake_rows
import gaussian_curve
import pandas as pd
import pytest
from scipy import optimize, stats

from dperm.errors import DataError
from dperm_pipeline import config_files, tables
from dperm_pipeline.audits import ledger

WEAK, STRONG, THIN = (500, 1_000, 250, 1_000), (6_000, 10_000, 2_000, 10_000), (9, 1_000, 0, 1_000)
FAMILY = ("paper", "mechanism", "calibration", "neighbours")


def sampled(counts, **changes):
    return fake_audits.attack(**dict(zip(fake_audits.COUNTS, counts, strict=True)), **changes)


def bound(counts, error, delta=0.0):
    """log(s/(1 - s)) + log(1 - delta/r), s and r lower limits: of right guesses among guesses, and among draws."""
    hits, tries, wrong, _ = counts
    share = stats.beta.ppf(error * (0.95 if delta else 1.0), hits, wrong + 1)
    right = stats.beta.ppf(0.05 * error, hits, tries - hits + 1) if delta else 1.0
    return max(0.0, math.log(share / (1 - share)) + math.log(1 - delta / right)) if right > delta else 0.0


def p_value(counts, epsilon, delta=0.0):
    """The error at which the bound meets the claim; 1 if none does."""
    if bound(counts, 1 - 1e-9, delta) <= epsilon:
        return 1.0
    root = optimize.brentq(lambda log_error: bound(counts, math.exp(log_error), delta) - epsilon, -600, -1e-9)
    return math.exp(root)


def collect(folder, records, rows=(), **options):
    path = fake_audits.write_attacks(records, folder / "attacks.parquet")
    return fake_audits.collect_files(folder, [path], rows, **options)


# Several attacks on one row.


@pytest.mark.parametrize("confidence", [0.95, 0.8])
@pytest.mark.parametrize("tried", [[STRONG], [WEAK, STRONG], [STRONG, WEAK, THIN], [WEAK] * 20])
@pytest.mark.parametrize("delta", [0.0, 0.01])
def test_each_of_f_attacks_has_an_fth_of_the_error(tmp_path, tried, confidence, delta):
    claim = {"epsilon": 0.6, "delta": delta}
    found = collect(tmp_path, [sampled(counts, **claim) for counts in tried], confidence=confidence)
    (row,) = found.itertuples()
    error = (1 - confidence) / len(tried)
    assert row.audit_lower_bound == pytest.approx(max(bound(counts, error, delta) for counts in tried), rel=1e-9)
    least = min(p_value(counts, 0.6, delta) for counts in tried)
    assert row.p_value == pytest.approx(min(1, len(tried) * least), rel=1e-6)
    assert (row.confidence, row.reason.split()[-1]) == (confidence, "attack" if len(tried) == 1 else "attacks")
    assert len(tried) == 1 or f"of {len(tried)} " in row.reason


def test_the_strongest_attack_is_shown(tmp_path):
    """The strongest is the one of the largest bound: not of most hits, nor the first."""
    records = [
        sampled(WEAK, pair="knee", attack="sampling", event="a"),
        sampled(
            STRONG, pair="line", pair_words="the pair", attack="other", event="b", likelier="neighbour", draws=20_000
        ),
        sampled((9_000, 10_000, 8_000, 10_000), pair="random", event="c"),
    ]
    (row,) = collect(tmp_path, records).itertuples()
    assert (row.pair, row.attack, row.event) == ("the pair", "other", "b, likelier for the neighbour")
    assert (row.draws, row.counts) == (20_000, "6,000 of 10,000 against 2,000 of 10,000")


def test_the_gaussian_model_is_kept(tmp_path):
    """mu from the limits, epsilon from the curve."""
    delta, error = 1e-6, 0.05 / 2
    claim = {"delta": delta, "epsilon": 1.0}
    (row,) = collect(tmp_path, [sampled(STRONG, model="gaussian", **claim), sampled(WEAK, **claim)]).itertuples()
    low = stats.beta.ppf(error / 2, 6_000, 4_001)
    high = stats.beta.isf(error / 2, 2_001, 8_000)
    mu = stats.norm.ppf(low) - stats.norm.ppf(high)
    epsilon = optimize.brentq(lambda e: gaussian_curve.divergence(e, mu) - delta, 0, 50)
    assert row.audit_lower_bound == pytest.approx(epsilon, rel=1e-7)
    assert row.audit_lower_bound > 2 * bound(STRONG, error, delta)


def test_budgets_variants_and_relations_are_rows_of_their_own(tmp_path):
    """F counts the attacks on the row, not on the ledger; rows come sorted."""
    keys = [
        {"epsilon": 1.0}, {"epsilon": 0.5}, {"delta": 1e-3}, {"variant": "gaussian"}, {"neighbours": "replace"},
        {"calibration": "paper"}, {"mechanism": "output"}, {"paper": "jain2013"},
    ]  # fmt: skip
    found = collect(tmp_path, [sampled(STRONG, **key) for key in keys])
    assert len(found) == len(keys) and set(found["reason"]) == {"one attack"}
    key = ["paper", "mechanism", "variant", "calibration", "neighbours", "epsilon", "delta"]
    assert list(found[key].itertuples(index=False)) == sorted(found[key].itertuples(index=False))
    assert (found["audit_lower_bound"] - [bound(STRONG, 0.05, d) for d in found["delta"]]).abs().max() < 1e-9


# Exact attacks.


@pytest.mark.parametrize(
    ("found", "p"), [(0.0, 1), (0.99, 1), (1.0, 1), (1 + 1e-11, 1), (1 + 1e-7, 0), (3.0, 0), (math.inf, 0)]
)
def test_an_exact_attack_is_certain(tmp_path, found, p):
    """p is 1 up to the claim and its rounding, 0 above; no share of any error is taken from the bound."""
    records = [fake_audits.exact(found), fake_audits.exact(0.0), fake_audits.exact(0.0)]
    (row,) = collect(tmp_path, records, level=1e-12).itertuples()
    assert (row.audit_lower_bound, row.p_value, row.p_holm) == (found, p, p)
    assert (row.confidence, row.draws) == (1.0, 0)
    assert row.verdict == ("holds up" if p else "refuted")
    assert row.counts == "1e-05 against 1e-07 (exact)"


def test_exact_and_sampled_attacks_share_a_row(tmp_path):
    """An exact attack counts among the F; where a sampled one shows more, the confidence is that of the sampled one."""
    certified, p = bound(STRONG, 0.025), p_value(STRONG, 1.0)
    below, above = certified - 0.01, certified + 0.01
    assert below > 1 and p < 0.01
    (row,) = collect(tmp_path, [fake_audits.exact(0.9), sampled(STRONG)]).itertuples()
    assert row.audit_lower_bound == pytest.approx(certified, rel=1e-9)
    assert (row.confidence, row.draws) == (0.95, 2_000)
    assert row.p_value == pytest.approx(2 * p, rel=1e-6)
    (row,) = collect(tmp_path, [fake_audits.exact(below), sampled(STRONG)]).itertuples()
    assert (row.attack, row.confidence, row.p_value) == ("sampling", 0.95, 0.0)
    (row,) = collect(tmp_path, [sampled(STRONG), fake_audits.exact(above)]).itertuples()
    assert (row.attack, row.audit_lower_bound, row.confidence) == ("exact law on a line", above, 1.0)


# Verdicts.


@pytest.mark.parametrize(
    ("p_values", "level", "adjusted", "refuted"),
    [
        ([0.04], 0.05, [0.04], [True]),
        ([0.02, 0.04], 0.05, [0.04, 0.04], [True, True]),
        ([0.01, 0.02, 0.04], 0.05, [0.03, 0.04, 0.04], [True, True, True]),
        # Each below the level, none by Holm.
        ([0.02, 0.03, 0.04], 0.05, [0.06, 0.06, 0.06], [False, False, False]),
        ([0.02, 0.03, 0.04], 0.1, [0.06, 0.06, 0.06], [True, True, True]),
        # The last step alone would let 0.045 through: the one before it has failed.
        ([0.045, 0.001, 0.03, 0.0001], 0.05, [0.06, 0.003, 0.06, 0.0004], [False, True, False, True]),
    ],
)
def test_holm_over_the_rows_decides(tmp_path, p_values, level, adjusted, refuted):
    """A claim that is the bound at error a has the p-value a; budgets that nobody attacked are no hypotheses."""
    epsilons = [bound(STRONG, p) for p in p_values]
    rows = fake_audits.released(tmp_path / "rows.parquet")
    found = collect(tmp_path, [sampled(STRONG, epsilon=epsilon) for epsilon in epsilons], [rows], level=level)
    assert (found["verdict"] == "not audited").sum() > 10
    found = found.set_index("epsilon").loc[epsilons]
    found = found[found["verdict"] != "not audited"]
    assert found["p_value"].tolist() == pytest.approx(p_values, rel=1e-6)
    assert found["p_holm"].tolist() == pytest.approx(adjusted, rel=1e-6)
    assert (found["verdict"] == "refuted").tolist() == refuted
    assert set(found["verdict"]) <= set(ledger.VERDICTS)


def test_a_rows_own_attacks_are_paid_for_before_holm(tmp_path):
    """p = 0.02 by the best of three attacks is 0.06, and beside another row 0.12."""
    epsilon = bound(STRONG, 0.02)
    records = [sampled(counts, epsilon=epsilon) for counts in (WEAK, STRONG, THIN)]
    found = collect(tmp_path, [*records, fake_audits.exact(0.1, epsilon=9.0)])
    assert found["p_value"].tolist() == pytest.approx([0.06, 1.0], rel=1e-6)
    assert found["p_holm"].tolist() == pytest.approx([0.12, 1.0], rel=1e-6)
    assert set(found["verdict"]) == {"holds up"}


def test_the_recovered_noise_decides_nothing(tmp_path):
    """Bonferroni over the tests there were; none at all is null."""
    records = [
        sampled(WEAK, white_box_p=1e-30), sampled(WEAK, white_box_p=0.2), sampled(WEAK, white_box_p=None),
        sampled(WEAK, white_box_p=0.7, epsilon=2.0), sampled(WEAK, white_box_p=0.6, epsilon=2.0),
        sampled(WEAK, white_box_p=None, epsilon=3.0),
    ]  # fmt: skip
    found = collect(tmp_path, records)
    assert found["white_box_p"].tolist()[:2] == [2e-30, 1.0] and pd.isna(found["white_box_p"][2])
    assert set(found["verdict"]) == {"holds up"}


@pytest.mark.parametrize(
    ("guarantees", "weakest"),
    [
        (("proved", "proved_exact"), "proved_exact"),
        (("proved_exact", "claimed", "proved"), "claimed"),
        (("none", "claimed"), "none"),
        (("proved", "proved"), "proved"),
    ],
)
def test_the_weakest_guarantee_of_the_attacked_problems_is_shown(tmp_path, guarantees, weakest):
    """Whichever attack comes first or is the strongest."""
    for order in itertools.permutations(guarantees):
        tried = [fake_audits.exact(0.9 - 0.1 * k, guarantee=guarantee) for k, guarantee in enumerate(order)]
        assert collect(tmp_path, tried)["guarantee"].tolist() == [weakest]


# What nobody attacked.


def test_other_budgets_stand_as_not_audited_with_their_reason(tmp_path):
    rows = fake_rows.rows(datasets=("breast-cancer", "adult"), epsilons=(1.0, 3.0), repeats=3)
    rows = rows[rows["mechanism"].isin(["objective", "output", "nonprivate"])]
    paths = [fake_rows.write(rows, tmp_path / f"{name}.parquet") for name in ("rows", "same-budgets-again")]
    records = [
        sampled(WEAK), sampled(WEAK, epsilon=0.2),
        sampled(WEAK, epsilon=2.0, delta=1e-6, variant="gaussian"),
        sampled(WEAK, mechanism="output", delta=1e-6, variant="gaussian"),
    ]  # fmt: skip
    found = collect(tmp_path, records, paths)
    rest = found[found["verdict"] == "not audited"]
    reasons = {(row.mechanism, row.calibration, row.epsilon, row.delta): row.reason for row in rest.itertuples()}
    nobody = "no attack is declared in config/audits.yaml"
    pure = "attacked at its worst budget: epsilon=0.2, delta=0, epsilon=1, delta=0"
    gaussian = "attacked at its worst budget: epsilon=2, delta=1e-06"
    assert reasons == {
        ("objective", "tight", 3.0, 0.0): pure,
        ("objective", "tight", 1.0, 1e-6): gaussian,
        ("objective", "tight", 3.0, 1e-6): gaussian,
        # Another calibration is another claim.
        **{("objective", "paper", epsilon, delta): nobody for epsilon in (1.0, 3.0) for delta in (0.0, 1e-6)},
        # Pure privacy of a mechanism of which only approximate privacy was attacked.
        **{("output", "tight", epsilon, 0.0): nobody for epsilon in (1.0, 3.0)},
        ("output", "tight", 3.0, 1e-6): "attacked at its worst budget: epsilon=1, delta=1e-06",
    }
    assert len(rest) == len(reasons)
    variants = set(rest[["mechanism", "calibration", "delta", "variant"]].itertuples(index=False, name=None))
    assert variants == {
        ("objective", "tight", 0.0, "gamma"),
        ("objective", "tight", 1e-6, "gaussian"),
        ("objective", "paper", 0.0, ""),
        ("objective", "paper", 1e-6, ""),
        ("output", "tight", 0.0, ""),
        ("output", "tight", 1e-6, "gaussian"),
    }
    assert set(rest["guarantee"]) == {"proved_exact"}
    empty = ["audit_lower_bound", "confidence", "draws", "attack", "counts", "white_box_p", "p_value", "p_holm"]
    assert rest[empty].isna().all(axis=None)


def test_a_mechanism_that_another_paper_compares_with_is_attacked_among_its_own(tmp_path):
    rows = fake_rows.rows(datasets=("adult",), epsilons=(1.0,), deltas=(0.0,), repeats=3)
    rows = rows[(rows["mechanism"] == "objective") & (rows["calibration"] == "tight")].assign(paper="dwork2018")
    found = collect(
        tmp_path, [sampled(WEAK, epsilon=0.2)], [fake_rows.write(rows, tmp_path / "r.parquet")]
    )  # fmt: skip
    rest = found[found["verdict"] == "not audited"][["paper", "variant", "reason", "errata"]]
    reason = "attacked at its worst budget, among the rows of kifer2012: epsilon=0.2, delta=0"
    assert rest.values.tolist() == [["dwork2018", "gamma", reason, ""]]


def test_of_a_whole_run_every_budget_is_attacked(pytestconfig):
    """docs/assets/privacy.csv is the ledger of a run at scale paper: what it released stands beside today's attacks."""
    released = pd.read_csv(pytestconfig.rootpath / "docs/assets/privacy.csv").fillna({"variant": ""})
    declared = config_files.parse(pytestconfig.rootpath / "config/audits.yaml")["attacks"]
    attacked = {
        (attack["mechanism"], budget["calibration"], budget["neighbours"], budget["delta"] == 0)
        for attack in declared
        for budget in attack["budgets"]
    }
    assert len(released) > 500
    asked = released.assign(pure=released["delta"] == 0)[["mechanism", "calibration", "neighbours", "pure"]]
    assert set(asked.itertuples(index=False, name=None)) - attacked == set()


def test_what_is_not_private_is_no_claim(tmp_path):
    rows = fake_rows.rows(datasets=("adult",), epsilons=(1.0,), deltas=(0.0,), repeats=3)
    assert "nonprivate" in set(rows["mechanism"])
    found = fake_audits.collect_files(tmp_path, [], [fake_rows.write(rows, tmp_path / "rows.parquet")])
    assert set(found["mechanism"]) == set(rows["mechanism"]) - {"nonprivate"}
    assert set(found["verdict"]) == {"not audited"}


def test_a_released_law_is_held_against_its_own_attacks(tmp_path):
    """Of several laws that were attacked the one that the rows name, else the plainest; each budget is said once."""
    rows = fake_rows.rows(datasets=("adult",), epsilons=(3.0,), deltas=(0.0,), repeats=3)
    rows = rows[(rows["mechanism"] == "objective") & (rows["calibration"] == "tight")]
    records = [sampled(WEAK, variant="gamma_lasso", epsilon=0.5), sampled(WEAK, epsilon=0.2), sampled(WEAK)]
    for named, wanted in (("", "epsilon=0.2, delta=0, epsilon=1, delta=0"), ("gamma_lasso", "epsilon=0.5, delta=0")):
        path = fake_rows.write(rows.assign(variant=named), tmp_path / "rows.parquet")
        found = collect(tmp_path, records, [path])
        (row,) = found[found["verdict"] == "not audited"].itertuples()
        assert (row.variant, row.reason) == (named or "gamma", f"attacked at its worst budget: {wanted}")


@pytest.mark.parametrize("variants", ["bare laplace", "fresh gaussian", "bare fresh", "called-threads ledger"])
def test_rows_that_name_no_law_are_of_the_plain_one(tmp_path, variants):
    """A variant that promises nothing is never proved; a variant that is proved takes no rows of the plain law."""
    variants = variants.split()
    rows = fake_rows.rows(datasets=("adult",), epsilons=(1.0, 3.0), deltas=(1e-6,), repeats=3)
    rows = rows[(rows["mechanism"] == "objective") & (rows["calibration"] == "tight")]
    broken = rows.assign(variant="bare", guarantee="none")
    paths = [fake_rows.write(part, tmp_path / f"{k}.parquet") for k, part in enumerate((rows, broken))]
    guarantees = {"bare": "none"}
    records = [sampled(WEAK, variant=name, delta=1e-6, guarantee=guarantees.get(name, "proved")) for name in variants]
    found = collect(tmp_path, records, paths)
    rest = found[found["verdict"] == "not audited"][["variant", "epsilon", "guarantee"]]
    plain = variants[1]
    at_three = {("bare", 3.0, "none"), (plain, 3.0, "proved_exact")}
    # Where it was attacked, a budget is not listed once more.
    at_one = {("bare", 1.0, "none")} - {(name, 1.0, "none") for name in variants}
    assert set(rest.itertuples(index=False, name=None)) == at_three | at_one
    assert set(found[found["variant"] == "bare"]["guarantee"]) == {"none"}


def test_a_broken_law_at_the_same_budget_is_no_attack_on_rows_that_name_none(tmp_path):
    rows = fake_rows.rows(datasets=("adult",), epsilons=(1.0,), deltas=(0.0,), repeats=3)
    rows = rows[(rows["mechanism"] == "objective") & (rows["calibration"] == "tight")]
    found = collect(
        tmp_path, [sampled(STRONG, variant="bare", guarantee="none")], [fake_rows.write(rows, tmp_path / "r.parquet")]
    )
    rest = found[found["verdict"] == "not audited"][["variant", "guarantee", "reason"]]
    assert rest.values.tolist() == [["", "proved_exact", "no attack is declared in config/audits.yaml"]]


def test_another_law_at_the_same_budget_is_no_attack_on_this_one(tmp_path):
    rows = fake_rows.rows(datasets=("adult",), epsilons=(1.0,), deltas=(0.0,), repeats=3)
    rows = rows[(rows["mechanism"] == "objective") & (rows["calibration"] == "tight")]
    path = fake_rows.write(rows.assign(variant="gamma"), tmp_path / "rows.parquet")
    found = collect(tmp_path, [sampled(WEAK, variant="gamma_lasso")], [path])
    assert found[found["verdict"] == "not audited"]["variant"].tolist() == ["gamma"]
    found = collect(tmp_path, [sampled(WEAK, variant="gamma_lasso"), sampled(WEAK, variant="gamma")], [path])
    assert "not audited" not in set(found["verdict"])


def test_nothing_attacked_nothing_released(tmp_path):
    assert len(fake_audits.collect_files(tmp_path, [])) == 0
    assert len(collect(tmp_path, [])) == 0
    assert tables.metadata(tmp_path / "privacy.parquet")["seed"] == 3
    assert len(fake_audits.collect_mutants(tmp_path, [])) == 0


def test_a_file_without_attacks_changes_nothing(tmp_path):
    empty = fake_audits.write_attacks([], tmp_path / "empty.parquet")
    full = fake_audits.write_attacks([sampled(WEAK), fake_audits.exact(0.9)], tmp_path / "full.parquet")
    alone = fake_audits.collect_files(tmp_path, [full])
    pd.testing.assert_frame_equal(fake_audits.collect_files(tmp_path, [empty, full]), alone)
    assert len(alone) == 1


# Files.


def test_the_same_bytes_whatever_the_order(tmp_path):
    """Attacks that tie, attacks on one row in several files, and rows of two experiments."""
    made = [
        fake_audits.write_attacks([sampled(STRONG, pair_words=name), sampled(WEAK, epsilon=k + 1.5)], tmp_path / name)
        for k, name in enumerate(("b.parquet", "a.parquet", "c.parquet"))
    ]
    rows = [fake_audits.released(tmp_path / f"rows-{epsilon}.parquet", epsilons=(epsilon,)) for epsilon in (3.0, 0.1)]
    seen = set()
    for paths in itertools.permutations(made):
        for two in itertools.permutations(rows):
            found = fake_audits.collect_files(tmp_path, map(str, paths), two)
            seen.add((tmp_path / "privacy.parquet").read_bytes())
    assert len(seen) == 1
    assert (found["verdict"] != "not audited").sum() == 4 and len(found) > 10


def test_of_equally_good_attacks_the_same_is_told_whichever_pairs_share_a_job(tmp_path):
    first, second = (sampled(STRONG, pair=name, pair_words=f"the pair {name}") for name in ("knee", "line"))
    told = set()
    for k, files in enumerate(([[first], [second]], [[second], [first]], [[first, second]], [[second, first]])):
        (tmp_path / f"{k}").mkdir()
        paths = [fake_audits.write_attacks(file, tmp_path / f"{k}" / f"{j}.parquet") for j, file in enumerate(files)]
        (row,) = fake_audits.collect_files(tmp_path / f"{k}", paths, ()).itertuples()
        told.add(row.pair)
    assert told == {"the pair knee"}


def test_a_budget_released_with_two_guarantees_is_one_row_with_the_weaker(tmp_path):
    rows = fake_rows.rows(datasets=("adult",), epsilons=(1.0,), deltas=(0.0,), repeats=3)
    stronger = fake_rows.write(rows.assign(guarantee="proved"), tmp_path / "a.parquet")
    weaker = fake_rows.write(rows.assign(guarantee="claimed"), tmp_path / "b.parquet")
    found = fake_audits.collect_files(tmp_path, [], [stronger, weaker])
    assert not found.duplicated(["mechanism", "calibration", "neighbours", "epsilon", "delta"]).any()
    assert set(found["guarantee"]) == {"claimed"}


def test_an_attack_without_a_variant_is_not_lost(tmp_path):
    path = fake_audits.write_attacks([fake_audits.attack(variant=None)], tmp_path / "a.parquet")
    with pytest.raises(DataError, match="an attack does not say its variant"):
        fake_audits.collect_files(tmp_path, [path])


def test_code_that_draws_another_noise_is_named_beside_a_claim_that_holds(tmp_path):
    """Holm over the rows: 1e-6 of two rejects, 0.4 does not; the verdict stays the claim's."""
    other = fake_audits.exact(0.9, neighbours="replace", white_box_p=0.4)
    records = [fake_audits.exact(0.9, white_box_p=1e-6), other]
    found = fake_audits.collect_files(tmp_path, [fake_audits.write_attacks(records, tmp_path / "a.parquet")])
    assert found["verdict"].tolist() == ["holds up", "holds up"]
    named = found["reason"].str.contains(ledger.NOISE)
    assert named.tolist() == (found["neighbours"] == "add_remove").tolist()
