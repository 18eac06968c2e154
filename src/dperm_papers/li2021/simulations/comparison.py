"""What of li2021-simulations may be compared at an equal budget."""

from dperm_papers.li2021.shared import drawing_looks
from dperm_pipeline.figures.comparison import Choice, Comparison, Metric, Reference

# What rows call `error` is the share of wrong labels of the logistic designs, and a logarithm of the others.
_LOG_ERROR = Metric("mean squared error on test rows, geometric mean", log=True)
_SHARE_ERROR = Metric("misclassified test rows")


def _metric(name: str, dataset: str) -> Metric:
    return _SHARE_ERROR if dataset.startswith("logistic") else _LOG_ERROR


def _dataset(name: str) -> str:
    outcome, rows = name.split("-")
    called = outcome.capitalize() if outcome == "poisson" else outcome
    return f"{called} regression, n = {rows} (simulated, Table 4 of li2021)"


COMPARISON = Comparison(
    title="sparse regression on simulated data",
    metrics={"error": Metric("test error")},
    unit="simulated training sets, with one test set a design",
    fixed="r = 1/2; Λ is not chosen by anything: five values along its path are shown, of fifteen that were run",
    public="the bounds on a record; and to the corrected and tight methods, not to the printed ones, a box in one "
    "orthant that holds θ, so the signs of θ",
    # The lasso without privacy needs no bounds.
    filters=(("step", "in", [0, 3, 6, 9, 12]), ("zeta", "in", ["range", ""])),
    extra=("target",),
    choices=(Choice("strength", "Λ", first="middle"),),
    references=(Reference("lasso without privacy", {"variant": "lasso"}, by=("strength",), metric="error_mean"),),
    rank=7,
    dataset_of=_dataset,
    metric_of=_metric,
    named=drawing_looks.napp,
)
