"""Figures and tables of jain2013, by name."""

from dperm.catalogue import Catalogue
from dperm.figures.target import Target

FIGURES: Catalogue[str, Target] = {
    "jain2013-fig2b": Target(
        "dperm.figures.jain2013.kdd",
        "fig2b",
        ("variant", "total", "headline"),
        "Figure 2b: regression error on KDD Cup 2010 algebra",
        "Root mean square error on test rows over epsilon, a column for each n lambda: TDDL with three calibrations, "
        "CMS11 (pure), Gaussian objective and output perturbation, and without privacy least squares, zero and the "
        "mean. Below, the same as multiples of least squares. Bands: 95 % confidence intervals over splits.",
        "Line plots on logarithmic axes; CMS11 lies above all others, mostly by decades, and these meet the line of "
        "least squares only where n lambda or epsilon is large.",
        metrics=("error",),
    ),
    "jain2013-stability": Target(
        "dperm.figures.jain2013.stability",
        "stability",
        ("row", "form", "loss", "kernel", "n", "curvature"),
        "Equation (3): how far one record moves the minimiser",
        "Distance of the minimisers, and of their predictions, on pairs of data sets that differ in one record, in "
        "units of equation (3)'s bounds, over n and lambda, for three losses and three kernels: the largest of random "
        "pairs, a flipped label, and LibSVM with its bias, for which no such bound holds.",
        "Two rows of three panels: filled markers below the line at 1, diamonds on it, and crosses of LibSVM up to a "
        "thousand times above it in the lower row.",
        metrics=("excess",),
    ),
    "jain2013-thm3": Target(
        "dperm.figures.jain2013.thm3",
        "thm3",
        ("fixed", "n", "total", "queries", "radius", "bound", "vacuous", "gamma"),
        "Theorem 3: error of private interactive prediction",
        "Largest error of PINP as printed, corrected and tight, of one sample path of Gaussian noise and of the answer "
        "0 over the number of queries, n lambda and C, and PINP's B and sigma. w* is fixed; noise depends on n only "
        "through the nominal n lambda. Bands: 95 % confidence intervals.",
        "Six panels on logarithmic axes: the printed algorithm close to the answer 0 until n lambda is in the "
        "millions, the corrected and tight ones below it, and the Gaussian path orders of magnitude below all.",
        metrics=("error", "allowed", "threshold", "halted"),
    ),
    "jain2013-queries": Target(
        "dperm.figures.jain2013.queries",
        "queries",
        ("variant", "n", "curvature", "total", "vacuous", "gamma"),
        "Section 2: how many queries can be answered",
        "Largest error over n cubed queries by one sample path of Gaussian noise, by fresh noise for each query and by "
        "PINP, over n; and the logarithm of the most queries that PINP promises to answer. w* is fixed; n lambda is "
        "nominal. Bands: 95 % confidence intervals.",
        "Three panels on logarithmic axes: the line of the Gaussian path falls and that of fresh noise rises; log T "
        "rises along slopes of 2/3 as printed and of 1 corrected.",
        metrics=("error", "supremum", "log_queries"),
    ),
    "jain2013-thm5": Target(
        "dperm.figures.jain2013.thm5",
        "thm5",
        ("variant", "series", "total", "queries", "d", "curvature", "n", "radius", "bound", "vacuous", "own_queries"),
        "Theorem 5, Theorem 13 and Corollary 6: error of the test data dependent learner",
        "Mean difference between the private and the exact prediction on fresh points over n lambda, n, T and the "
        "dimension d, for points in ten directions and for decaying ones; the constant that Theorem 5's bound would "
        "need; and the error of TDDL fitted to PINP's answers. w* is fixed. Bands: 95 % confidence intervals.",
        "Six panels on logarithmic axes; over d the lines of TDDL are flat and that of CMS11 rises to the trivial one.",
        metrics=("error",),
    ),
    "jain2013-thm12": Target(
        "dperm.figures.jain2013.thm12",
        "thm12",
        ("form", "queries", "d", "bound"),
        "Theorem 12: uniform deviation of means over public points",
        "Exact supremum over the unit ball of the difference between a mean over T points and its expectation, over T "
        "and over the dimension, beside the bound with constant 1. Markers: 95 % quantiles; bars: from the median to "
        "the largest repeat.",
        "Two panels on logarithmic axes; all markers lie below the dashed line of the bound, parallel to it over T.",
        metrics=("deviation",),
    ),
    "jain2013-fig2a": Target(
        "dperm.figures.jain2013.accuracy",
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
    "jain2013-url": Target(
        "dperm.figures.jain2013.accuracy",
        "url",
        ("variant", "penalty", "total", "queries"),
        "Accuracy on URL Reputation",
        "Test accuracy with the linear kernel in 3,231,961 dimensions, a column for each n lambda: above over epsilon, "
        "below over the number T of public points at two epsilons. The methods are those of Figure 2a. Bands: 95 % "
        "confidence intervals over splits.",
        "Curves that rise from chance, at small epsilon, to the line of the machine without privacy.",
        metrics=("accuracy", "accuracy_one"),
    ),
    "jain2013-thm8": Target(
        "dperm.figures.jain2013.thm8",
        "thm8",
        ("series", "total", "d", "degree", "bound_reread", "vacuous"),
        "Theorem 8: error of the test data independent learner over the input ball",
        "Largest error over the unit ball, over n lambda and the dimension d, beside Gaussian output and CMS11; the "
        "n lambda and the d at which it is 0.1 and half of the norm of w*; polynomial kernels; and the points of a net "
        "beside the proposals of the exact sampler. w* is fixed. Bands: 95 % confidence intervals.",
        "Six panels on logarithmic axes; the lines of TDIL lie above those of Gaussian output and CMS11 nearly "
        "everywhere.",
        metrics=("error", "needed", "crossing", "net_digits", "proposals"),
    ),
    "jain2013-noise": Target(
        "dperm.figures.jain2013.noise",
        "noise",
        ("series", "variant", "total", "queries", "d", "radius", "vacuous"),
        "Noise of one prediction",
        "Standard deviation of one prediction over the number T of queries or public points, and over epsilon, at the "
        "constants of Section 7: TDDL and PINP with three calibrations, the Gaussian comparators, fresh noise "
        "composed, CMS11 in the explicit feature space, and the bare O(.) (not private). Lines are formulas, markers "
        "what was drawn from the mechanisms.",
        "Three panels on logarithmic axes; over T the lines of TDDL as printed and corrected rise with slope 1/2, "
        "those of the tight calibration and of the Gaussian comparators are flat and lowest.",
        metrics=("sd", "sd_measured"),
    ),
    "jain2013-fig1": Target(
        "dperm.figures.jain2013.fig1",
        "fig1",
        ("series", "total", "queries", "d", "radius", "vacuous"),
        "Figure 1: three models",
        "Who sees what in the interactive, the semi-interactive and the non-interactive model: the dataset and the "
        "learner are trusted, the user is not. Below each, the constants of its algorithm as printed.",
        "Three schematics side by side, each with boxes for dataset, trusted learner and user; arrows show what is "
        "private, what is released and what is public, and a dashed line lies between the learner and the user.",
        metrics=("rounds", "threshold", "own_queries", "net_digits"),
    ),
}
TABLES: Catalogue[str, Target] = {
    "jain2013-constants": Target(
        "dperm.figures.jain2013.constants",
        "constants_table",
        ("series", "variant", "total", "queries", "d", "n", "vacuous"),
        "Constants of Algorithms 1 to 3 and of Theorem 5",
        "B, epsilon0 and sigma (of TDDL nu, tight: sigma) as printed, corrected and tight, the size of the printed net "
        "and the T of Theorem 5 on the theory grid (R = L = C = lambda = 1). Vacuous: B < 1 or sigma at least C R/2. "
        "Below: the exact checks, each with the largest excess of what is measured over what is allowed.",
        metrics=("rounds", "epsilon0", "threshold", "own_queries", "net_digits", "excess", "evaluations", "work"),
    ),
}
