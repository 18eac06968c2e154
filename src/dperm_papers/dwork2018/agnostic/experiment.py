r"""The lower bound of agnostic learning by private prediction, measured (dwork2018, Section 2.1).

"In this case the upper bound is much worse than the lower bound of Omega(d/alpha^2 + d/(epsilon alpha))." On laws of d
points with noisy labels (`least_records`) the least n is exact, over each of alpha, epsilon and d (`over`) through one
point of all three. Everything is replace-one; no record is drawn. Metric `records`, by `form`:

    approximate   least of any private bit, delta = epsilon/3, the most that Theorem 2.2 speaks of
    pure          least of any private bit, delta = 0
    majority      least without privacy
    counts        needed by the exponential mechanism on label counts, which is a private prediction of every function
                  on d points: what the bound can at best be met by
    promised      by Corollary 4.7's reduction (mended, D8; confidence 11/12): ceil(2/(alpha epsilon)) shards of
                  2 (d log 2 + log(2/beta'))/(alpha/2)^2 records, beta' = alpha beta epsilon/2: enough for the best of
                  the 2^d functions to be found within alpha/2 (Hoeffding's inequality and a union bound)

`bound` is (d/alpha^2 + d/(epsilon alpha))/640. Metric `ratio` is records over d/alpha^2 + d/(epsilon alpha), metric
`gap` what is promised over the least n at delta = 0. Metric `excess`, above 0 where the bound fails: log of `bound`
over the least n of a private bit (forms approximate, pure), and of the least n at delta = 0 over what is promised and
over what the counts need.

**640.** Omega leaves its constant open. Theorem 4.3 proves d/(32 epsilon alpha), and without privacy excess alpha with
confidence 63/64 needs d/(320 alpha^2) (Anthony & Bartlett 1999, Theorem 5.2); the larger of two is at least half of
their sum, which is (d/alpha^2 + d/(epsilon alpha))/640 or more.

References
----------
dwork2018, Section 2.1, Theorem 2.2, Corollary 4.7; errata D8; Shalev-Shwartz & Ben-David 2014, Corollary 4.6.
"""

import math

from dperm.domain import Budget
from dperm.mechanisms.prediction import averaged
from dperm_papers.dwork2018.agnostic import least_records
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

_BETA = 1 / 12
# What the bound is divided by.
CONSTANT = 640
# Form -> delta over epsilon.
_DELTAS = {"approximate": 1 / 3, "pure": 0.0}


def run(cell: Cell, rows: Rows) -> None:
    """Measure all three axes."""
    cell.parts()
    settings = cell.settings
    centre = {"alpha": settings.alpha, "epsilon": settings.epsilon, "d": settings.dimension}
    axes = {"alpha": settings.alphas, "epsilon": settings.epsilons, "d": settings.dimensions}
    for over, values in axes.items():
        for value in values:
            _at(rows.at(over=over, dataset="noisy-points", guarantee="none"), **{**centre, over: value})


def rate(d: int, alpha: float, epsilon: float) -> float:
    """Return d/alpha^2 + d/(epsilon alpha): the bound with the constant 1."""
    return d / alpha**2 + d / (epsilon * alpha)


def promised(d: int, alpha: float, epsilon: float) -> int:
    """Return n of Corollary 4.7 for the class of all functions on d points."""
    r = averaged.shards_needed(alpha, epsilon, "corrected")
    beta = alpha * _BETA * epsilon / 2
    return r * math.ceil(2 * (d * math.log(2) + math.log(2 / beta)) / (alpha / 2) ** 2)


def _at(rows: Rows, alpha: float, epsilon: float, d: int) -> None:
    """Measure one point."""
    whole = rate(d, alpha, epsilon)
    needed = {form: least_records.private(Budget(epsilon, share * epsilon)) for form, share in _DELTAS.items()}
    needed |= {"majority": least_records.majority, "counts": least_records.counts(epsilon)}
    found = {form: least_records.records(d, alpha, bit) for form, bit in needed.items()}
    found["promised"] = promised(d, alpha, epsilon)
    here = rows.at(alpha=alpha, epsilon=epsilon, d=d, bound=whole / CONSTANT)
    for form, n in found.items():
        delta = _DELTAS.get(form, 0.0) * epsilon
        here.add("records", n, form=form, delta=delta)
        here.add("ratio", n / whole, form=form, delta=delta)
    here.add("gap", found["promised"] / found["pure"], form="promised", delta=0.0)
    for form, share in _DELTAS.items():
        here.add("excess", math.log(whole / CONSTANT / found[form]), form=form, delta=share * epsilon)
    for form in ("promised", "counts"):
        here.add("excess", math.log(found["pure"] / found[form]), form=form, delta=0.0)
