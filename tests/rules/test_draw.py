"""The rules that draw: all figures and tables of an experiment's rows or a ledger, or a message and none of them."""

import re
from pathlib import Path
from xml.etree import ElementTree

import fake_audits
import fake_rows
import numpy as np
import pandas as pd
import pytest

from dperm_papers.kifer2012.output import figures as output
from dperm_pipeline import figures

# A figure of rows and a ledger's; `make test-slow` draws them all.
QUICK = {"kifer2012-output", "privacy-ledger-kifer2012"}
NAMES = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in sorted(figures.FIGURES)]
RULE = "draw_kifer2012_output"
OF_RULE = ("kifer2012-output", "kifer2012-output-sweep", "kifer2012-output-sweep-test")


def files_of(kind, names, suffix):
    return [f"results/tiny/{kind}/{name}.{suffix}" for name in names]


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    frame = fake_rows.rows(datasets=("breast-cancer",), epsilons=(0.1, 1.0), deltas=(0.0,), repeats=5)
    return fake_rows.write(frame, tmp_path_factory.mktemp("rows") / "rows.parquet")


@pytest.fixture
def draw():
    """Run the script of one of the rules on any names; `what` runs it, or sees it fail."""

    def run(what, rows, *, drawn=(), tables=(), rule=RULE, **options):
        return what(
            rule,
            input={"rows": rows, "elsewhere": []},
            output={
                "svg": files_of("figures", drawn, "svg"),
                "png": files_of("figures", drawn, "png"),
                "csv": files_of("tables", tables, "csv"),
                "md": files_of("tables", tables, "md"),
            },
            params={
                "figures": dict.fromkeys(drawn),
                "tables": dict.fromkeys(tables),
                "words": {},
                "sources": {},
                "code": "digest",
            },
            wildcards={"scale": "tiny"},
            **options,
        )

    return run


@pytest.mark.parametrize("name", NAMES)
def test_a_figure(draw, run_script, rows, name, tmp_path):
    if figures.FIGURES[name].source == "privacy":
        rows, _ = fake_audits.write_ledgers(tmp_path / "results")
    elif not name.startswith("kifer2012-output"):
        rows = fake_rows.write(fake_rows.of_figure(name), tmp_path / "rows.parquet")
    draw(run_script, rows, drawn=[name])
    (svg,), (png,) = files_of("figures", [name], "svg"), files_of("figures", [name], "png")
    assert ElementTree.parse(svg).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    assert Path(png).read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert Path(png).read_bytes().endswith(b"IEND\xaeB`\x82")
    if name in QUICK:
        figures.draw(name, rows, svg="direct.svg", png="direct.png")
        assert Path(svg).read_bytes() == Path("direct.svg").read_bytes()
        assert Path(png).read_bytes() == Path("direct.png").read_bytes()
    assert b"<dc:date>" not in Path(svg).read_bytes()
    target = figures.FIGURES[name]
    # One engine draws what is specified.
    if target.source == "rows" and (target.module != target.words or name in QUICK):
        # Their order decides the last bits of a mean, not the picture.
        shuffled = fake_rows.write(pd.read_parquet(rows).sample(frac=1.0, random_state=3), "shuffled.parquet")
        figures.draw(name, shuffled, svg="shuffled.svg", png="shuffled.png")
        assert Path("shuffled.svg").stat().st_size == pytest.approx(Path(svg).stat().st_size, rel=2e-3)


def test_no_figure_draws_without_a_seed():
    """So the same rows are the same bytes in each, as in those above that are drawn twice."""
    source = Path(figures.__file__).parents[2]
    files = [*source.glob("dperm_pipeline/figures/*.py"), *source.glob("dperm_papers/*/*/figures*.py")]
    files += source.glob("dperm_papers/**/drawing*.py")
    assert len(files) > 60
    unseeded = re.compile(
        r"default_rng\(\)|SeedSequence\(\)|import random|random\.(?!default_rng|Generator|SeedSequence)\w+\("
    )
    assert [file for file in files if unseeded.search(file.read_text(encoding="utf-8"))] == []


def test_a_job_draws_all_that_its_rule_says(draw, run_script, rules, rows):
    """In any company a figure has the same bytes: nothing of one is left for the next."""
    draw(run_script, rows, drawn=OF_RULE, tables=["kifer2012-output"])
    made = {str(path) for path in Path("results").rglob("*") if path.is_file()}
    assert made == {re.sub(r"\{scale[^}]*\}", "tiny", path) for path in rules[RULE].output}
    figures.draw(OF_RULE[1], rows, svg="direct.svg", png="direct.png")
    for path in (Path("direct.svg"), Path("direct.png")):
        assert Path(f"results/tiny/figures/{OF_RULE[1]}{path.suffix}").read_bytes() == path.read_bytes()


def test_the_ledgers(draw, run_script, tmp_path):
    privacy, mutants = fake_audits.write_ledgers(tmp_path / "results")
    both = {"drawn": ["privacy-ledger-kifer2012", "privacy-ledger-li2021"], "tables": ["privacy-ledger"]}
    draw(run_script, privacy, rule="draw_privacy", **both)
    draw(run_script, mutants, rule="draw_mutants", tables=["audit-mutants"])
    for path in ("figures/privacy-ledger-li2021.svg", "tables/privacy-ledger.md", "tables/audit-mutants.csv"):
        assert Path("results/tiny", path).stat().st_size


def test_the_numbers_are_the_means_of_the_rows(draw, run_script):
    rows = fake_rows.rows(datasets=("breast-cancer", "diabetes"), epsilons=(0.1, 1.0), repeats=7)
    fake_rows.write(rows, "rows.parquet")
    draw(run_script, "rows.parquet", tables=["kifer2012-output"])
    table = pd.read_csv("results/tiny/tables/kifer2012-output.csv")
    chosen = rows[rows["chosen"] & (rows["metric"] == "excess_risk")]
    means = chosen.groupby(["mechanism", "calibration", "dataset", "epsilon", "delta"])["value"].mean()
    private = table[np.isfinite(table["epsilon"])]
    # Three methods at both deltas, three at one.
    assert len(private) == len(means) == (3 * 2 + 3) * 2 * 2
    np.testing.assert_allclose(np.sort(private["excess_risk"]), np.sort(means), rtol=1e-9)
    assert set(private["repeats"]) == {7}
    lines = Path("results/tiny/tables/kifer2012-output.md").read_text().splitlines()
    assert len(lines) == 2 + len(table)
    assert len({line.count("|") for line in lines}) == 1


def test_a_figure_that_refuses_is_named_and_none_is_written(draw, run_script, rows, monkeypatch):
    """The last of three: the first two are drawn by then, and a table is still to be made."""

    def refuses(rows):
        raise figures.ConfigError("no colour is left")

    monkeypatch.setattr(output, "output_sweep_test", refuses)
    old = Path("results/tiny/figures/kifer2012-output.svg")
    old.parent.mkdir(parents=True)
    old.write_text("of a run before", encoding="utf-8")
    said = draw(run_script.fails, rows, drawn=OF_RULE, tables=["kifer2012-output"], leaves=[old])
    assert "error: figure 'kifer2012-output-sweep-test': no colour is left" in said
    assert old.read_text(encoding="utf-8") == "of a run before"


def test_a_figure_with_a_bug_is_named_and_none_is_written(draw, run_script, rows, monkeypatch):
    monkeypatch.setattr(output, "output_table", lambda rows: rows["nothing"])
    with pytest.raises(ValueError, match="nothing"):
        draw(run_script, rows, drawn=OF_RULE[:1], tables=["kifer2012-output"])
    # The last word of the traceback, in the log.
    assert "ValueError: table 'kifer2012-output': the rows have no column or value 'nothing'" in run_script.log
    assert [path for path in Path("results").rglob("*") if path.is_file()] == []


def test_an_unknown_name(draw, run_script, rows):
    assert "did you mean 'kifer2012-output'?" in draw(run_script.fails, rows, drawn=["kifer2012-outptu"])
    assert "there is no table 'kifer2012-output-sweep'" in draw(
        run_script.fails, rows, drawn=["kifer2012-output"], tables=["kifer2012-output-sweep"]
    )


@pytest.mark.parametrize("left", [0, 3000])
def test_corrupt_rows(draw, run_script, rows, left):
    Path("rows.parquet").write_bytes(rows.read_bytes()[:left])
    said = draw(run_script.fails, "rows.parquet", drawn=["kifer2012-output"])
    assert "rows.parquet is not a readable Parquet file" in said
    # The next run collects them again.
    assert not Path("rows.parquet").exists()


def test_rows_that_contradict_themselves(draw, run_script):
    """Two ridge multiples chosen for one method at one point: nobody can say which curve to draw."""
    frame = fake_rows.rows(datasets=("breast-cancer",), epsilons=(1.0,), deltas=(0.0,), repeats=3).assign(chosen=True)
    fake_rows.write(frame, "rows.parquet")
    assert "chosen" in draw(run_script.fails, "rows.parquet", drawn=["kifer2012-output"])
