"""What of kifer2012-lasso may be compared at an equal budget."""

from dperm_pipeline.figures.comparison import ONE_SPLIT, Choice, Comparison, Metric, Reference

COMPARISON = Comparison(
    title="sparse linear regression",
    metrics={
        "relative_error": Metric("squared test error / variance of the targets"),
        "overlap": Metric("overlap with the support without privacy", lower=False),
    },
    unit=ONE_SPLIT,
    fixed="F is the box of side 2, ridge 0.01; Λ is not chosen by anything: every value was run",
    public="the bounds on a record; a fifth of the training rows, of which the size of the sample alone is used",
    choices=(Choice("l1_share", "Λ / n′"),),
    references=(Reference("lasso without privacy", {"variant": ""}, by=("l1_share",)),),
    rank=3,
    datasets=("adult", "breast-cancer", "digits", "diabetes", "hadamard"),
)
