"""A made-up run of all four papers, written by dperm's own figures, tables, claims and ledgers in a few seconds."""

from pathlib import Path
from typing import Any

import fake_audits
import fake_rows
import yaml

from dperm_pipeline import claims, figures, files, report
from dperm_pipeline.audits import ledger
from dperm_pipeline.claims import catalogue
from dperm_pipeline.report import provenance

ROOT = Path(__file__).parents[2]
PAPERS = ("dwork2018", "jain2013", "kifer2012", "li2021")
# Text that would show up as markup, or run, if any part of the page forgot to escape it.
HOSTILE = "<img src=x onerror=alert(1)> & \"quoted\" </script><script>alert('x')</script>"
# Drawn by dperm, of one in both forms, published and corrected; the others are quick to draw, and as embedded.
FIGURES = ("kifer2012-output", "li2021-fig6", "li2021-fig6-corrected")
SKETCHES = ("dwork2018-realdata", "jain2013-fig2a", "privacy-ledger-kifer2012", "privacy-ledger-li2021")
SKETCH = """<?xml version="1.0" encoding="utf-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="400pt" height="200pt" viewBox="0 0 400 200">
<rect width="400" height="200" fill="#fff"/><path d="M20 180L380 20" stroke="#0072B2" fill="none"/></svg>
"""
TABLES = ("audit-mutants", "kifer2012-output", "privacy-ledger")
EXPERIMENTS = {
    "dwork2018-realdata": lambda: fake_rows.of_figure("dwork2018-realdata"),
    "jain2013-covertype": lambda: fake_rows.of_figure("jain2013-fig2a"),
    "kifer2012-output": lambda: fake_rows.rows(
        datasets=("adult", "breast-cancer", "diabetes"), multiples=(20.0,), repeats=9
    ),
    "li2021-adult": lambda: fake_rows.of_figure("li2021-fig6"),
}
UNAVAILABLE = {"kdd-algebra": f"its licence forbids a copy; {HOSTILE}"}
# Paper, mechanism, law, calibration, neighbours, guarantee and bound of an attack on epsilon = 1 at delta = 0; one of
# each kind: tight, loose, refuted by a little, refuted by far, and a bound that nothing is proved about.
ATTACKED = (
    ("kifer2012", "objective", "gamma", "tight", "add_remove", "proved_exact", 0.9),
    ("kifer2012", "objective", "gamma", "paper", "add_remove", "none", 1.4),
    ("kifer2012", "objective", "gamma", "paper", "replace", "none", 3.9),
    ("kifer2012", "output", "gamma", "tight", "add_remove", "proved_exact", 0.97),
    ("kifer2012", "cms11", "gamma", "paper", "add_remove", "claimed", 0.5),
    ("li2021", "napp", "published", "paper", "add_remove", "claimed", 42.0),
    ("li2021", "napp", "corrected", "tight", "add_remove", "proved", 0.3),
    ("jain2013", "tddl", "discrete", "paper", "replace", "claimed", 1.02),
    ("dwork2018", "soft_majority", "bit", "tight", "replace", "proved", 0.999),
)


def build(folder: Path) -> None:
    """Write the made-up run and its page, as Snakemake would."""
    report.build(folder / "report", **write(folder), errata=ROOT / "docs/errata.md")


def write(folder: Path) -> dict[str, Any]:
    """Write the run's files into a folder; return what `dperm_pipeline.report.build` takes."""
    rows = {name: fake_rows.write(make(), folder / name / "rows.parquet") for name, make in EXPERIMENTS.items()}
    privacy, mutants = ledgers(folder, list(rows.values()))
    claims.judge(
        catalogue.load(
            [ROOT / f"resources/claims/{paper}.yaml" for paper in PAPERS], ROOT / "workflow/schemas/claims.schema.yaml"
        ),
        rows, folder / "claims.parquet", privacy=privacy, unavailable=UNAVAILABLE, metadata={},
    )  # fmt: skip
    of = {"privacy": privacy, "mutants": mutants, **rows}
    of |= dict.fromkeys(("li2021-fig6", "li2021-fig6-corrected"), rows["li2021-adult"])

    def source(name, targets):
        return of[name if targets[name].source == "rows" else targets[name].source]

    svgs = [folder / f"figures/{name}.svg" for name in sorted((*FIGURES, *SKETCHES))]
    for svg in svgs:
        if svg.stem in SKETCHES:
            files.write_text(svg, SKETCH)
            continue
        figures.draw(svg.stem, source(svg.stem, figures.FIGURES), svg=svg, png=svg.with_suffix(".png"))
    tables = [folder / f"tables/{name}.md" for name in TABLES]
    for table in tables:
        figures.make_table(table.stem, source(table.stem, figures.TABLES), csv=table.with_suffix(".csv"), md=table)
    known = yaml.safe_load((ROOT / "config/datasets.yaml").read_text(encoding="utf-8"))
    config = {"scale": "quick", "seed": 2012, "mirror": HOSTILE, "datasets": known}
    (folder / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    return {
        "claims": folder / "claims.parquet",
        "privacy": privacy,
        "mutants": mutants,
        "figures": svgs,
        "tables": tables,
        "rows": list(rows.values()),
        "config": config,
        "provenance": provenance.collect(seed=2012, data=[], benchmarks=folder, root=ROOT),
        "unavailable": UNAVAILABLE,
        "origins": {"kifer2012-output": "kifer2012-output"},
    }


def ledgers(folder: Path, rows: list[Path]) -> tuple[Path, Path]:
    """Write privacy.parquet and mutants.parquet of made-up attacks; budgets of `rows` stand as not audited."""
    made, fixed = folder / "made-up", {"level": 0.05, "metadata": {}}
    paths = []
    for number, (paper, mechanism, variant, calibration, neighbours, guarantee, bound) in enumerate(ATTACKED):
        named = {"paper": paper, "mechanism": mechanism, "variant": variant, "calibration": calibration}
        named |= {"neighbours": neighbours, "guarantee": guarantee, "pair_words": "two rows" if number else HOSTILE}
        tried = [fake_audits.exact(bound, **named), fake_audits.attack(**named)]
        paths.append(fake_audits.write_attacks(tried, made / f"{number}.parquet"))
    ledger.collect(paths, rows, folder / "privacy.parquet", confidence=0.95, **fixed)
    mutants = [fake_audits.mutant(name=f"mutant-{number}", broken=HOSTILE) for number in range(3)]
    mutants.append(fake_audits.mutant(name="missed", mutant_bound=0.4, mutant_p=1.0, white_box_p=0.5))
    broken = fake_audits.write_mutants(mutants, made / "mutants.parquet")
    ledger.collect_mutants([broken], folder / "mutants.parquet", **fixed)
    return folder / "privacy.parquet", folder / "mutants.parquet"
