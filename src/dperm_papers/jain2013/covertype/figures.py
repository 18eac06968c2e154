"""Figures and tables of jain2013-covertype: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

FIGURES: Catalogue[str, Target] = {
    "jain2013-fig2a": Target(
        "dperm_papers.jain2013.shared.drawing_accuracy",
        "fig2a",
        ("variant", "penalty", "total", "queries", "scaling"),
        "Figure 2a: accuracy on Covertype",
        "Test accuracy with the cubic kernel on Covertype or what stands in for it: over epsilon, at the printed C and "
        "at the printed n C; over the number T of public points; and without privacy by the scaling of the features. "
        "TDDL with three calibrations and with the bare O(.) (not private), the Gaussian comparators that need no "
        "public points, and without privacy the machine, LibSVM with its bias, and the majority. Bands: 95 % "
        "confidence intervals over splits.",
        "Curves that rise from chance, at small epsilon, to the line of the machine without privacy.",
        metrics=("accuracy", "accuracy_one"),
    ),
}
