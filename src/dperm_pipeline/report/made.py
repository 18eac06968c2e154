"""What makes a figure or table: its numbers as CSV, the code that draws it, and the command."""

import ast
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dperm_pipeline import figures as drawn
from dperm_pipeline.report import assets
from dperm_pipeline.target import Target

# Of a metric at a point these are said, over its repeats; every other column tells points apart.
_SUMMED = ("repeat", "value", "status")
# A longer file nobody opens: the rows are beside it.
LONGEST = 20_000


def files(
    figures: Sequence[dict[str, Any]],
    tables: Sequence[dict[str, Any]],
    rows: Mapping[str, Path],
    origins: Mapping[str, str],
    scale: str,
) -> dict[str, bytes]:
    """Add `csv command code` to each figure and table; return the files that lie beside the pages, by name.

    `csv` is the address of its numbers: of a table those that it was made with, of a figure those of its rows
    (`numbers`); empty where there are none, and `over` says that they would be too many.
    """
    found = {f"figures/{one['name']}.svg": assets.compact(one["svg"]) for one in figures}
    read: dict[tuple[str, ...], bytes | None] = {}
    ledgers = {one["source"]: one for one in tables if one["source"] != "rows"}
    for kind, known, shown in (("tables", drawn.TABLES, tables), ("figures", drawn.FIGURES, figures)):
        for one in shown:
            target, origin = known.get(one["name"]), origins.get(one["name"])
            one |= {"csv": "", "over": "", "command": command(kind, one["name"], scale), "code": code(target)}
            if kind == "tables":
                # Both are made by one job.
                path = one["path"].with_suffix(".csv")
                text = path.read_bytes() if path.is_file() else None
            elif origin in rows:
                # Figures that are drawn from the same rows have the same numbers.
                asked = (origin, *(target.metrics if target else ()))
                if asked not in read:
                    read[asked] = numbers(rows[origin], target)
                text = read[asked]
                one["over"] = f"{LONGEST:,}" if text is None else ""
            else:
                one["csv"], text = ledgers.get(one["source"], {}).get("csv", ""), None
            if text is not None:
                one["csv"] = f"{kind}/{one['name']}.csv"
                found[one["csv"]] = text
    return found


def command(kind: str, name: str, scale: str) -> str:
    """Return what draws a figure or makes a table anew, and no more than it lacks."""
    suffix = "svg" if kind == "figures" else "csv"
    return f"snakemake --cores all results/{scale}/{kind}/{name}.{suffix} --config scale={scale}"


def code(target: Target | None) -> dict[str, Any] | None:
    """Return `path line text` of the function or specification that draws a target; None of what nobody knows."""
    if target is None:
        return None
    # Read and not loaded: what draws loads matplotlib.
    path = Path(importlib.util.find_spec(target.module).origin)
    source = path.read_text(encoding="utf-8")
    for node in ast.parse(source).body:
        names = [node.name] if isinstance(node, ast.FunctionDef) else []
        if isinstance(node, ast.Assign):
            names = [part.id for of in node.targets for part in ast.walk(of) if isinstance(part, ast.Name)]
        if target.function in names:
            shown = f"src/{'/'.join(target.module.split('.'))}.py"
            return {"path": shown, "line": node.lineno, "text": ast.get_source_segment(source, node)}
    raise LookupError(f"{path} has no {target.function}, which draws {target.title!r}")


def numbers(rows: str | Path, target: Target | None) -> bytes | None:
    """Return a figure's numbers as CSV: mean, standard deviation and count of each metric at each point.

    Rows that did not converge are left out, and columns that say nothing of this figure's rows. None where the file
    would be longer than `LONGEST` lines.
    """
    metrics = list(target.metrics) if target else []
    chosen = (pc.field("metric").cast(pa.string()).isin(metrics)) if metrics else None
    schema = pq.read_schema(rows)
    keys = [name for name in schema.names if name not in _SUMMED]
    table = pq.read_table(rows, columns=[*keys, *_SUMMED], filters=chosen, use_threads=False)
    table = table.filter(pc.equal(table["status"].cast(pa.string()), "ok"))
    for k, name in enumerate(table.column_names):
        if pa.types.is_dictionary(table.schema.field(k).type):
            table = table.set_column(k, name, table[name].cast(pa.string()))
    keys = [name for name in keys if name == "metric" or len(pc.unique(table[name])) > 1]
    found = table.group_by(keys, use_threads=False).aggregate(
        [("value", "mean"), ("value", "stddev", pc.VarianceOptions(ddof=1)), ("value", "count")]
    )
    if len(found) > LONGEST:
        return None
    found = found.select([*keys, "value_mean", "value_stddev", "value_count"])
    found = found.rename_columns([*keys, "mean", "standard_deviation", "repeats"]).to_pandas()
    return found.to_csv(index=False, lineterminator="\n").encode()
