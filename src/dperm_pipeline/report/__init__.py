"""The report: pages for people in one folder that stands alone, without network or any file outside."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from dperm_pipeline import files, names, places
from dperm_pipeline.report import (
    assets,
    crate,
    explorer,
    front,
    guarantees,
    ledgers,
    libraries,
    made,
    rows_read,
    sections,
    site,
    verdicts,
)  # fmt: skip
from dperm_pipeline.report import provenance as origin

TITLE = "Four papers on differentially private learning, reproduced"
# What stands in two pages until all of them are written.
_MOVED, _FOUND = "{where everything is}", "{what a search finds}"


def build(
    folder: str | Path,
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
    audited: Sequence[str | Path] = (),
) -> None:
    """Write the report into a folder from the files that its parts are made of; equal input gives equal bytes.

    `index.html` leads to the others: one for each paper, all claims, the ledger, what to pick, other libraries,
    provenance and a search. Figures lie in `figures` as they are, and are shown as images, so that ids inside them
    cannot clash; beside each lie its numbers as CSV. Of a table given as Markdown and as CSV, the Markdown is shown.
    The folder is a Workflow Run RO-Crate (`report.crate`).
    `rows` are the `rows.parquet` of each experiment: what the explorer draws; repeats, data sets, checksums and
    failures. `provenance` is that of `provenance.collect`, `unavailable` maps data sets that cannot be had here to the
    reason, `origins` figures and tables to the experiment whose rows they are made from; nothing is said of those left
    out. `elsewhere`: files of what was measured elsewhere, for the explorer; `audited`: of attacks on other libraries.
    CorruptFile if a figure is not SVG, a table is empty, or Parquet cannot be read; then no page is written.
    """
    folder, scale = Path(folder), str(config.get("scale", "unknown"))
    summaries = [rows_read.summary(path) for path in rows]
    of_experiment = {file.name.partition("/")[0]: file for file in summaries}
    ledger = ledgers.read(privacy, ledgers.PRIVACY)
    made_from = origins or {}
    # Each section's context; figures list the claims that stand on them, claims link to errata.
    of_privacy = guarantees.context(privacy, mutants, errata)
    listed_errata = [erratum["name"] for of_paper in of_privacy["errata"].values() for erratum in of_paper]
    of_claims = verdicts.context(claims, scale=scale, errata=listed_errata)
    shown = sections.figures(figures, claims=of_claims["by_figure"], summaries=of_experiment, origins=made_from)
    numbers = sections.tables(tables, summaries=of_experiment, origins=made_from)
    beside = made.files(shown, numbers, {Path(path).parent.name: Path(path) for path in rows}, made_from, scale)
    papers = sections.papers(of_claims["answers"], ledger, ledgers.PRIVACY)
    by_paper = {section["key"]: section for section in sections.by_paper(shown, numbers)}
    titles = {name: entry["title"] for name, entry in config.get("datasets", {}).items() if entry.get("title")}
    choosing, of_others = explorer.context(rows, privacy, elsewhere, titles), libraries.context(audited)
    common = {
        "title": TITLE,
        "scale": scale,
        "facts": _badges(config, provenance),
        "datasets": sections.datasets(summaries, config.get("datasets", {})),
        "counts": {
            "claims": of_claims["counts"],
            "privacy": sections.counted(ledger["verdict"], ledgers.PRIVACY),
            "mutants": ledgers.counts(mutants, ledgers.MUTANTS),
        },
        "papers": papers,
        "refuted": front.broken(sections.refuted(of_privacy["guarantees"])),
        "pick": front.pick(choosing["view"]),
        "unavailable": dict(sorted(unavailable.items())),
        "here": {one["name"]: one.get("size") for one in (*numbers, *shown)},
        "ledger_figures": [figure for figure in shown if figure["source"] in ("privacy", "mutants")],
        "privacy": of_privacy,
        "claims": of_claims,
        "explorer": choosing,
        "libraries": of_others,
        "provenance": origin.context(provenance, rows=summaries, config=config, libraries=assets.versions()),
    }
    # Of what compares methods across papers, the figures stand beside the choice.
    found = {paper["key"]: paper for paper in papers} | by_paper | of_privacy["errata"]
    keys = [key for key in sections.in_order(found) if key != sections.ACROSS]
    across = {"paper": by_paper.get(sections.ACROSS, sections.NOTHING)}
    chapters = [
        ("index.html", "start", "Start", {"moved": _MOVED}),
        *((f"paper-{key}.html", "paper", places.called(key), _paper(key, by_paper, common)) for key in keys),
        ("claims.html", "claims", "All claims", {}),
        ("ledger.html", "ledger", "Privacy ledger", {}),
        ("choose.html", "choose", "What to pick", across),
        ("libraries.html", "libraries", "Other libraries", {}),
        ("provenance.html", "provenance", "Provenance", {}),
        ("search.html", "search", "Search", {"found": _FOUND}),
    ]
    menu = [(file, name) for file, _, name, _ in chapters]
    scripts, packed = assets.scripts(), assets.packed_libraries()
    pages = {
        file: render(
            "frame.html",
            page={"file": file, "template": f"{template}.html", "name": name},
            menu=menu,
            head=assets.HEAD,
            styles=assets.styles(),
            scripts=scripts,
            checksums=assets.checksums([assets.HEAD, *scripts, *assets.libraries().values()]),
            payloads=[packed[library] for library in assets.LIBRARIES.get(template, ("datatables",))],
            **common,
            **more,
        )
        for file, template, name, more in chapters
    }
    pages = site.linked(pages)
    # Both say where everything is, and so are put in last.
    owners = site.places(pages)
    index = site.placed(
        site.entries(of_claims, of_privacy, {"figure": shown, "table": numbers}, of_others["rows"]), owners
    )
    packed_index = assets.pack("search", json.dumps(index, separators=(",", ":"), ensure_ascii=False).encode())
    pages["search.html"] = pages["search.html"].replace(_FOUND, packed_index, 1)
    moved = site.moved({name: page for name, page in owners.items() if page != "index.html"})
    # What stands in a script is read as it is: < alone could end it.
    pages["index.html"] = pages["index.html"].replace(_MOVED, json.dumps(moved).replace("<", "\\u003c"), 1)
    assets.weigh(pages)
    for name, data in beside.items():
        with files.replacing(folder / name) as path:
            path.write_bytes(data)
    for name, page in pages.items():
        files.write_text(folder / name, page)
    crate.write(folder, claims=claims, privacy=privacy, config=config, provenance=provenance)


def render(template: str, **context: Any) -> str:
    """Return a template of the folder `page`, filled in; a name that it needs and is not given is an error."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("dperm_pipeline.report", "page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters |= {"mechanism": names.mechanism, "law": names.law, "constants": names.constants}
    environment.filters |= {"paper_name": places.called, "words": front.words}
    return environment.get_template(template).render(**context)


def _paper(key: str, by_paper: Mapping[str, Any], common: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page of one paper holds: what is drawn of it, the tests of its claims, and its errata."""
    title, authors = places.papers().get(key, (key, ""))
    return {
        "paper": {"key": key, "title": title, "authors": authors, **by_paper.get(key, sections.NOTHING)},
        "tests": [row for row in common["claims"]["rows"] if row["paper"] == key],
        "errata": common["privacy"]["errata"].get(key, []),
    }


def _badges(config: Mapping[str, Any], provenance: Mapping[str, Any]) -> dict[str, str]:
    """Return what the badges of the first page say of the run."""
    code = provenance.get("code") or {}
    commit = None
    if code.get("commit"):
        commit = f"{code['commit'][:12]}{' and changes' if code.get('changed') else ''}"
    badges = {"seed": config.get("seed"), "commit": commit, "made": provenance.get("made")}
    return {name: str(value) for name, value in badges.items() if value is not None}
