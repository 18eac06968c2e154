"""Figures and tables of jain2013-fourier: what they show, and in words."""

from dperm.catalogue import Catalogue
from dperm_papers.jain2013.shared.drawing_looks import look
from dperm_pipeline.figures.looks import NONPRIVATE, equals
from dperm_pipeline.figures.spec import DASHED, DOTTED, Figure, Level, Panel, encoded
from dperm_pipeline.target import Target

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


def _mean(variant, metric):
    def value(rows):
        return rows.loc[(rows["variant"] == variant) & (rows["metric"] == metric), "value"].mean()

    return value


def _level(variant, metric, words, dashes):
    return Level(_mean(variant, metric), words, NONPRIVATE.colour, dashes, more={"lw": 0.9, "zorder": 1.8})


_ACCURACY = [
    _level("machine", "accuracy", "the same machine (not private)", "-"),
    _level("majority", "accuracy", "majority of the training labels", DOTTED),
]
_PANEL = Panel(_METHODS, more={"ms": 3.2, "zorder": 3})


def _panels(rows):
    private = rows[rows["mechanism"] != "nonprivate"]
    most, smallest = int(private["features"].max()), private["epsilon"].min()
    features = sorted(private["features"].unique())
    over = _PANEL.but(
        x="features", xlabel="p, random features", xscale="log", xticks=features, title=equals("ε", smallest)
    )  # fmt: skip
    return [
        [
            _PANEL.but(
                ylabel="test accuracy", title=f"p = {most:,}", epsilons=True,
                xticks=sorted(private["epsilon"].unique()), levels=_ACCURACY,
                where={"metric": "accuracy", "features": (0, most)},
            ),
            over.but(
                ylabel="", where={"metric": "accuracy", "epsilon": smallest},
            ),
            over.but(
                ylabel="mean |ŵ − w*| of a prediction", yscale="log", where={"metric": ("error", "length")},
                prepare=lambda rows: rows[(rows["epsilon"] == smallest) | (rows["metric"] == "length")],
                levels=[_level("machine", "length", "answering 0", DASHED)],
            ),
        ]
    ]  # fmt: skip


def _notes(rows):
    private = rows[rows["mechanism"] != "nonprivate"]
    apart = rows[rows["metric"] == "apart"].groupby("features")["value"].mean()
    yield (
        f"Data: {rows['dataset'].iloc[0]}, rows of length 1, {private['repeat'].nunique()} splits with several draws "
        "of noise each; bands: 95 % intervals over splits. Gaussian kernel on p random Fourier features, nλ of the "
        f"printed C = 0.001; replace-one neighbours, {equals('δ', private['delta'].max())} where it is not 0."
    )
    yield (
        f"A product of features is off the kernel by {apart.iloc[0]:.2g} in the mean at p = {apart.index[0]:,} and by "
        f"{apart.iloc[-1]:.2g} at p = {apart.index[-1]:,}. The kernels of Figure 2 are not translation-invariant "
        "and have no such features."
    )


fourier = Figure(_panels, height=4.2, notes=_notes)


FIGURES: Catalogue[str, Target] = {
    "jain2013-fourier": Target(
        "fourier",
        ("variant", "features"),
        "Figure 2a with the Gaussian kernel: TDDL beside random Fourier features",
        "Where the kernel methods of CMS11 and of Rubinstein et al. apply: test accuracy over epsilon at the most "
        "random features, and over their number p at the smallest epsilon; and how far predictions are from those "
        "without privacy, over p. TDDL printed and tight, both methods as printed (pure privacy), and Gaussian noise "
        "on the same features. Bands: 95 % confidence intervals over splits.",
        "Three panels. Left, curves rise with epsilon to the line of the machine without privacy. Right, on "
        "logarithmic axes, the errors of the two printed methods rise with p in parallel, those of TDDL and of "
        "Gaussian noise are level.",
        metrics=("accuracy", "error", "length", "apart"),
    ),
}
TABLES: Catalogue[str, Target] = {}
