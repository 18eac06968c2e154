"""The errata that the report shows are all of docs/errata.md, and their Markdown becomes harmless HTML."""

import re

import pandas as pd
import pytest
import together

from dperm.errors import CorruptFile
from dperm_pipeline.report import errata

HEAD = "## kifer2012\n\n| id | printed | right | what we do | tested in |\n|---|---|---|---|---|\n"


@pytest.fixture(scope="module")
def known(pytestconfig):
    return errata.read(pytestconfig.rootpath / "docs/errata.md")


def test_every_erratum_is_there(known):
    last = {"K": ("kifer2012", 14), "N": ("li2021", 20), "J": ("jain2013", 18), "D": ("dwork2018", 15)}
    ids = [f"{letter}{k}" for letter, (_, n) in last.items() for k in range(1, n + 1)]
    assert list(known) == ids
    assert {entry.paper for name, entry in known.items() if name[0] == "K"} == {"kifer2012"}
    assert all(known[name].paper == last[name[0]][0] for name in ids)
    assert all(entry.printed and entry.right and entry.what for entry in known.values())


def test_cells_are_told_apart(known):
    """By hand from the document: a bar inside a cell, the mark of privacy, the order of the columns."""
    assert known["N3"].printed == "VS (c → −∞): b'|θ|"
    assert known["K5"].printed == "Exp-mech: α = 4s² for the loss ½(y − ⟨x, θ⟩)²"
    assert known["D4"].what == "so" and "prediction/test_exppw.py" in known["D4"].tested
    marked = {name for name, entry in known.items() if entry.privacy}
    assert {"K1", "K2", "N12", "J12", "D4", "D15"} <= marked and not {"K7", "N6", "J7", "D5"} & marked


def test_what_decides_a_refuted_guarantee_is_marked_as_on_privacy(known, pytestconfig):
    """Of the committed ledger of a run at scale paper; the first erratum of a row decides it."""
    ledger = pd.read_csv(pytestconfig.rootpath / "docs/assets/privacy.csv").fillna({"errata": ""})
    decisive = {names.split()[0] for names in ledger.loc[ledger["verdict"] == "refuted", "errata"] if names}
    assert {"K3", "J6", "D6"} <= decisive and all(known[name].privacy for name in decisive)


@together.over(
    "text, shown",
    [
        ("a < b & `x_<i>` c", "a &lt; b &amp; <code>x_&lt;i&gt;</code> c"),
        ("**P** marks *above* 2 * 3", "<strong>P</strong> marks <em>above</em> 2 * 3"),
        ("see [privacy.md](privacy.md), Theorem N", "see privacy.md, Theorem N"),
        ("w* and θ*; 5 * 6", "w* and θ*; 5 * 6"),
        ("`N(0, σ²)` [`a`](b.md)", "<code>N(0, σ²)</code> <code>a</code>"),
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
    ],
)
def test_markdown(text, shown):
    assert str(errata.html(text)) == shown


def test_no_markdown_is_left(known):
    for entry in known.values():
        for text in (entry.printed, entry.right, entry.what):
            shown = re.sub(r"<code>.*?</code>", "", str(errata.html(text)))
            assert not re.search(r"`|\]\(|\*\*", shown), (entry.name, shown)
            assert re.sub(r"</?(code|strong|em)>", "", shown).count("<") == 0


def test_ids_become_links_if_they_are_known(known):
    shown = str(errata.links("li2021, N3 and K99, not D.1 <b>", known))
    assert shown == 'li2021, <a href="#erratum-N3">N3</a> and K99, not D.1 &lt;b&gt;'


@pytest.mark.parametrize(
    "row",
    [
        "| K1 P | printed | right | ours |",
        "| 1 | printed | right | ours | tests |",
        "| K1 Q | printed | right | ours | tests |",
        "| K1 | a | b | c | d |\n| K1 P | printed | right | ours | tests |",
    ],
)
def test_a_broken_row_is_named(tmp_path, row):
    path = tmp_path / "errata.md"
    path.write_text(HEAD + row + "\n", encoding="utf-8")
    with pytest.raises(CorruptFile, match=r"errata\.md, line \d+: "):
        errata.read(path)


def test_no_table_is_no_errata(tmp_path):
    path = tmp_path / "errata.md"
    path.write_text("# Errata\n| where | printed | right |\n|---|---|---|\n| a | b | c |\n", encoding="utf-8")
    with pytest.raises(CorruptFile, match="no table"):
        errata.read(path)
    # Nor is a folder.
    for other in (tmp_path / "none.md", tmp_path):
        with pytest.raises(FileNotFoundError, match=r"no file .*; restore it"):
            errata.read(other)
