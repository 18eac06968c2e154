r"""Every bound of dwork2018 beside the number that it is about: what each constant gives away.

One line for each bound, at each epsilon if it knows one, in up to four forms, the column `variant`:

    printed    the paper's formula (and, where it decides the value, its mechanism, private or not)
    mended     with the errata's corrections
    halved     of gradient descent with half the step (erratum D15)
    tight      ours

with the metrics `bound`, `value` and `ratio` = bound/value. Values are those of small cells of their own: laws on which
they are exact, except where `drawn` is 1 (means, quantiles or the worst of `repeats` samples). An O(.) is taken with
constant 1. A ratio below 1 means: of an upper bound that it is broken, of a lower bound (`series` says `at least`) that
it holds.

The lines are in `promised_answers` (single answers and votes), `promised_labels` (Sections 3, 4.1 to 4.3, 5 and 6) and
`promised_regression` (Sections 2.1 and 4.4). Not every claim is a bound: D-c05, c08b, c12, c32, c36, c38 and c47 to c49
compare rates or orders, and have no line.

References
----------
dwork2018; errata D1 to D15.
"""

import math

from dperm_papers.dwork2018.constants import promised_answers, promised_labels, promised_regression
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

_SOURCES = (promised_answers, promised_labels, promised_regression)


def run(cell: Cell, rows: Rows) -> None:
    """Measure all bounds: `claim` is the id of the claim that a bound belongs to, `series` says what it bounds."""
    cell.parts()
    lines = [line for source in _SOURCES for give in source.ONCE for line in give(cell)]
    for epsilon in map(float, cell.settings.epsilons):
        lines += [
            {"epsilon": epsilon, **line} for source in _SOURCES for give in source.EACH for line in give(cell, epsilon)
        ]
    # An epsilon of 0: the bound knows none.
    rows = rows.at(dataset="no-data", delta=0.0, epsilon=0.0, alpha=0.0, n=0, d=0, drawn=0)
    for line in lines:
        for form, (bound, value) in line.pop("forms").items():
            here = rows.at(**line, variant=form)
            here.add("bound", bound)
            here.add("value", value)
            # A value of 0 leaves nothing to compare with.
            here.add("ratio", bound / value if value > 0 else math.inf)
