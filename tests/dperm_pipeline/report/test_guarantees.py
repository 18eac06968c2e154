"""The ledger's section: intervals and words say what Parquet says and no more, and every number is the stored one."""

import math
import re

import fake_audits
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import together

from dperm.errors import CorruptFile
from dperm_pipeline import report, tables
from dperm_pipeline.audits import ledger
from dperm_pipeline.report import guarantees
from dperm_pipeline.report.ledgers import OTHER_BUDGET, PRIVACY

HOSTILE = "<script>alert(1)</script>"
KEY = {"paper": "kifer2012", "mechanism": "objective", "neighbours": "add_remove", "epsilon": 1.0, "delta": 0.0}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A guarantee of each kind: proved, refuted by a little and by far, without a proof, sampled, and not audited."""
    folder = tmp_path_factory.mktemp("ledger")
    attacks = [
        fake_audits.exact(0.98765, calibration="tight", guarantee="proved", pair_words=HOSTILE),
        fake_audits.attack(calibration="tight", guarantee="proved_exact", variant="gaussian", delta=1e-6),
        fake_audits.exact(1.25, calibration="paper", guarantee="none", white_box_p=None),
        fake_audits.exact(
            684.5,
            calibration="paper",
            variant="half-noise",
            guarantee="none",
            probability=0.1,
            other_probability=1e-300,
        ),
        fake_audits.exact(0.4, calibration="paper", variant="gamma_box", guarantee="none"),
        # A proof that an attack refutes is none.
        fake_audits.exact(1.1, calibration="tight", variant="gamma_ball", guarantee="proved"),
        # Another law of the noise than the one that the proof and the bound speak of.
        fake_audits.exact(0.7, calibration="tight", variant="gamma_box", guarantee="proved", white_box_p=1e-9),
    ]
    path = fake_audits.write_attacks(attacks, folder / "attacks.parquet")
    rows = fake_audits.released(folder / "rows.parquet", epsilons=(0.3,))
    said = [{**KEY, "calibration": "paper", "variant": "gamma", "errata": "K3 K8"}]
    fixed = {"level": 0.05, "metadata": {}}
    ledger.collect([path], [rows], folder / "privacy.parquet", confidence=0.95, errata=said, **fixed)
    mutants = [
        fake_audits.mutant(source="li2021, N3", broken=HOSTILE),
        fake_audits.mutant(name="missed", mutant_p=1.0, white_box_p=0.5, twin_p=1e-9),
    ]
    made = fake_audits.write_mutants(mutants, folder / "made.parquet")
    ledger.collect_mutants([made], folder / "mutants.parquet", **fixed)
    return folder


@pytest.fixture(scope="module")
def context(written, pytestconfig):
    errata = pytestconfig.rootpath / "docs/errata.md"
    return guarantees.context(written / "privacy.parquet", written / "mutants.parquet", errata)


@pytest.fixture(scope="module")
def page(context):
    counts = {"privacy": context["counts"]}
    drawn = {"name": "privacy-ledger-li2021", "source": "privacy", "title": "All", "caption": "", "alt": "", "note": {}}
    made = {"csv": "", "over": "", "command": "", "code": None, "claims": []}
    figure = {**drawn, **made, "width": 1, "height": 1}
    listed = [
        report.render("errata.html", paper={"key": key}, errata=found) for key, found in context["errata"].items()
    ]
    return report.render("ledger.html", privacy=context, counts=counts, ledger_figures=[figure]) + "".join(listed)


def one(context, verdict, variant, guarantee=None):
    (row,) = [
        r
        for r in context["guarantees"]
        if (r["verdict"], r["variant"]) == (verdict, variant) and guarantee in (None, r["guarantee"])
    ]
    return row


# Words.


@together.over(
    ("value", "shown"),
    [(0.98769, "0.9876"), (1.0, "1"), (10.0, "10"), (0.1, "0.1"), (0.3, "0.3"), (686.976834, "686.9"),
     (2 - 1e-6, "1.999"), (1e-3 * 2.34567, "0.002345"), (12345.0, "1.234e+04"), (0.0, "0"), (math.inf, "infinity")],
)  # fmt: skip
def test_a_lower_bound_is_never_rounded_up(value, shown):
    assert guarantees.rounded_down(value) == shown


@pytest.mark.parametrize(
    ("verdict", "variant", "spent", "share"),
    [
        ("holds up", "gamma", "0.9876 to 1", "98.7 %"),
        ("refuted", "gamma", "at least 1.25", "125 %"),
        ("refuted", "half-noise", "no bound (an outcome that is impossible for the neighbour)", "no bound"),
        ("holds up", "gamma_box", "at least 0.4", "40 %"),
        ("refuted", "gamma_ball", "at least 1.1", "110 %"),
    ],
)
def test_the_interval_in_words(context, verdict, variant, spent, share):
    row = one(context, verdict, variant, "none" if variant == "gamma_box" else None)
    assert (row["spent"], row["shown_share"]) == (spent, share)


def test_a_guarantee_that_nobody_attacked_is_bounded_by_its_proof_alone(context):
    rows = [row for row in context["guarantees"] if row["verdict"] == "not audited"]
    assert rows and {row["spent"] for row in rows} == {"at most 0.3"}
    assert all(not row["facts"] and row["exact"]["bound"] == "" for row in rows)


def test_sentences(context):
    held = one(context, "holds up", "gamma")["sentence"]
    assert "at least ε = 0.9876 is spent (exactly computed)" in held and "a proof says at most 1" in held
    assert "refuted" not in held
    assert "no proof bounds it" in one(context, "holds up", "gamma_box", "none")["sentence"]
    assert "with confidence 0.95" in one(context, "holds up", "gaussian")["sentence"]
    assert one(context, "refuted", "gamma")["sentence"].endswith("(exactly computed): the claim is refuted.")


def test_the_attack_in_words(context):
    sampled, exact = (one(context, "holds up", name)["facts"] for name in ("gaussian", "gamma"))
    assert sampled["draws"] == "2,000 on each side" and sampled["seen"] == "500 of 1,000 against 250 of 1,000"
    assert sampled["event"] == "output >= 0.5, likelier for the data" and sampled["confidence"] == "0.95"
    assert exact["draws"].startswith("none") and exact["confidence"].startswith("certain")
    assert exact["neighbours"] == f"{HOSTILE} (add/remove)"
    assert "recovered noise" in exact and "recovered noise" not in one(context, "refuted", "gamma")["facts"]
    assert one(context, "refuted", "half-noise")["facts"]["seen"].endswith("0 counts as 1e-300")


def test_what_stands_beside_a_refuted_guarantee(context):
    """Its errata, or why it is no slip of the paper."""
    refuted = one(context, "refuted", "gamma")
    assert [entry["name"] for entry in refuted["errata"]] == ["K3", "K8"] and not refuted["note"]
    control = one(context, "refuted", "half-noise")
    assert not control["errata"] and control["note"].startswith("A control")
    assert guarantees.NOTES["output", "paper", "gaussian"]


def test_an_erratum_stands_in_full_in_the_details_of_what_it_decides(context, page):
    """Its link, what is printed and what is right, and the counts that were seen."""
    row = one(context, "refuted", "gamma")
    line = re.search(rf'<tr id="{re.escape(row["id"])}".*?</tr>', page, re.DOTALL)[0]
    details = line[line.index('<td class="more">') :]
    for entry in row["errata"]:
        assert f'<a href="#erratum-{entry["name"]}">{entry["name"]}</a>' in details and entry["printed"]
        assert all(f" {entry[part]}" in details for part in ("printed", "right", "what"))
    assert f"<dt>seen</dt><dd>{row['facts']['seen']}</dd>" in details


def test_errata_come_in_the_order_in_which_the_papers_appeared(context):
    assert list(context["errata"]) == ["kifer2012", "jain2013", "dwork2018", "li2021"]


def test_controls_other_budgets_and_wrong_noise_are_counted_apart(context, page):
    others = sum(row["verdict"] == "not audited" for row in context["guarantees"])
    declared = [row for row in context["guarantees"] if "worst budget" in row["reason"]]
    assert context["apart"] == {
        "controls": 1,
        "noise": 1,
        "budgets": len(declared),
        "undeclared": others - len(declared),
    }
    assert 0 < len(declared) < others and f"attacked laws ({len(declared)})" in page
    assert all(row["reason"].startswith(OTHER_BUDGET) for row in declared)
    assert page.count('data-control="yes"') == 1 == page.count(">control<")
    assert "certain" not in " ".join(words for _, words in context["legend"])


def test_code_that_draws_another_noise_is_marked_and_no_proof_bounds_it(context, page):
    row = one(context, "holds up", "gamma_box", "proved")
    assert row["wrong_noise"] and row["spent"] == "at least 0.7" and 'class="most"' not in row["bar"]
    assert "does not draw the promised noise" in row["sentence"] and "at most" not in row["sentence"]
    (line,) = [line for line in re.findall(r"<tr id=.*?</tr>", page, re.DOTALL) if "wrong noise</span>" in line]
    assert row["id"] in line


def test_no_bound_is_no_number(context, page):
    """The number stays what the table is sorted by."""
    row = one(context, "refuted", "half-noise")
    assert "an attack finds no bound (an outcome" in row["sentence"] and "684" not in row["sentence"]
    assert 'data-order="684.5"' in page and "684.5 times" not in page


def test_a_bound_that_holm_does_not_reject_is_said_to_be_so(tmp_path, pytestconfig):
    """An attempt whose bound lies beyond the claim alone, but not among all that were tried."""
    attempt = fake_audits.attack(calibration="tight", guarantee="proved", epsilon=1.0, delta=0.0)
    sizes = {"hits": 1_000, "tries": 2_000, "other_hits": 320, "other_tries": 2_000}
    path = fake_audits.write_attacks([{**attempt, **sizes}], tmp_path / "attacks.parquet")
    ledger.collect([path], [], tmp_path / "privacy.parquet", confidence=0.95, level=0.05, metadata={})
    frame = tables.read_records(tmp_path / "privacy.parquet")
    frame["audit_lower_bound"], frame["verdict"], frame["confidence"] = 1.02, "holds up", 0.95
    frame.to_parquet(tmp_path / "privacy.parquet")
    mutants = fake_audits.collect_mutants(tmp_path, [])
    assert len(mutants) == 0
    paths = (tmp_path / "privacy.parquet", tmp_path / "mutants.parquet")
    (row,) = guarantees.context(*paths, pytestconfig.rootpath / "docs/errata.md")["guarantees"]
    assert row["spent"] == "at most 1; 1.02 alone, not after Holm"
    assert "ε = 1.02 was certified alone" in row["sentence"] and "at least" not in row["sentence"]
    assert "beyond" not in row["bar"]


# Bars.


def points(svg, name):
    """The x coordinates of a part of a bar."""
    (path,) = re.findall(rf'class="{name}" d="([^"]+)"', str(svg))
    numbers = re.findall(r"[MHL]([\d.]+)", path)
    return min(map(float, numbers)), max(map(float, numbers))


@together.over("bound, epsilon", [(0.3, 1.0), (0.997, 1.0), (2.0, 8.0)])
def test_a_bar_is_linear_in_the_share_of_the_claim(bound, epsilon):
    bar = guarantees.bar(bound, epsilon, True)
    (claim,) = re.findall(r'class="claim" d="M([\d.]+) ', str(bar))
    assert points(bar, "least") == (0, pytest.approx(float(claim) * bound / epsilon, abs=0.06))
    assert points(bar, "most") == (pytest.approx(float(claim) * bound / epsilon, abs=0.06), float(claim))
    assert "most" not in guarantees.bar(bound, epsilon, False)


def test_a_refuted_bar_passes_the_line_and_ends_in_an_arrow():
    little, far, farther = (guarantees.bar(bound, 1.0, False) for bound in (1.25, 1.6, 600.0))
    (claim,) = re.findall(r'class="claim" d="M([\d.]+) ', str(little))
    assert points(little, "least beyond")[1] == pytest.approx(1.25 * float(claim))
    assert str(far) == str(farther) and "L" in str(far) and "L" not in str(little)
    nothing = guarantees.bar(math.nan, 1.0, True)
    assert 'class="least' not in nothing and points(nothing, "most") == (0, float(claim))


# The page.


def test_every_row_is_on_the_page_with_its_numbers(written, page):
    stored = ledger.read(written / "privacy.parquet")
    lines = re.findall(r'<tr id="guarantee-.*?</tr>', page, re.DOTALL)
    shown = []
    for line in lines:
        told = dict(re.findall(r' data-(\w+)="([^"]*)"', line.partition(">")[0]))
        cells = dict(re.findall(r'<td data-name="([^"]+)"[^>]*? data-order="([^"]*)"', line))
        bound = float(cells["ε really spent"] or "nan")
        numbers = (float(cells["claimed ε"]), float(cells["δ"]), bound)
        shown.append(
            (told["mechanism"], told["calibration"], told["neighbours"], told["variant"], told["verdict"], *numbers)
        )
    relations = {"add_remove": "add/remove", "replace": "replace-one"}
    expected = [
        (
            r.mechanism,
            r.calibration,
            relations[r.neighbours],
            r.variant,
            r.verdict,
            r.epsilon,
            r.delta,
            r.audit_lower_bound,
        )
        for r in stored.itertuples()
    ]
    assert sorted(map(repr, shown)) == sorted(map(repr, expected))
    order = [PRIVACY.index(line[4]) for line in shown]
    assert order == sorted(order) and {0, 1, 2} == set(order)


def test_ids_are_told_once_and_links_find_them(page, context):
    ids = re.findall(r' id="([^"]+)"', page)
    # The last stands on the page of each paper.
    assert len(ids) == len(set(ids)) + ids.count("errata-title") - 1
    assert {f"erratum-{name}" for name in ("K1", "K14", "N18", "J18", "D15")} <= set(ids)
    assert set(re.findall(r'href="#([^"?]+)"', page)) <= set(ids)
    assert len([name for name in ids if name.startswith("guarantee-")]) == len(context["guarantees"])


def test_words_of_the_files_are_words_on_the_page(page):
    assert HOSTILE not in page and page.count("&lt;script&gt;alert(1)") >= 2


def test_mutants(context, page):
    caught, missed = context["mutants"]
    assert (caught["shown_verdict"], caught["caught"], caught["wronged"]) == ("caught", True, False)
    assert (missed["verdict"], missed["caught"], missed["wronged"]) == ("not caught", False, True)
    assert context["mutant_words"] == "1 of 2 mutants are caught, 1 of 2 twins are wronged"
    assert str(caught["source"]) == 'li2021, <a href="#erratum-N3">N3</a>'
    assert "500 of 1,000 against 50 of 1,000" in page


# Mistakes.


def test_mutants_of_another_version_are_told(written, pytestconfig, tmp_path):
    old = tmp_path / "mutants.parquet"
    pd.read_parquet(written / "mutants.parquet").drop(columns="twin_bound").to_parquet(old)
    with pytest.raises(CorruptFile, match=r"mutants\.parquet lacks the columns twin_bound; .*run again"):
        guarantees.context(written / "privacy.parquet", old, pytestconfig.rootpath / "docs/errata.md")


def test_an_old_ledger_and_an_unknown_erratum_are_told(written, pytestconfig, tmp_path):
    errata = pytestconfig.rootpath / "docs/errata.md"
    attack = fake_audits.write_attacks([fake_audits.attack(**KEY)], tmp_path / "attack.parquet")
    out = tmp_path / "privacy.parquet"
    said = [{**KEY, "calibration": "tight", "variant": "gamma", "errata": "K99"}]
    ledger.collect([attack], [], out, confidence=0.95, level=0.05, metadata={}, errata=said)
    with pytest.raises(CorruptFile, match=r"'K99' is not in docs/errata\.md"):
        guarantees.context(out, written / "mutants.parquet", errata)
    ledger.collect([attack], [], out, confidence=0.95, level=0.05, metadata={})
    once = pq.read_table(out)
    pq.write_table(pa.concat_tables([once, once]), out)
    with pytest.raises(CorruptFile, match="says twice guarantee-kifer2012-objective-gamma-tight"):
        guarantees.context(out, written / "mutants.parquet", errata)
    fake_audits.ledger.read(out).drop(columns="errata").to_parquet(out)
    with pytest.raises(CorruptFile, match="lacks the columns errata; delete it"):
        guarantees.context(out, written / "mutants.parquet", errata)
