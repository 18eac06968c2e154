"""The report: one page for people that stands alone, without network or any other file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from dperm_pipeline import files
from dperm_pipeline.report import assets, explorer, guarantees, ledgers, rows_read, sections, verdicts
from dperm_pipeline.report import provenance as origin

TITLE = "Four papers on differentially private learning, reproduced"


def build(
    out_html: str | Path,
    *,
    claims: str | Path,
    privacy: str | Path,
    mutants: str | Path,
    figures: Sequence[str | Path],
    tables: Sequence[str | Path],
    rows: Sequence[str | Path],
    config: Mapping[str, Any],
    provenance: Mapping[str, Any],
    unavailable: Mapping[str, str],
    errata: str | Path,
    origins: Mapping[str, str] | None = None,
    elsewhere: Sequence[str | Path] = (),
) -> None:
    """Write the report from the files that its parts are made of; equal input gives equal bytes.

    Figures are packed into the page as they are and shown as images, so that ids inside them cannot clash. Of a
    table given as Markdown and as CSV, the Markdown is shown. `rows` are the `rows.parquet` of each experiment:
    what the explorer draws; repeats, data sets, checksums and failures. `provenance` is that of
    `provenance.collect`, `unavailable` maps data sets that cannot be had here to the reason, `origins` figures and
    tables to the experiment whose rows they are made from; nothing is said of those left out. `elsewhere`: files of
    what was measured elsewhere, for the explorer. CorruptFile if a figure is not SVG, a table is empty, or Parquet
    cannot be read.
    """
    summaries = [rows_read.summary(path) for path in rows]
    of_experiment = {file.name.partition("/")[0]: file for file in summaries}
    ledger = ledgers.read(privacy, ledgers.PRIVACY)
    origins = origins or {}
    scale = str(config.get("scale", "unknown"))
    # Each section's context; figures list the claims that stand on them, claims link to errata.
    of_privacy = guarantees.context(privacy, mutants, errata)
    listed_errata = [erratum["name"] for of_paper in of_privacy["errata"].values() for erratum in of_paper]
    of_claims = verdicts.context(claims, scale=scale, errata=listed_errata)
    shown = sections.figures(figures, claims=of_claims["by_figure"], summaries=of_experiment, origins=origins)
    scripts, libraries = assets.scripts(), assets.packed_libraries()
    images = [
        assets.pack(f"figure-{figure['name']}", assets.compact(figure["svg"]), size=figure["size"]) for figure in shown
    ]
    page = render(
        "index.html",
        title=TITLE,
        head=assets.HEAD,
        styles=assets.styles(),
        scripts=scripts,
        checksums=assets.checksums([assets.HEAD, *scripts, *assets.libraries().values()]),
        payloads=[*images, *libraries.values()],
        scale=scale,
        facts=_badges(config, provenance),
        datasets=sections.datasets(summaries, config.get("datasets", {})),
        counts={
            "claims": of_claims["counts"],
            "privacy": sections.counted(ledger["verdict"], ledgers.PRIVACY),
            "mutants": ledgers.counts(mutants, ledgers.MUTANTS),
        },
        papers=sections.papers(of_claims["answers"], ledger, ledgers.PRIVACY),
        refuted=sections.refuted(of_privacy["guarantees"]),
        unavailable=dict(sorted(unavailable.items())),
        figures=shown,
        ledger_figures=[figure for figure in shown if figure["source"] in ("privacy", "mutants")],
        sections=sections.by_paper(shown, sections.tables(tables, summaries=of_experiment, origins=origins)),
        privacy=of_privacy,
        claims=of_claims,
        explorer=explorer.context(rows, privacy, elsewhere),
        provenance=origin.context(provenance, rows=summaries, config=config, libraries=assets.versions()),
    )
    assets.weigh(page)
    files.write_text(out_html, page)


def render(template: str, **context: Any) -> str:
    """Return a template of the folder `page`, filled in; a name that it needs and is not given is an error."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("dperm_pipeline.report", "page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(**context)


def _badges(config: Mapping[str, Any], provenance: Mapping[str, Any]) -> dict[str, str]:
    """Return what the badges at the top say of the run."""
    code = provenance.get("code") or {}
    commit = None
    if code.get("commit"):
        commit = f"{code['commit'][:12]}{' and changes' if code.get('changed') else ''}"
    badges = {"seed": config.get("seed"), "commit": commit, "made": provenance.get("made")}
    return {name: str(value) for name, value in badges.items() if value is not None}
