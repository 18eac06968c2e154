"""Figures and tables of jain2013-fourier: what they show, and in words."""

from dperm_papers.jain2013.shared.drawing_looks import look
from dperm_pipeline.figures.looks import NONPRIVATE
from dperm_pipeline.figures.spec import DASHED, DOTTED, Figure, Level, Panel, encoded
from dperm_pipeline.target import Catalogue, Target

# Pure privacy is dashed, as everywhere.
_METHODS = encoded(
    "mechanism calibration variant",
    {
        ("tddl", "paper", ""): look("tddl", "paper"),
        ("tddl", "tight", ""): look("tddl", "tight"),
        ("random_features", "paper", "gamma_objective"): ("CMS11, Algorithm 3 (δ = 0)", "#56B4E9", "P", DASHED),
        ("random_features", "paper", "laplace_output"): ("Rubinstein et al. (δ = 0)", "#E69F00", "D", DASHED),
        ("random_features", "tight", "gaussian_objective"): ("Gaussian objective perturbation", "#0072B2", "o"),
        ("random_features", "tight", "gaussian_output"): ("Gaussian output perturbation", "#009E73", "^"),
    },
    statistic="mean",
    band=0.15,
    key={"ms": 3.2},
)


def _level(variant, metric, words, dashes):
    where = {"variant": variant, "metric": metric}
    more = {"lw": 0.9, "zorder": 1.8}
    return Level(lambda rows: rows["value"].mean(), words, NONPRIVATE.colour, dashes, where, more)


_ACCURACY = [
    _level("machine", "accuracy", "the same machine (not private)", "-"),
    _level("majority", "accuracy", "majority of the training labels", DOTTED),
]


def _most_features(features):
    # Without privacy there are none.
    return (features == 0) | (features == features.max())


def _over_features(ylabel, metrics, **more):
    return Panel(
        _METHODS, "features", ylabel, "{epsilon.min}", {"metric": metrics}, xlabel="p, random features",
        prepare=lambda rows: rows[(rows["epsilon"] == rows["epsilon"].min()) | (rows["metric"] == "length")],
        xticks=lambda rows: sorted(rows.loc[rows["mechanism"] != "nonprivate", "features"].unique()),
        more={"ms": 3.2, "zorder": 3}, **more,
    )  # fmt: skip


def _apart_notes(rows):
    apart = rows[rows["metric"] == "apart"].groupby("features")["value"].mean()
    return (
        f"A product of features is off the kernel by {apart.iloc[0]:.2g} in the mean at p = {apart.index[0]:,} and by "
        f"{apart.iloc[-1]:.2g} at p = {apart.index[-1]:,}. The kernels of Figure 2 are not translation-invariant "
        "and have no such features."
    )


fourier = Figure(
    [
        [
            Panel(
                _METHODS, "epsilon", "test accuracy", lambda rows: f"p = {int(rows['features'].max()):,}",
                {"metric": "accuracy", "features": _most_features}, _ACCURACY, epsilons=True,
                xticks=lambda rows: sorted(rows.loc[rows["mechanism"] != "nonprivate", "epsilon"].unique()),
                more={"ms": 3.2, "zorder": 3},
            ),
            _over_features("", "accuracy"),
            _over_features(
                "mean |ŵ − w*| of a prediction", ("error", "length"),
                levels=[_level("machine", "length", "answering 0", DASHED)],
            ),
        ]
    ],
    height=4.2,
    notes=lambda rows: [
        "Data: {dataset.first}, rows of length 1, {repeat.count:mechanism=tddl} splits with several draws of noise "
        "each; bands: 95 % intervals over splits. Gaussian kernel on p random Fourier features, nλ of the printed "
        "C = 0.001; replace-one neighbours, {delta.max} where it is not 0.",
        _apart_notes(rows),
    ],
)  # fmt: skip


FIGURES: Catalogue[str, Target] = {
    "jain2013-fourier": Target(
        "Figure 2a with the Gaussian kernel: TDDL beside random Fourier features",
        "Test accuracy over epsilon at the most random features, and over their number p at the smallest epsilon; and "
        "how far predictions are from those without privacy, over p: TDDL printed and tight, the methods of CMS11 and "
        "of Rubinstein et al. as printed (pure privacy), and Gaussian noise on the same features. Bands: 95 % "
        "confidence intervals over splits.",
        "Three panels. Left, curves rise with epsilon to the line of the machine without privacy. Right, on "
        "logarithmic axes, the errors of the two printed methods rise with p in parallel, those of TDDL and of "
        "Gaussian noise are level.",
        metrics=("accuracy", "error", "length", "apart"),
    ),
}
