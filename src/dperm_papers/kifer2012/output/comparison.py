"""What of kifer2012-output may be compared at an equal budget."""

from dperm_papers.kifer2012.shared import drawing_looks
from dperm_pipeline.figures.comparison import ONE_SPLIT, Comparison, Metric, Reference

COMPARISON = Comparison(
    title="a linear model",
    metrics={
        "test_error": Metric("misclassified test rows"),
        "test_loss": Metric("loss per test row"),
        "excess_risk": Metric("excess risk per training row"),
    },
    unit=ONE_SPLIT,
    fixed="each method's setting (added curvature; steps and clipping) is the best on public rows, by one rule for "
    "all methods; neither private nor test rows had a part in it",
    public="a fifth of the training rows, in which no method is trained; the bounds on a record",
    filters=(("chosen", "==", True),),
    references=(Reference("without privacy", {"variant": ""}),),
    warnings={"hadamard": "a design made by a formula, with labels drawn from a logistic model"},
    rank=0,
    named=drawing_looks.look,
    datasets=("adult", "breast-cancer", "digits", "diabetes", "hadamard"),
)
