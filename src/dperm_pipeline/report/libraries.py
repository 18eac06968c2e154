"""Other people's libraries: what the auditor certified of them, from the lines that `snakemake libraries` left."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dperm_pipeline import multiple
from dperm_pipeline.report import guarantees

# As examples/libraries/ledger.py decides.
LEVEL = 0.05
_FILTERS = {"library": {"label": "library"}, "verdict": {"label": "verdict"}, "neighbours": {"label": "neighbours"}}


def context(paths: Sequence[str | Path]) -> dict[str, Any]:
    """Return what page/libraries.html shows of files of attacks, in their order; refuted by Holm over all rows."""
    lines = [json.loads(line) for path in paths for line in Path(path).read_text(encoding="utf-8").splitlines()]
    adjusted = multiple.adjusted(np.array([line["p_value"] for line in lines])) if lines else []
    rows = [_row(number, line, float(p)) for number, (line, p) in enumerate(zip(lines, adjusted, strict=True), 1)]
    return {
        "rows": rows,
        "refuted": sum(row["verdict"] == "refuted" for row in rows),
        "packages": {line["library"]: line["version"] for line in lines},
        "options": json.dumps({"filters": _FILTERS}),
    }


def _row(number: int, line: dict[str, Any], p_holm: float) -> dict[str, Any]:
    exact = {
        name: math.nan if line[name] is None else float(line[name])
        for name in ("epsilon", "delta", "certified", "exact")
    }
    return {
        **{name: line[name] for name in ("library", "claim", "promise", "pair", "event", "because", "known")},
        "id": f"library-{line['library']}-{number}",
        "verdict": "refuted" if p_holm <= LEVEL else "not refuted",
        "neighbours": guarantees.RELATIONS.get(line["relation"], line["relation"]),
        "draws": f"{line['draws']:,}",
        "p": f"{line['p_value']:.2g}",
        "p_holm": f"{p_holm:.2g}",
        "order": {name: "" if math.isnan(value) else repr(value) for name, value in exact.items()},
        **{name: _number(value) for name, value in exact.items()},
    }


def _number(value: float) -> str:
    return "" if math.isnan(value) else "∞" if math.isinf(value) else f"{value:.3g}"
