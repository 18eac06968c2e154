"""build_report: pages with the verdicts, the figure, the table and where they come from."""

import hashlib
import html
import shutil
from pathlib import Path

import fake_audits
import fake_rows
import pytest
import yaml

from dperm_pipeline import claims, figures
from dperm_pipeline.claims import catalogue as catalogue_of

ROOT = Path(__file__).parents[2]
RESULTS = Path("results/tiny")
ROWS, OUT = RESULTS / "kifer2012-output/rows.parquet", RESULTS / "report"
PRIVACY, MUTANTS, LEDGER = (
    RESULTS / name for name in ("privacy.parquet", "mutants.parquet", "tables/privacy-ledger.md")
)
SVG, MD = RESULTS / "figures/kifer2012-output.svg", RESULTS / "tables/kifer2012-output.md"
DATA = Path("resources/prepared/breast-cancer.parquet")
# No claim speaks of the second: only the page can tell of it.
SKIPPED = {"adult": "no mirror is set", "moon": "its only <disk> is lost"}


@pytest.fixture(scope="module")
def parts(tmp_path_factory, breast_cancer, tiny):
    """A folder with everything that the page shows, made once and without scripts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("parts"))
        make_parts(breast_cancer, tiny)
        return Path.cwd()


def make_parts(breast_cancer, tiny):
    fake_rows.write(fake_rows.rows(datasets=("breast-cancer",), epsilons=(1.0,), repeats=20), ROWS)
    catalogue = catalogue_of.load(
        ROOT / "resources/claims/kifer2012.yaml", ROOT / "workflow/schemas/claims.schema.yaml"
    )
    claims.judge(
        catalogue, {"kifer2012-output": ROWS}, RESULTS / "claims.parquet", unavailable=SKIPPED, metadata={}
    )  # fmt: skip
    assert fake_audits.write_ledgers(RESULTS) == (PRIVACY, MUTANTS)
    figures.draw("kifer2012-output", ROWS, svg=SVG, png=SVG.with_suffix(".png"))
    figures.make_table("kifer2012-output", ROWS, csv=MD.with_suffix(".csv"), md=MD)
    figures.make_table("privacy-ledger", PRIVACY, csv=LEDGER.with_suffix(".csv"), md=LEDGER)
    (RESULTS / "config.yaml").write_text(yaml.safe_dump(tiny.resolved("tiny")), encoding="utf-8")
    # The crate has the workflow from the folder in which Snakemake runs.
    shutil.copy(ROOT / "Snakefile", "Snakefile")
    DATA.parent.mkdir(parents=True)
    shutil.copy(breast_cancer, DATA)
    cost = Path("benchmarks/tiny/kifer2012-output/collect.tsv")
    cost.parent.mkdir(parents=True)
    cost.write_text("s\tmax_rss\n2.5\t100\n")
    # Of a grid that was bracketed in another way.
    shutil.copy(cost, cost.with_stem("gone"))


@pytest.fixture
def build_report(run_script, parts):
    """Return a function that builds the page of a copy of its parts."""
    shutil.copytree(parts, ".", dirs_exist_ok=True)

    def run(what):
        return what(
            "build_report",
            input={
                "claims": RESULTS / "claims.parquet", "config": RESULTS / "config.yaml", "rows": [ROWS],
                "privacy": PRIVACY, "mutants": MUTANTS, "figures": [SVG], "tables": [MD, LEDGER],
                "page": ["index.html", "page.css"], "data": [DATA], "elsewhere": [],
                "audited": [],
                "errata": ROOT / "docs/errata.md", "citation": ROOT / "CITATION.cff",
            },
            output={"folder": OUT},
            params={
                "skipped": SKIPPED,
                "origins": {"kifer2012-output": "kifer2012-output"},
                "planned": ["kifer2012-output/collect"],
                "sources": {},
                "code": "digest",
            },
            wildcards={"scale": "tiny"},
        )  # fmt: skip

    return run


def test_the_page_shows_it_all(build_report, run_script):
    build_report(run_script)
    page = "".join(path.read_text(encoding="utf-8") for path in sorted(OUT.glob("*.html")))
    words = " ".join(html.unescape(page).split())
    verdicts = claims.read(RESULTS / "claims.parquet")
    for shown in (*verdicts["id"], *verdicts["statement"], *verdicts["verdict"], *verdicts["reason"].dropna()):
        assert shown in words
    assert figures.FIGURES["kifer2012-output"].caption in words
    assert figures.TABLES["kifer2012-output"].caption in words
    for file in (ROWS, Path("resources/prepared/breast-cancer.parquet")):
        assert hashlib.sha256(file.read_bytes()).hexdigest() in words
    assert "1 jobs took 2.5 s of wall time" in words and "@inproceedings{kifer2012," in words
    assert '<b>1</b> <span aria-hidden="true">✗</span> refuted' in page
    assert '<b>1</b> <span aria-hidden="true">✓</span> holds up' in page
    assert "a made-up pair" in words and "data: breast-cancer" in words and "scale: tiny" in words
    assert SKIPPED["moon"] in words and SKIPPED["moon"] not in page


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("figures/kifer2012-output.svg", "is not an SVG figure"),
        pytest.param("tables/kifer2012-output.md", "holds no table", marks=pytest.mark.slow),
        ("claims.parquet", "is not a readable Parquet file"),
        *(
            pytest.param(path, "is not a readable Parquet file", marks=pytest.mark.slow)
            for path in ("kifer2012-output/rows.parquet", "privacy.parquet", "mutants.parquet")
        ),
    ],
)
def test_a_broken_part(build_report, run_script, path, words):
    (RESULTS / path).write_bytes(b"")
    said = build_report(run_script.fails)
    assert path in said and words in said
