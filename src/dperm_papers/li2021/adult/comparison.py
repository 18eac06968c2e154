"""What of li2021-adult may be compared at an equal budget."""

from dperm_papers.li2021.shared import drawing_looks
from dperm_pipeline.figures.comparison import ONE_SPLIT, Choice, Comparison, Metric, Reference

COMPARISON = Comparison(
    title="sparse logistic regression",
    metrics={"error": Metric("misclassified test rows")},
    unit=ONE_SPLIT,
    fixed="r = 1/2; Λ is not chosen by anything: every value was run",
    public="the bounds on a record",
    choices=(Choice("strength", "Λ"),),
    references=(Reference("lasso without privacy", {"variant": "lasso"}, by=("strength",)),),
    warnings={"breast-cancer": "stands in for Adult in this experiment"},
    rank=2,
    named=drawing_looks.napp,
    datasets=("adult", "breast-cancer"),
)
