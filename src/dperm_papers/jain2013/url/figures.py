"""Figures and tables of jain2013-url: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

FIGURES: Catalogue[str, Target] = {
    "jain2013-url": Target(
        "dperm_papers.jain2013.shared.drawing_accuracy",
        "url",
        ("variant", "penalty", "total", "queries"),
        "Accuracy on URL Reputation",
        "Test accuracy with the linear kernel in 3,231,961 dimensions, a column for each n lambda: above over epsilon, "
        "below over the number T of public points at two epsilons. The methods are those of Figure 2a. Bands: 95 % "
        "confidence intervals over splits.",
        "Curves that rise from chance, at small epsilon, to the line of the machine without privacy.",
        metrics=("accuracy", "accuracy_one"),
    ),
}
