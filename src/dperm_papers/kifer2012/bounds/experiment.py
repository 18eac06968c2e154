"""Every bound of kifer2012 that one fit, one lemma or one data set decides, checked over repeats.

What is measured stands in the parts: `fits` (Lemmas 3 and 24, Corollary 25, Theorems 26, 30, 31, Section 2.2),
`lemmas` (Lemmas 15, 39, 40, Claims 22 and 23, Appendix H, Section 3.1), `well_behaved` (Definition 2, Section 2.2.2)
and `nuclear` (Section 1.1.1). Neighbours: add/remove (Definition 1).
"""

from dperm_papers.kifer2012.bounds import fits, lemmas, nuclear, well_behaved
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

# Matrices of 2 x 2 have so many entries, and from here on p is far above s = 2 (Definition 2).
_MATRICES, _SPARSE = 4, 8


def run(cell: Cell, rows: Rows) -> None:
    """Measure every bound at one p, on every design, for every repeat.

    `row` is the place in the paper, `form` the reading (printed, mended, tight). Metrics `excess` (measured/bound - 1),
    `slack` (what a solver or a standard error leaves open, alike), `ratio` (measured/bound) and `violated`, the last
    two of bounds that may fail with probability `gamma`.
    """
    settings, p = cell.settings, int(cell.point["p"])
    rows = rows.at(
        epsilon=settings.epsilon, delta=0.0, p=p, n=0, form="printed", problem="", ridge_multiple=0.0, variance=0.0,
        gamma=0.0,
    )  # fmt: skip
    fits.measure(cell, rows, p)
    lemmas.measure(rows, p, settings.instances, cell.rng("lemmas", p))
    if p == _MATRICES:
        nuclear.measure(cell, rows)
    if p >= _SPARSE:
        rng = cell.rng("well behaved", p)
        well_behaved.measure(rows, p, settings.instances, settings.variances, settings.growth, rng)
