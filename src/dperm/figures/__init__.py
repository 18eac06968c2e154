"""Figures and tables, looked up by name: each is drawn from one file of rows and nothing else.

matplotlib is loaded only by the module that draws, so that a plan or a report can ask for names and captions cheaply.
"""

import difflib
import importlib
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from dperm import files
from dperm.errors import ConfigError
from dperm.figures import dwork2018, jain2013, kifer2012, li2021
from dperm.figures.target import Target

_COLUMNS = ("mechanism", "calibration", "dataset", "epsilon", "delta", "repeat", "metric", "value", "status")

FIGURES = {
    **dwork2018.FIGURES,
    **jain2013.FIGURES,
    **kifer2012.FIGURES,
    **li2021.FIGURES,
    "privacy-ledger": Target(
        "dperm.figures.audit",
        "ledger",
        (),
        "Privacy ledger: claim and attack",
        "For every mechanism, calibration, neighbouring relation and law of the noise, at its worst budget: the "
        "epsilon that is claimed, and the lower bound that the strongest attack certifies. A bound beyond the claim "
        "refutes it (Holm over the whole ledger).",
        "Horizontal bars, one for each guarantee, as a share of the claimed epsilon, with a line at the claim; bars "
        "that pass it are hatched and labelled refuted. The numbers are in the table privacy-ledger.",
        source="privacy",
    ),
}
TABLES = {
    **dwork2018.TABLES,
    **jain2013.TABLES,
    **kifer2012.TABLES,
    **li2021.TABLES,
    "privacy-ledger": Target(
        "dperm.figures.audit",
        "ledger_table",
        (),
        "Privacy ledger",
        "What every mechanism claims, and what an attack on it certifies that it spends.",
        source="privacy",
    ),
    "audit-mutants": Target(
        "dperm.figures.audit",
        "mutants_table",
        (),
        "Mutants",
        "Mechanisms that were broken on purpose, their correct twins, and what the auditor says of both.",
        source="mutants",
    ),
}


def draw(name: str, rows_path: str | Path, *, svg: str | Path, png: str | Path) -> None:
    """Draw one figure from rows, as SVG and as PNG at 200 dpi; equal rows give equal bytes.

    Parameters
    ----------
    name : str
        A key of `FIGURES`.
    rows_path : path
        The rows of the figure's experiment (`rows.parquet`).
    svg, png : path
        Where to write.

    Raises
    ------
    ConfigError
        If no figure has this name.
    CorruptFile, ValueError
        If the rows cannot be read or lack a column.
    """
    module, target = _look_up(name, FIGURES, "figure")
    style = importlib.import_module("dperm.figures.style")
    with style.applied():
        figure = getattr(module, target.function)(_read(rows_path, target))
        style.settle(figure)
        with files.replacing(svg) as temporary:
            figure.savefig(temporary, metadata={"Date": None})
        with files.replacing(png) as temporary:
            figure.savefig(temporary, dpi=200, metadata={"Software": None})


def make_table(name: str, rows_path: str | Path, *, csv: str | Path, md: str | Path) -> None:
    """Make one table from rows, as CSV with plain numbers and as Markdown for people.

    Parameters
    ----------
    name : str
        A key of `TABLES`.
    rows_path : path
        The rows of the table's experiment (`rows.parquet`).
    csv, md : path
        Where to write. What does not exist is an empty field in the CSV and a dash in the Markdown.

    Raises
    ------
    ConfigError
        If no table has this name.
    CorruptFile, ValueError
        If the rows cannot be read or lack a column.
    """
    module, target = _look_up(name, TABLES, "table")
    plain, words = getattr(module, target.function)(_read(rows_path, target))
    files.write_text(csv, plain.to_csv(index=False, na_rep="", lineterminator="\n"))
    files.write_text(md, _markdown(words.columns, words.itertuples(index=False)))


def modules(name: str) -> tuple[str, ...]:
    """Return the modules that draw the figure and make the table of this name: what its code digest is taken of.

    Raises
    ------
    ConfigError
        If neither a figure nor a table has this name.
    """
    targets = [known[name] for known in (FIGURES, TABLES) if name in known]
    if not targets:
        raise _unknown(name, {**FIGURES, **TABLES}, "figure or table")
    return ("dperm.figures", "dperm.figures.style", *dict.fromkeys(target.module for target in targets))


def recipe(name: str, known: Mapping[str, Target]) -> list[str] | None:
    """Return what a figure or table hangs on besides its code: the function that makes it, and what it reads.

    Parameters
    ----------
    name : str
    known : mapping
        `FIGURES` or `TABLES`.

    Returns
    -------
    list of str
        None if there is no such figure or table, which making it will say.
    """
    if name not in known:
        return None
    target = known[name]
    return [target.function, *target.columns, *target.metrics]


def words(name: str, known: Mapping[str, Target]) -> dict[str, str] | None:
    """Return the title and the caption of a figure or table, for Snakemake's own report.

    Parameters
    ----------
    name : str
    known : mapping
        `FIGURES` or `TABLES`.

    Returns
    -------
    dict
        None if there is no such figure or table, which making it will say.
    """
    return {"title": known[name].title, "caption": known[name].caption} if name in known else None


def _look_up(name: str, known: Mapping[str, Target], kind: str) -> tuple[ModuleType, Target]:
    if name not in known:
        raise _unknown(name, known, kind)
    return importlib.import_module(known[name].module), known[name]


def _unknown(name: str, known: Mapping[str, Target], kind: str) -> ConfigError:
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(sorted(known))}"
    return ConfigError(f"there is no {kind} {name!r}; {hint}")


def _read(path: str | Path, target: Target):
    """Read what the figure draws; rows that failed to converge too, for the figure to say so."""
    # Here, because pandas takes a second to load, and a plan or a report asks for names alone.
    from dperm import tables

    if target.source != "rows":
        return tables.read_records(path)
    filters = [("metric", "in", target.metrics)] if target.metrics else None
    return tables.read(path, columns=[*_COLUMNS, *target.columns], filters=filters)


def _markdown(header, rows) -> str:
    lines = [header, ["---"] * len(header), *rows]
    cells = ([str(cell).replace("|", "\\|").replace("\n", " ") for cell in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)
