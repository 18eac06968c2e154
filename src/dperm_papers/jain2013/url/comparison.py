"""What of jain2013-url may be compared at an equal budget."""

from dperm_papers.jain2013.shared import drawing_looks
from dperm_pipeline.figures.comparison import SPLITS, Choice, Comparison, Metric, Reference

COMPARISON = Comparison(
    title="a linear machine in 3,231,961 dimensions",
    metrics={"accuracy": Metric("accuracy on test rows", lower=False)},
    unit=SPLITS,
    fixed="the linear kernel, rows of length 1; nλ is not chosen by anything: every value was run",
    public="n, and the scaling. The RKHS Gaussian answers the first test rows only. TDDL needs T "
    "unlabelled public points, no training rows.",
    choices=(Choice("penalty", "nλ"), Choice("queries", "T, public points", first=300, free=True)),
    references=(
        Reference("support vector machine without privacy", {"variant": "svm"}, by=("penalty",)),
        Reference("majority class", {"variant": "majority"}, trivial=True),
    ),
    warnings={
        "url-5700": "not a utility figure: the days of these rows are unknown, and their classes partly balanced "
        "by hand"
    },
    rank=5,
    named=drawing_looks.look,
)
