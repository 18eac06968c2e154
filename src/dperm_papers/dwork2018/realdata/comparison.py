"""What of dwork2018-realdata may be compared at an equal budget."""

from dperm_papers.dwork2018.shared import drawing_looks
from dperm_pipeline.figures.comparison import Choice, Comparison, Metric, Reference

COMPARISON = Comparison(
    title="labels for m queries, or a model",
    metrics={"error": Metric("probability of a wrong answer")},
    unit="random splits of the same rows; within a split the error of an answer is exact over its noise, that of a "
    "model the mean of its draws; the intervals speak of the mean over splits of these rows, not of another sample",
    fixed="R = 5, ridge 0.01, and the number of shards by the printed rule (at least 20 records a shard)",
    public="the bound on a record, n, and which feature ExpPW looks at. All answers together spend the budget; "
    "objective perturbation releases a model, which answers any number of queries",
    filters=(("series", "in", ["", "epsilon", "queries"]),),
    # One query stands in both series.
    keep=lambda rows: (rows["series"] != "queries") | (rows["queries"] != 1),
    choices=(Choice("queries", "queries answered", first=1, free=True),),
    references=(
        Reference("logistic regression without privacy", {"variant": "logistic"}),
        Reference("majority class", {"variant": "majority"}, trivial=True),
    ),
    rank=1,
    named=drawing_looks.look,
    datasets=("adult", "breast-cancer", "covertype"),
)
