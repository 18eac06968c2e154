"""docs/papers: every claim of the catalogue has its verdicts there, as the pipeline gave them."""

import re
from pathlib import Path

import pandas as pd
import pytest
import real_claims
import together

from dperm_pipeline import claims
from dperm_pipeline.claims import answers, forms, select

ROOT = Path(__file__).parents[2]
PAPERS = sorted(path.stem for path in (ROOT / "docs/papers").glob("*.md"))


@pytest.mark.parametrize("paper", PAPERS)
def test_every_claim_variant_and_data_set_has_a_verdict(paper):
    page = (ROOT / f"docs/papers/{paper}.md").read_text(encoding="utf-8")
    catalogue = real_claims.of(paper)
    # Names of variants are for code, and stand in comments alone.
    assert forms.BETWEEN not in re.sub(r"<!--.*?-->", "", page)
    table = re.search(r"<!-- claims -->\n(.*?)<!-- /claims -->", page, flags=re.DOTALL)[1]
    found, name = [], ""
    for line in table.splitlines()[2:]:
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        name = cells[0] or name
        assert cells[6].strip("*") in claims.VERDICTS
        found.append((name, cells[4], cells[5]))
    expected = [
        (claim["id"], forms.told(variant, claim["variants"][variant]).replace("|", "\\|"), dataset)
        for claim in catalogue
        for variant in claim["variants"]
        if "no_such_form" not in claim["variants"][variant]
        for dataset in ([""] if select.pooled(select.settings(claim, variant)) else claim.get("datasets", [""]))
    ]
    assert sorted(found) == sorted(expected)


def test_the_ledger_has_the_words_of_the_catalogue():
    ledger = pd.read_csv(ROOT / "docs/assets/claims.csv", keep_default_na=False)
    told = {
        (claim["id"], variant): forms.told(variant, settings)
        for claim in real_claims.of(*PAPERS)
        for variant, settings in claim["variants"].items()
    }
    assert ledger["words"].tolist() == [told[row.id, row.variant] for row in ledger.itertuples()]
    read = ledger.drop(columns="variant").astype(str)
    assert [name for name in read if read[name].str.contains(forms.BETWEEN).any()] == []


@pytest.mark.parametrize("paper", PAPERS)
def test_every_claim_has_one_answer_above_its_tests(paper):
    page = (ROOT / f"docs/papers/{paper}.md").read_text(encoding="utf-8")
    catalogue = real_claims.of(paper)
    table = re.search(r"<!-- answers -->\n(.*?)<!-- /answers -->", page, flags=re.DOTALL)[1]
    shown = [line.split("|")[1].strip() for line in table.splitlines()[2:]]
    # Tests that stand beside the claims answer none.
    counted = []
    for claim in catalogue:
        forms = {name for name, variant in claim["variants"].items() if "no_such_form" not in (variant or {})}
        if not forms <= {*claim.get("beside", ())}:
            counted.append(claim)
    tested = {answers.number(claim["id"]) for claim in counted if claim["test"] != "weakest"}
    assert sorted(shown) == sorted(tested)


@together.over("paper", PAPERS)
def test_prose_has_the_numbers_of_the_table(paper):
    page = (ROOT / f"docs/papers/{paper}.md").read_text(encoding="utf-8")
    found, measured, name = {}, {}, ""
    for line in re.search(r"<!-- claims -->\n(.*?)<!-- /claims -->", page, flags=re.DOTALL)[1].splitlines()[2:]:
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        name = cells[0] or name
        found[name, cells[4].replace("\\|", "|"), cells[5]] = cells[7]
    for claim in real_claims.of(paper):
        for variant, settings in claim["variants"].items():
            for dataset in ("", *claim.get("datasets", ())):
                key = (claim["id"], forms.told(variant, settings), dataset)
                measured[" ".join(filter(None, (claim["id"], variant, dataset)))] = found.get(key)
    said = re.findall(r"<!-- measured ([^>]*) -->(.*?)<!-- /measured -->", page)
    assert page.count("<!-- measured") == len(said)
    assert [(what, number) for what, number in said if measured[what] != number] == []


def test_pairs_of_k_c38_are_those_of_the_ledger(tables):
    """The ledger says them in words, by which the table is made again."""
    ledger = pd.read_csv(ROOT / "docs/assets/claims.csv", keep_default_na=False)
    page = (ROOT / "docs/papers/kifer2012.md").read_text(encoding="utf-8")
    assert tables.between(page, "pairs") == tables.pairs(ledger)
    forms = ledger[ledger.id == "K-c38"]
    assert len(tables.pairs(ledger).splitlines()) == 2 + len(forms) > 2


def test_the_least_risk_of_a_budget_is_bold(tables):
    means = pd.DataFrame(
        [
            ("b", 0.3, 1e-6, "output", 0.2),
            ("b", 0.1, 1e-6, "output", 0.12345),
            ("b", 0.1, 1e-6, "objective, tight", 0.12349),
            ("b", 0.3, 1e-6, "objective, tight", 1.2),
            ("a", 0.1, 0.0, "CMS11, Algorithm 2", 2.0),
            ("a", float("inf"), 0.0, "non-private", float("nan")),
        ],
        columns=["dataset", "epsilon", "delta", "method", "excess_risk"],
    )
    first, second = (re.split(r" *\| *", line)[1:-1] for line in tables.risks(means).splitlines()[2:])
    assert first == ["a", "0", "", "**2**", "", "", "", ""]
    # Equal as printed, bold together.
    assert second == ["b", "1e-6", "**0.123** / 1.2", "", "", "**0.123** / **0.2**", "", ""]


def test_the_least_private_error_of_the_frontier_is_bold(tables):
    names = ("dataset", "neighbours", "delta", "method", "splits", "error_0.5", "error_0.5_low", "error_0.5_high")
    nothing = float("nan")
    means = pd.DataFrame(
        [
            ("a", None, 0.0, "not private: x", 2, nothing, nothing, nothing, 0.05, nothing, nothing),
            ("a", "replace", 1e-4, "NAPP", 3, 0.2, 0.15, 0.25, nothing, nothing, nothing),
            ("a", "replace", 1e-4, "output", 1, 0.3, nothing, nothing, nothing, nothing, nothing),
            ("a", "replace", 1e-4, "tuned (not private)", 3, 0.1, 0.08, 0.12, nothing, nothing, nothing),
            ("a", "replace", 0.0, "NAPP", 3, 0.01, 0.0, 0.02, nothing, nothing, nothing),
        ],
        columns=[*names, "error_inf", "error_inf_low", "error_inf_high"],
    )
    # Student's 97.5 % quantile of two degrees of freedom is 4.303.
    assert tables.errors(means, "scale `x`").splitlines()[4:] == [
        "| a |  | not private: x | 5.0 |",
        "| a | replace | NAPP | **20.0 ± 1.2** |",
        "| a | replace | output | 30.0 |",
        "| a | replace | tuned (not private) | 10.0 ± 0.5 |",
    ]


def test_every_test_that_the_errata_name_is_there():
    named = set(re.findall(r"`(tests/[\w/]+\.py)`", (ROOT / "docs/errata.md").read_text(encoding="utf-8")))
    assert named
    assert [path for path in sorted(named) if not (ROOT / path).is_file()] == []
