"""The report: one page for people that stands alone, without network or any other file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from dperm_pipeline import claims as verdicts_of
from dperm_pipeline import files
from dperm_pipeline.report import assets, explorer, guarantees, ledgers, sections, verdicts
from dperm_pipeline.report import provenance as origin
from dperm_pipeline.report import rows as rows_of

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
) -> None:
    """Write the report; equal input gives equal bytes.

    - out_html: where to write.
    - claims: `claims.parquet`.
    - privacy, mutants: `privacy.parquet` and `mutants.parquet`.
    - figures: SVG files; each is packed into the page as it is and shown as an image, so that ids inside them cannot
      clash.
    - tables: Markdown or CSV files; of one table given as both, the Markdown is shown.
    - rows: the `rows.parquet` of each experiment: what the explorer draws; repeats, data sets, checksums and failures.
    - config: the resolved configuration, JSON-serialisable.
    - provenance: as of `provenance.collect`.
    - unavailable: from data sets that cannot be had on this machine to the reason.
    - errata: `docs/errata.md`.
    - origins: from figures and tables to the experiment whose rows they are made from; nothing is said of those left
      out.
    - Raises CorruptFile: if a figure is not SVG, a table is empty, or Parquet cannot be read.
    - Raises FileNotFoundError: if an input does not exist.
    """
    facts = {file.name.partition("/")[0]: file for file in map(rows_of.facts, rows)}
    judged = verdicts_of.read(claims)
    ledger = ledgers.read(privacy, ledgers.PRIVACY)
    origins = origins or {}
    attacked = guarantees.context(privacy, mutants, errata)
    slips = [slip["name"] for of_paper in attacked["errata"].values() for slip in of_paper]
    scale = str(config.get("scale", "unknown"))
    judged_on = verdicts.context(claims, scale=scale, errata=slips)
    drawn = sections.figures(figures, claims=judged_on["by_figure"], facts=facts, origins=origins)
    code = assets.scripts()
    page = (
        _environment()
        .get_template("index.html")
        .render(
            title=TITLE,
            head=assets.HEAD,
            styles=assets.styles(),
            scripts=code,
            checksums=assets.checksums([assets.HEAD, *code, *assets.libraries().values()]),
            payloads=[
                *(
                    assets.pack(f"figure-{figure['name']}", assets.compact(figure["svg"]), size=figure["size"])
                    for figure in drawn
                ),
                *assets.packed_libraries().values(),
            ],
            scale=scale,
            facts=_facts(config, provenance),
            datasets=sections.datasets(facts.values(), config.get("datasets", {})),
            counts={
                "claims": sections.counted(judged["verdict"], verdicts_of.VERDICTS),
                "privacy": sections.counted(ledger["verdict"], ledgers.PRIVACY),
                "mutants": ledgers.counts(mutants, ledgers.MUTANTS),
            },
            papers=sections.papers(judged, ledger, ledgers.PRIVACY),
            refuted=sections.refuted(attacked["guarantees"]),
            unavailable=dict(sorted(unavailable.items())),
            figures=drawn,
            ledger_figures=[figure for figure in drawn if figure["source"] in ("privacy", "mutants")],
            sections=sections.by_paper(drawn, sections.tables(tables, facts=facts, origins=origins)),
            privacy=attacked,
            claims=judged_on,
            explorer=explorer.context(rows, privacy),
            provenance=origin.context(
                provenance, rows=list(facts.values()), config=config, libraries=assets.versions()
            ),
        )
    )
    assets.weigh(page)
    files.write_text(out_html, page)


def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("dperm_pipeline.report", "page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )


def _facts(config: Mapping[str, Any], provenance: Mapping[str, Any]) -> dict[str, str]:
    """Return what the badges at the top say of the run."""
    code = provenance.get("code") or {}
    commit = f"{code['commit'][:12]}{' and changes' if code.get('changed') else ''}" if code.get("commit") else None
    told = {"seed": config.get("seed"), "commit": commit, "made": provenance.get("made")}
    return {name: str(value) for name, value in told.items() if value is not None}
