"""Figures and tables of kifer2012, by name."""

from dperm.catalogue import Catalogue
from dperm.figures.target import Target

# What kifer2012-output tells its settings apart by.
_SETTINGS = ("candidate", "ridge_multiple", "steps", "clip", "chosen")

FIGURES: Catalogue[str, Target] = {
    "kifer2012-output": Target(
        "dperm.figures.kifer2012.output",
        "output",
        _SETTINGS,
        "Objective against output perturbation",
        "Excess risk on the private training rows and loss on held-out rows over epsilon, for objective and output "
        "perturbation, CMS11's objective perturbation, approximate minima perturbation and noisy gradient descent, at "
        "equal (epsilon, delta) under add/remove. Each method uses the setting that was chosen for it on a public "
        "split. Bands: 95 % confidence intervals of the mean.",
        "Line plots, one column for each data set, one row for each delta: above excess risk, below test loss, both "
        "falling as epsilon grows; one line for each method, and the non-private test loss as a level. The numbers are "
        "in the table kifer2012-output.",
    ),
    "kifer2012-output-sweep": Target(
        "dperm.figures.kifer2012.output",
        "output_sweep",
        _SETTINGS,
        "Objective against output perturbation: excess risk of every setting",
        "What the choice of a setting does: excess risk over epsilon for every ridge multiple, and for every number of "
        "steps and clipping norm of gradient descent, that was tried; one row of panels for each method. Rings mark "
        "the setting chosen on the public split. Bands: 95 % confidence intervals of the mean.",
        "Line plots, one column for each data set and one row for each method; one line for each setting and noise; "
        "rings on the settings that were chosen.",
    ),
    "kifer2012-output-sweep-test": Target(
        "dperm.figures.kifer2012.output",
        "output_sweep_test",
        _SETTINGS,
        "Objective against output perturbation: test loss of every setting",
        "What the choice of a setting does to the loss on test rows, which have no part in it: every ridge multiple, "
        "and every number of steps and clipping norm of gradient descent, that was tried; one row of panels for each "
        "method. Rings mark the setting chosen on the public split. Bands: 95 % confidence intervals of the mean.",
        "Line plots, one column for each data set and one row for each method; one line for each setting and noise; "
        "rings on the settings that were chosen, and the non-private test loss as a level.",
    ),
    "kifer2012-lasso": Target(
        "dperm.figures.kifer2012.lasso",
        "lasso",
        ("l1_share",),
        "Lasso under objective perturbation on real data",
        "Test error relative to a prediction of the mean, number of coefficients that are not 0, and their overlap "
        "with those of the non-private lasso over epsilon, for every l1 strength that was tried, with the noise of "
        "pure privacy and with Gaussian noise. Dotted: the non-private lasso. Bands: 95 % confidence intervals of "
        "the mean.",
        "Line plots, one column for each data set and noise: test error falls to the non-private level as epsilon "
        "grows, the support shrinks from nearly all coefficients to the non-private size, the overlap rises to 1. The "
        "numbers are in the table kifer2012-lasso.",
    ),
    "kifer2012-table1": Target(
        "dperm.figures.kifer2012.table1",
        "table1",
        ("p", "n", "row", "sizing", "gamma"),
        "Table 1: excess risk over p and n",
        "Excess empirical risk of private linear regression over the number of features p and of records n, for the "
        "three rows of Table 1, on the design that attains Theorem 4, on a benign one and on records that are really "
        "drawn. Dotted: the slopes that the table states. Dashed: the bounds of Theorems 26 and 31. Third column: the "
        "design that meets Assumption 1, over p at n = 100 p^2.",
        "Line plots on logarithmic axes, one column for each row of Table 1: above over p, below over n; one line for "
        "each design and calibration, the stated slope and the bound. The numbers are in the table kifer2012-table1.",
    ),
    "kifer2012-table2": Target(
        "dperm.figures.kifer2012.table2",
        "table2",
        ("p", "n", "s", "ratio", "row", "support", "noise", "divisor", "magnitude"),
        "Table 2: records that support selection needs",
        "How many records Exp-mech and Samp-Agg need to find the right support with probability 0.9, against the laws "
        "of Table 2; the work that they do; the risk of the two-stage estimators, and of the non-private lasso, along "
        "n in units of those laws; and two designs on which one selection beats the other.",
        "Six panels on logarithmic axes: the probability of the right support over n; the n at which it is 0.9 against "
        "s³ log p and s² log² p, with dotted lines for the laws; work over p; risk over n, falling but for "
        "Samp-Agg as printed, which levels off; risk on two designs. The "
        "numbers are in the table kifer2012-table2.",
    ),
    "kifer2012-example1": Target(
        "dperm.figures.kifer2012.example1",
        "example1",
        ("row", "loss", "target", "direction", "at", "index"),
        "Example 1: a limit of private mechanisms",
        "The minimiser with an l1 regularizer, which is 0 with positive probability, and with the regularizer "
        "smoothed, which has a density: distribution functions, what either spends of its budget, and how the smoothed "
        "minimisers converge for every b, beside the rate in the proof of Lemma 18. All numbers are exact.",
        "Three panels: distribution functions that steepen towards a jump at 0; delta over epsilon of the smoothed "
        "mechanisms and of the limit; the largest distance of the minimisers over i, falling below a dotted bound.",
        metrics=("atom", "cdf", "profile", "distance", "bound"),
        datasets=("q1",),
    ),
    "kifer2012-theorem2": Target(
        "dperm.figures.kifer2012.theorem2",
        "theorem2",
        ("variant", "neighbours", "row", "loss", "direction", "ridge_multiple", "at", "pair"),
        "Theorem 2: what Algorithm 1 spends",
        "Exact delta(epsilon) of the worst pair of data sets on the line for Algorithm 1's noise, for the least noise "
        "that is proved enough, and for the printed noise read as replace-one, at every budget promised; below, the "
        "scale of the noise over epsilon. All numbers are exact.",
        "Panels for each budget with falling curves and a cross at the promise: only the printed noise read as "
        "replace-one passes above the cross. Below, lines of the noise's scale over epsilon on logarithmic axes. The "
        "numbers are in the table kifer2012-theorem2.",
    ),
    "kifer2012-bound": Target(
        "dperm.figures.kifer2012.bound",
        "bound",
        ("neighbours", "row", "sign", "ridge_multiple"),
        "The noise that our bound saves",
        "Standard deviation of Gaussian noise in objective perturbation by theorem, over epsilon and over delta: as "
        "printed, by other bounds, and by the theorems of docs/privacy.md, under either relation; and the noise that "
        "the worst pair of data sets on the line needs at least.",
        "Two rows of four panels, add/remove above and replace-one below: the noise over epsilon, and the share of it "
        "that is saved against the printed noise and against other bounds, over epsilon and over delta.",
    ),
    "kifer2012-theorem4": Target(
        "dperm.figures.kifer2012.theorem4",
        "theorem4",
        ("variant", "p", "n", "row", "sizing", "gamma", "quantile", "gram_multiple"),
        "Theorem 4: risk, bounds and the length of the noise",
        "Mean excess risk of private linear regression with gamma and with Gaussian noise over the number of features "
        "p and of records n, on the design that attains Theorem 4 and on a benign one, with the bound of Lemma 3; "
        "quantiles of the noise's length over p with the paper's bounds on it; and the length of objective "
        "perturbation's noise over that of output perturbation. All numbers are exact.",
        "Four panels on logarithmic axes: risk over p and over n, a line for each noise and design, with bounds and "
        "stated slopes; medians and bands of the noise's length over p, longer for gamma noise; a falling curve that "
        "crosses 1 where the eigenvalue of the Gram matrix equals Delta.",
        metrics=("excess_risk", "bound", "noise_ratio", "noise_length", "length_bound"),
    ),
    "kifer2012-gap": Target(
        "dperm.figures.kifer2012.theorem4",
        "gap",
        ("variant", "p", "n", "row", "sizing"),
        "The gap between gamma and Gaussian noise over p",
        "Ratios of mean excess risks over the number of features p: gamma noise to Gaussian noise, on the design that "
        "attains Theorem 4 and on a benign one, and the former design to the latter. Dotted: the growth that the paper "
        "states. Lines are exact; crosses are runs of Algorithm 1 with 95 % confidence intervals.",
        "Two panels on logarithmic axes: ratios that grow with p, beside dotted lines for the square root of p and for "
        "p. The numbers are in the table kifer2012-gap.",
    ),
    "kifer2012-theorem6": Target(
        "dperm.figures.kifer2012.theorem6",
        "theorem6",
        ("p", "s", "n", "gamma"),
        "Theorem 6: support selection by the exponential mechanism",
        "Exp-mech, kifer2012's exponential mechanism over supports, with the printed and with the tight weights: the "
        "probability of the right support and the mean excess risk over the number of records n, the excess that is "
        "exceeded with probability gamma beside Theorem 34's bound, and the growth of the excess in s that Theorem 6 "
        "states.",
        "Four panels: the probability of the right support rising over n, and the mean excess risk falling below its "
        "bound, a line for each weight and design; the excess over gamma beneath its bound; the excess over s on "
        "logarithmic axes beside a line of slope 3.",
    ),
    "kifer2012-theorem8": Target(
        "dperm.figures.kifer2012.theorem8",
        "theorem8",
        ("p", "s", "n", "k", "row"),
        "Theorem 8: support selection by sample and aggregate",
        "Samp-Agg's probability of the right support over the number of blocks k: exactly, and by the bound of "
        "Theorem 8, where all blocks find the right support; and in runs on random signs with k = sqrt(n) blocks.",
        "Line plots over k, a column for each s: probabilities of the right and of the wrong support with a line for "
        "each p, the bound of Theorem 8 dashed and well below the exact recovery; below, runs as markers. The "
        "numbers of blocks that are enough stand in the table kifer2012-theorem8.",
    ),
    "kifer2012-theorem9": Target(
        "dperm.figures.kifer2012.theorem9",
        "theorem9",
        ("p", "n", "s", "row", "support", "gamma", "sizing"),
        "Theorem 9: two-stage risk and its bounds",
        "Excess risk of two-stage sparse regression over n and over p, beside the bounds of Theorems 35 and 44; what "
        "noise adds to it over the sparsity s, beside what Theorem 7 prints and what its own substitution gives; and "
        "the lasso in a single stage, where p = 4n.",
        "Four panels on logarithmic axes: risk over n falling under its bounds; risk over p, flat, under its bounds; "
        "the noise term over s beside lines of slope 1 and 4; the risk of a single stage over that of theta = 0, above "
        "1 at every n.",
    ),
    "kifer2012-theorem29": Target(
        "dperm.figures.kifer2012.theorem29",
        "theorem29",
        ("variant", "p", "n", "row"),
        "Theorem 29: risk on new records",
        "Mean excess risk on new records for a coin that is nearly fair, over the number of records n, with Theorem "
        "29's bound as printed and as mended; and, for p such coins, its ratio to that of the fit without privacy. All "
        "numbers are exact.",
        "Two panels on logarithmic axes: the risk falls like one over the square root of n, slower than the printed "
        "bound; the ratio of private to non-private risk rises with p at small n and stays near 1 at large n, where "
        "the square root of p is stated.",
    ),
    "kifer2012-bounds": Target(
        "dperm.figures.kifer2012.bounds",
        "bounds",
        ("variant", "p", "n", "row", "form", "problem", "ridge_multiple", "variance", "gamma"),
        "Bounds checked over repeats",
        "How near what was measured comes to each bound of the paper, over private fits and random designs; and how "
        "often the bounds that may fail with probability gamma did, at the least favourable point of each. Grey: "
        "where measured and bound are equal, and where a bound fails as often as it may.",
        "Left: for each bound a range of measured over bound on a logarithmic axis for each design, nearly all left "
        "of the line at 1. Right: violation rates at each gamma with confidence intervals, beside a bar at gamma, "
        "which only Theorem 30 as printed passes. The numbers are in the table kifer2012-bounds.",
    ),
}
TABLES: Catalogue[str, Target] = {
    "kifer2012-output": Target(
        "dperm.figures.kifer2012.output",
        "output_table",
        _SETTINGS,
        "Objective against output perturbation",
        "Mean over repeats with its 95 % confidence interval in brackets, each method at the setting chosen on the "
        "public split.",
    ),
    "kifer2012-lasso": Target(
        "dperm.figures.kifer2012.lasso",
        "lasso_table",
        ("l1_share",),
        "Lasso under objective perturbation on real data",
        "Mean over repeats with its 95 % confidence interval in brackets, for every l1 strength that was tried.",
    ),
    "kifer2012-table1": Target(
        "dperm.figures.kifer2012.table1",
        "table1_table",
        ("p", "n", "row", "sizing", "gamma"),
        "Table 1: slopes",
        "Slopes of the mean excess risk on logarithmic axes, beside those that Table 1 states.",
    ),
    "kifer2012-table2": Target(
        "dperm.figures.kifer2012.table2",
        "table2_table",
        ("p", "n", "s", "ratio", "row", "support", "noise"),
        "Table 2: records that support selection needs",
        "n90, the least n at which the right support has probability 0.9, with its 95 % bootstrap interval over data "
        "sets; the same in units of Table 2's law; and the work of a selection there.",
    ),
    "kifer2012-theorem2": Target(
        "dperm.figures.kifer2012.theorem2",
        "theorem2_table",
        ("variant", "neighbours", "row", "loss", "direction", "ridge_multiple", "at", "pair"),
        "Theorem 2: what is spent",
        "The largest share of epsilon that is spent at delta over all budgets, by exact laws, with the pair of data "
        "sets that spends it.",
    ),
    "kifer2012-gap": Target(
        "dperm.figures.kifer2012.theorem4",
        "gap_table",
        ("variant", "p", "n", "row", "sizing"),
        "The gap between gamma and Gaussian noise: slopes",
        "Slopes of the ratios on logarithmic axes beside those that the paper states; exact, so the range of local "
        "slopes stands in the place of an interval.",
    ),
    "kifer2012-theorem8": Target(
        "dperm.figures.kifer2012.theorem8",
        "theorem8_table",
        ("p", "s", "k", "row"),
        "Theorem 8: blocks that are enough",
        "Number of blocks k at which Samp-Agg returns the right support with probability 0.9 if every block finds it: "
        "by the exact law and by Theorem 8's bound, and the k from which on that bound is above 0.",
    ),
    "kifer2012-bounds": Target(
        "dperm.figures.kifer2012.bounds",
        "bounds_table",
        ("variant", "p", "n", "row", "form", "problem", "ridge_multiple", "variance", "gamma"),
        "Bounds checked over repeats",
        "For each bound how often it was checked and violated, the highest violation rate at one point, and the "
        "largest ratio of what was measured to it; of equations the largest difference.",
    ),
}
