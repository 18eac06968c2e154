"""Figures and tables, looked up by name: all of one experiment are drawn from its file of rows and nothing else.

matplotlib is loaded only by the module that draws, so that a plan or a report can ask for names and captions cheaply.
"""

import contextlib
import difflib
import importlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dperm.errors import ConfigError, CorruptFile, DpermError
from dperm_pipeline import files, places
from dperm_pipeline.target import Catalogue, Target

if TYPE_CHECKING:
    import pandas as pd

# What draws all figures, and specifications; loaded by those who draw alone.
_DRAWERS = ("dperm_pipeline.figures", "dperm_pipeline.figures.style")
_ENGINES = ("dperm_pipeline.figures.engine", "dperm_pipeline.figures.tabulate")

_FIGURES: Catalogue[str, Target] = {
    "privacy-ledger": Target(
        "Privacy ledger of {paper}: claim and attack",
        "For every mechanism, calibration, neighbouring relation and law of the noise, at its worst budget: the "
        "epsilon that is claimed, and the lower bound that the strongest attack certifies. A bound beyond the claim "
        "refutes it (Holm over the whole ledger).",
        "A row for each mechanism and law of its noise, those with a refuted claim first, with a mark for each "
        "guarantee at the share of the claimed epsilon that is certified, and an upright line at the claim; refuted "
        "marks have a thick rim. The numbers are in the table privacy-ledger.",
        function="ledger",
        source="privacy",
        module="dperm_pipeline.figures.audit",
    ),
}
_TABLES: Catalogue[str, Target] = {
    "privacy-ledger": Target(
        "Privacy ledger",
        "What every mechanism claims, and what an attack on it certifies that it spends.",
        function="ledger_table",
        source="privacy",
        module="dperm_pipeline.figures.audit",
    ),
    "audit-mutants": Target(
        "Mutants",
        "Mechanisms that were broken on purpose, their correct twins, and what the auditor says of both.",
        function="mutants_table",
        source="mutants",
        module="dperm_pipeline.figures.audit",
    ),
}


def _of_each_paper() -> dict[str, Target]:
    """Return the ledger's figure of each paper; what compares methods across papers is attacked in theirs."""
    papers = [paper for paper in places.paper_keys() if paper[-4:].isdigit()]
    return {
        f"{name}-{paper}": replace(target, title=target.title.format(paper=places.called(paper)), paper=paper)
        for name, target in _FIGURES.items()
        for paper in papers
    }


_LEDGERS = {"FIGURES": _of_each_paper(), "TABLES": _TABLES}


def __getattr__(name: str) -> dict[str, Target]:
    """FIGURES and TABLES: all that there are, by name."""
    if name not in places.KINDS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return {**places.drawn(name), **_LEDGERS[name]}


def draw(name: str, rows_path: str | Path, *, svg: str | Path, png: str | Path) -> None:
    """Draw one of `FIGURES` from the rows of its experiment, as SVG and as PNG at 200 dpi; equal rows give equal bytes.

    ConfigError if no figure has this name; CorruptFile or ValueError if the rows cannot be read or lack a column.
    """
    draw_all(rows_path, figures={name: (svg, png)})


def make_table(name: str, rows_path: str | Path, *, csv: str | Path, md: str | Path) -> None:
    """Make one of `TABLES` from the rows of its experiment, as CSV with plain numbers and as Markdown for people.

    What does not exist is an empty field in the CSV and a dash in the Markdown. Raises as `draw`.
    """
    draw_all(rows_path, tables={name: (csv, md)})


def draw_all(
    rows_path: str | Path,
    *,
    figures: Mapping[str, tuple[str | Path, str | Path]] | None = None,
    tables: Mapping[str, tuple[str | Path, str | Path]] | None = None,
    elsewhere: Iterable[str | Path] = (),
) -> None:
    """Draw figures and make tables of the same rows: all of them, or none if one fails.

    Each name is mapped to the two files that `draw` or `make_table` writes. `elsewhere`: files of what was measured
    elsewhere (`dperm_pipeline.elsewhere`), shown beside the rows. Raises as `draw`; what is raised names the figure or
    table.
    """
    # Here, because pandas takes a second to load, and a plan or a report asks for names alone.
    from dperm_pipeline.figures import source

    kinds = {"FIGURES": figures or {}, "TABLES": tables or {}}
    targets = [_target(name, kind) for kind, names in kinds.items() for name in names]
    shown = source.Rows(rows_path, targets, elsewhere)
    # Nothing gets its final name before the last one is drawn.
    with contextlib.ExitStack() as written:
        for name, (svg, png) in kinds["FIGURES"].items():
            function, target = _look_up(name, "figure")
            with _named("figure", name):
                style = importlib.import_module("dperm_pipeline.figures.style")
                temporary_svg, temporary_png = (written.enter_context(files.replacing(path)) for path in (svg, png))
                with style.applied():
                    rows, lost = shown.of(target)
                    figure = _what_is_left(function, rows, lost) or style.nothing(lost)
                    told = any("converge" in text.get_text() for text in figure.texts)
                    if lost and (not told or source.WHOLE in lost):
                        figure.suptitle(lost, size=7, color="#a00000", wrap=True)
                    style.settle(figure)
                    figure.savefig(temporary_svg, metadata={"Date": None})
                    # Runs of one colour alone are packed: half the time, and a fifth larger.
                    rle = {"compress_type": 3}
                    figure.savefig(temporary_png, dpi=200, metadata={"Software": None}, pil_kwargs=rle)
        for name, (csv, md) in kinds["TABLES"].items():
            function, target = _look_up(name, "table")
            with _named("table", name):
                rows, lost = shown.of(target)
                plain, words = _what_is_left(function, rows, lost) or _nothing(lost)
                temporary_csv, temporary_md = (written.enter_context(files.replacing(path)) for path in (csv, md))
                text = plain.to_csv(index=False, na_rep="", lineterminator="\n")
                temporary_csv.write_text(text, encoding="utf-8")
                temporary_md.write_text(_markdown(words.columns, words.itertuples(index=False)), encoding="utf-8")


def modules(name: str) -> tuple[str, ...]:
    """Return the modules that draw the figure and make the table of this name, of which its code digest is taken.

    ConfigError if neither a figure nor a table has this name.
    """
    targets = [target for kind in places.KINDS if (target := _target(name, kind))]
    if not targets:
        raise _unknown(name, places.KINDS, "figure or table")
    own = [module for target in targets for module in (target.words, target.module) if module]
    # A specification stands beside its words, and an engine draws or tabulates it.
    specified = any(target.module == target.words for target in targets)
    return (*_DRAWERS, *(_ENGINES if specified else ()), *dict.fromkeys(own))


def recipe(name: str, known: Mapping[str, Target]) -> list[str] | None:
    """Return what a figure or table hangs on besides its code: the function that makes it, and what it reads.

    None if it is unknown: making it will say so.
    """
    if name not in known:
        return None
    target = known[name]
    return [target.function, *target.columns, *target.metrics, *([target.paper] if target.paper else [])]


def words(name: str, known: Mapping[str, Target]) -> dict[str, Any] | None:
    """Return what the reports show beside a figure or table, `title caption alt datasets`; None if it is unknown."""
    if name not in known:
        return None
    target = known[name]
    return {"title": target.title, "caption": target.caption, "alt": target.alt, "datasets": [*target.datasets]}


def of_claim(name: str, paper: str) -> str:
    """Return the figure on which a paper's claim is decided, by the name in its catalogue: of a ledger, its own one."""
    return own if (own := f"{name}-{paper}") in _LEDGERS["FIGURES"] else name


def _target(name: str, kind: str) -> Target | None:
    return _LEDGERS[kind].get(name) or places.find(kind, name)


def _look_up(name: str, kind: str) -> tuple[Callable, Target]:
    target = _target(name, f"{kind}s".upper())
    if target is None:
        raise _unknown(name, [f"{kind}s".upper()], kind)
    return getattr(importlib.import_module(target.module), target.function), target


def _unknown(name: str, kinds: Iterable[str], kind: str) -> ConfigError:
    known = {name for kind in kinds for name in (*_LEDGERS[kind], *places.drawn(kind))}
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(sorted(known))}"
    return ConfigError(f"there is no {kind} {name!r}; {hint}")


@contextlib.contextmanager
def _named(kind: str, name: str) -> Iterator[None]:
    """Say in whatever goes wrong which one it was: one job draws many."""
    try:
        yield
    except CorruptFile:
        # Names the file, which is all that counts; the job deletes it.
        raise
    except DpermError as error:
        raise type(error)(f"{kind} {name!r}: {error}") from error
    except KeyError as error:
        raise ValueError(f"{kind} {name!r}: the rows have no column or value {error}") from error
    except Exception as error:
        error.add_note(f"This was the {kind} {name!r}.")
        raise


def _what_is_left(function: Callable, rows: Any, lost: str) -> Any:
    """Draw what there is; None if so much failed to converge that this cannot be drawn."""
    if not lost:
        return function(rows)
    if not (rows["status"] == "ok").any():
        return None
    try:
        return function(rows)
    except Exception:  # a bug would show where nothing failed
        logging.exception("not drawn, for want of the rows whose solver did not converge")
        return None


def _nothing(lost: str) -> tuple["pd.DataFrame", "pd.DataFrame"]:
    import pandas as pd

    table = pd.DataFrame({"missing": [lost]})
    return table, table


def _markdown(header, rows) -> str:
    lines = [header, ["---"] * len(header), *rows]
    cells = ([str(cell).replace("|", "\\|").replace("\n", " ") for cell in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)
