"""Which figures and tables are made from the rows of an experiment or from a ledger, and their paths."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dperm_pipeline import figures, places
from dperm_pipeline.datasets import checksums
from dperm_pipeline.plan.cells import Plan
from dperm_pipeline.plan.code_digest import SRC, code_digest

ROWS = "results/{scale}/{experiment}/rows.parquet"
PRIVACY = "results/{scale}/privacy.parquet"
BROKEN = "results/{scale}/mutants.parquet"
DRAWN = "results/{scale}/{kind}/{drawing}.{suffix}"
PACKAGES = ("matplotlib",)
FORMATS = {"figures": ("svg", "png"), "tables": ("csv", "md")}


@dataclass(frozen=True)
class Drawing:
    """All figures and tables that are drawn from one source, an experiment or a ledger: one job at each scale.

    `names`: of what is drawn, under "figures" and "tables". `words`: what reports show beside them.
    """

    source: str
    paper: str | None
    rows: str
    names: Mapping[str, tuple[str, ...]]

    def files(self, kind: str, suffix: str) -> list[str]:
        """Return what is drawn in one format; the scale is left to be filled in."""
        return [DRAWN.format(scale="{scale}", kind=kind, drawing=name, suffix=suffix) for name in self.names[kind]]

    @property
    def every_file(self) -> list[str]:
        return [path for kind, suffixes in FORMATS.items() for suffix in suffixes for path in self.files(kind, suffix)]

    @property
    def elsewhere(self) -> list[str]:
        """Return the files of what was measured elsewhere and is drawn beside the rows."""
        return places.elsewhere(self.source) if self.paper else []

    @functools.cached_property
    def params(self) -> dict[str, Any]:
        known = {"figures": figures.FIGURES, "tables": figures.TABLES}
        recipes = {kind: {n: figures.recipe(n, known[kind]) for n in names} for kind, names in self.names.items()}
        # Beside them in both reports, by folder and name: a figure and a table may share a name.
        words = {f"{kind}/{n}": figures.words(n, known[kind]) for kind, names in self.names.items() for n in names}
        # Their times say little: a copy may keep them.
        sources = {path: checksums.sha256(SRC.parent / path) for path in self.elsewhere}
        return {**recipes, "words": words, "sources": sources}

    @property
    def modules(self) -> tuple[str, ...]:
        names = [name for names in self.names.values() for name in names]
        return tuple(dict.fromkeys(module for name in names for module in figures.modules(name)))

    @property
    def code(self) -> str:
        """Return the digest of the code that draws."""
        return code_digest(*self.modules, packages=PACKAGES)


def drawings(plan: Plan) -> dict[str, Drawing]:
    """Return what is drawn, by the experiment or ledger that it is drawn from."""
    found = {
        e.name: Drawing(
            e.name, e.paper, ROWS.replace("{experiment}", e.name), {"figures": e.figures, "tables": e.tables}
        )
        for e in plan.experiments.values()
        if e.figures or e.tables
    }
    known = {"figures": figures.FIGURES, "tables": figures.TABLES}
    # Of a paper on which there is no attack there is nothing to draw.
    papers = {"", *(audit.get("paper") for audits in plan.audits.values() for audit in audits.values())}
    for source, rows in (("privacy", PRIVACY), ("mutants", BROKEN)):
        names = {
            kind: tuple(n for n, t in every.items() if t.source == source and t.paper in papers)
            for kind, every in known.items()
        }
        found[source] = Drawing(source, None, rows, names)
    return found
