r"""Test error of what the library has for more than two classes, with nothing set (ours, no paper's).

Rows and what a model is told: as in `dperm_papers.frontier.linear.experiment`, with k labels.

    method                    a release of
    gradient, preconditioned  the estimator of that name with the multinomial loss, one gradient a record
    output_rest               PrivateOneVsRest over OutputPerturbation: k models within one budget
    objective_rest            PrivateOneVsRest over ObjectivePerturbation
    soft_majority             SoftMajority, whose (epsilon, delta) pays for `labels` answers together, not for a model:
                              its error is that of the first `labels` test rows. Under replace-one alone: where n is
                              private its default asks for more shards than there are records. Its many fits take
                              minutes where there are more than `committee_rows` rows, which are left out
    gradient_free             as in frontier-linear
    nonprivate                multinomial regression (variant multinomial), the most frequent label (variant majority)
"""

import functools
from collections.abc import Iterable

from sklearn.linear_model import LogisticRegression

from dperm.mechanisms.estimators.gradient import NoisyGradientDescent
from dperm.mechanisms.estimators.objective import ObjectivePerturbation
from dperm.mechanisms.estimators.one_vs_rest import PrivateOneVsRest
from dperm.mechanisms.estimators.output import OutputPerturbation
from dperm.mechanisms.estimators.preconditioned import PreconditionedGradientDescent
from dperm.mechanisms.estimators.soft_majority import SoftMajority
from dperm_papers.frontier.shared.fits import Method, add_references, majority, measure, tuned_for_free
from dperm_papers.frontier.shared.splits import splits
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

# The law of these releases is attacked under this name (config/audits.yaml).
_REST = "called-one_vs_rest"


def _one_vs_rest(kind, *, neighbours, **given):
    return PrivateOneVsRest(kind(neighbours=neighbours, clip=True), **given)


DEFAULTS = (
    Method("gradient", "gradient", functools.partial(NoisyGradientDescent, clip=True)),
    Method("preconditioned", "preconditioned", functools.partial(PreconditionedGradientDescent, clip=True)),
    Method("output_rest", "output", functools.partial(_one_vs_rest, OutputPerturbation), pure=True, variant=_REST),
    Method("objective_rest", "objective", functools.partial(_one_vs_rest, ObjectivePerturbation), pure=True,
           variant=_REST),
)  # fmt: skip


def baseline(cell: Cell, rows: Rows) -> None:
    """Measure the error of multinomial regression without privacy and of the most frequent training label."""
    plain, most = [], []
    for split in splits(cell):
        model = LogisticRegression(C=1 / cell.settings.ridge, fit_intercept=False, max_iter=1000)
        plain.append(split.error(model.fit(split.X, split.y).predict(split.Q)))
        most.append(majority(split))
    add_references(rows, "multinomial", plain, most)


def run(cell: Cell, rows: Rows) -> None:
    """Measure the error of every method under one relation, on every split, at every epsilon and delta."""
    labels = tuple(range(int(cell.data.bounds.y_bound) + 1))
    measure(cell, rows, labels, lambda n: _methods(cell, n))


def _methods(cell: Cell, n: int) -> Iterable[Method]:
    settings = cell.settings
    yield from DEFAULTS
    if n <= settings.committee_rows:
        make = functools.partial(SoftMajority, queries=settings.labels, clip=True)
        own = {"relations": ("replace",), "tuned": True, "most": settings.labels}
        yield Method("soft_majority", "soft_majority", make, **own)
    yield from tuned_for_free(settings, n)
