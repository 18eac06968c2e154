"""What li2021 says applies as well and does not run: two choices of Lambda, SVMs, noise cut off at c < 0.

What is measured stands in the parts: `lambda` (`choosing`: Section 3.4), `hinge` (`hinge`: Section 6) and `cut`
(`cutting`: Equations 9 and 10, Section 3.5). Designs are those of Table 4. Published and valid forms stand in one
cell, told apart by the column `calibration`, for they share data. Neighbours: add/remove.
"""

from dperm_papers.li2021.further import choosing, cutting, hinge
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

_PARTS = {"lambda": choosing.measure, "hinge": hinge.measure, "cut": cutting.measure}
# Columns that a row leaves out.
_BLANK = {
    "variant": "erm", "calibration": "paper", "guarantee": "none", "dataset": "no-data", "epsilon": 0.0, "delta": 0.0,
    "row": "", "form": "", "n": 0, "p": 0, "strength": 0.0, "at": 0.0, "rows_added": 0, "zeta2": 0.0, "gamma": 0.0,
}  # fmt: skip


def run(cell: Cell, rows: Rows) -> None:
    """Measure one part; `row`, `form` and `metric` are its own."""
    for part in cell.parts(*_PARTS):
        _PARTS[part](cell, rows.at(**_BLANK))
