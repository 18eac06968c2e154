"""What li2021 proves or says of budgets, risks and sample sizes, held against formulas and private fits.

What is measured stands in the parts: `budgets` (`budget_bounds`: Sections 1.3, 4.1, 4.2, Corollary 5, Proposition 6),
`risk` (`risk_bounds`: Lemma 7, Theorem 8, Section 3.7), `rates` (`risk_rates`: their growth in n, p and epsilon) and
`samples` (`sample_bounds`: Lemma 9, Theorem 10). Neighbours: add/remove. The published and the corrected mechanism are
in one cell, told apart by the column `calibration`, for they share data.
"""

import itertools

import numpy as np

from dperm_papers.li2021.bounds import budget_bounds, risk_bounds, risk_rates, sample_bounds
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

_PARTS = {
    "budgets": budget_bounds.rows,
    "risk": risk_bounds.rows,
    "rates": risk_rates.rows,
    "samples": sample_bounds.rows,
}
# Columns that a row leaves out.
_BLANK = {
    "variant": "", "calibration": "paper", "guarantee": "none", "dataset": "no-data", "epsilon": 0.0, "delta": 0.0,
    "row": "", "form": "", "reading": "", "target": "", "axis": "", "p": 0, "n": 0, "strength": 0.0, "multiple": 0.0,
    "gamma": 0.0, "iteration": 0, "rho": 0.0,
}  # fmt: skip


def run(cell: Cell, rows: Rows) -> None:
    """Measure one part.

    `row` is the place in the paper, `form` and `reading` tell its readings apart. `excess` is measured minus bound, 0
    or below where the bound holds, in units that the part states; `violated` is 0 or 1. Where a part knows nothing
    although no fit failed, the status is `unknown`.
    """
    parts, rows = cell.parts(*_PARTS), rows.at(**_BLANK)
    for found in itertools.chain.from_iterable(_PARTS[part](cell) for part in parts):
        value, status = np.asarray(found.pop("value"), float), found.pop("status", "failed")
        known = np.isfinite(value)
        rows.add(found.pop("metric"), np.where(known, value, np.nan), ok=known | (status == "unknown"), **found)
