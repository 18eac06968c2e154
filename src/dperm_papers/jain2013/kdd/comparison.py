"""What of jain2013-kdd may be compared at an equal budget."""

from dperm_papers.jain2013.shared import drawing_looks
from dperm_pipeline.figures.comparison import Choice, Comparison, Metric, Reference

COMPARISON = Comparison(
    title="linear regression in 2,000,000 dimensions",
    metrics={"error": Metric("root mean square error on test rows")},
    unit="splits, each already the mean over its draws of noise; of a formula every split is drawn anew",
    fixed="nλ to begin with is the one that 5-fold cross-validation of least squares chooses on public rows; the "
    "others were run too",
    public="n, the bounds on a record, and the rows for that cross-validation. TDDL needs T = 300 unlabelled "
    "public points that are no training rows",
    choices=(Choice("total", "nλ", marked="headline"),),
    references=(
        Reference("least squares without privacy", {"variant": "least_squares"}, by=("total",)),
        Reference("mean of the targets", {"variant": "mean"}, trivial=True),
    ),
    warnings={"kdd-like": "a formula stands in for KDD Cup 2010: no number here is its"},
    rank=6,
    named=drawing_looks.look,
)
