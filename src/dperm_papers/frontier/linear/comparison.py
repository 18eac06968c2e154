"""What of frontier-linear may be compared at an equal budget."""

from dperm_papers.frontier.shared import drawing
from dperm_pipeline.figures.comparison import Comparison, Metric, Reference

COMPARISON = Comparison(
    title="the best linear model, nothing set",
    metrics={"error": Metric("misclassified test rows")},
    unit="random splits of the same rows, each with a draw of the noise; the intervals speak of the mean over splits "
    "of these rows, not of another sample",
    fixed="nothing: every estimator at its defaults. Of gradient descent tuned on test rows, which no proof serves, "
    "seven settings were tried",
    public="rows are divided by their own length; under replace-one n",
    references=(
        Reference("logistic regression without privacy", {"variant": "logistic"}),
        Reference("most frequent label", {"variant": "majority"}, trivial=True),
    ),
    extra=("method",),
    rank=-1,
    named=drawing.look,
    code=drawing.CODE,
    datasets=("adult", "covertype", "breast-cancer", "digits"),
)
