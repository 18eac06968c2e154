"""Other people's implementations, measured in environments of their own: an input of a run, and none of its results.

`elsewhere.jsonl` in an experiment's folder is made and committed by hand, never by a run. Its first line says of which
`methods` it holds numbers (each with `source`, `version` and the `sha256` of what was installed or fetched), on the
splits of which `scale` and `seed`, and in which `environments`. Each other line is the error of one method on one
split; lines of methods that the first does not name are the library's own and are left out.

Rows have the mechanism `MECHANISM` and no guarantee: what their authors promise is neither proved nor attacked here.
No claim, verdict or ledger reads them.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

MECHANISM = "elsewhere"


def beside(rows: "pd.DataFrame", path: str | Path) -> "pd.DataFrame":
    """Return rows of a run, and after them those of `path` at what the run has: data sets, splits, epsilons."""
    import pandas as pd  # a plan reads the name of the mechanism, and no rows

    found, known = read(path), rows[["dataset", "metric", "repeat"]].astype({"dataset": str, "metric": str})
    found = found.merge(known.drop_duplicates())
    found = found[found["epsilon"].isin(set(rows["epsilon"]))]
    plain = rows.astype({key: object for key in rows if isinstance(rows[key].dtype, pd.CategoricalDtype)})
    return pd.concat([plain, found.reindex(columns=rows.columns)], ignore_index=True) if len(found) else rows


def read(path: str | Path) -> "pd.DataFrame":
    """Return the rows of a file; `variant` says which version was measured, `setting` on whose splits."""
    import pandas as pd

    head, *lines = map(json.loads, Path(path).read_text(encoding="utf-8").splitlines())
    methods = head["methods"]
    rows = pd.DataFrame([line for line in lines if line["method"] in methods])
    return rows.rename(columns={"split": "repeat", "error": "value"}).assign(
        mechanism=MECHANISM,
        calibration="",
        variant=rows["method"].map({name: f"{each['source']} {each['version']}" for name, each in methods.items()}),
        setting=f"scale {head['scale']}, seed {head['seed']}",
        metric="error",
        guarantee="none",
        status="ok",
    )
