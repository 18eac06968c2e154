"""Figures and tables of dwork2018, by name."""

from dperm.catalogue import Catalogue
from dperm.figures.target import Target

FIGURES: Catalogue[str, Target] = {
    "dwork2018-averaging": Target(
        "dperm.figures.dwork2018.averaging",
        "averaging",
        ("variant", "series", "form", "alpha", "beta", "n", "r"),
        "Section 4.3: averaging for agnostic learning",
        "Mean excess error of thresholds where a fifth of the labels is wrong, over the number r of shards of fixed "
        "data: of a shard and of the average without privacy, and with noise as printed and tight, beside the bound of "
        "the noise; and over 1/alpha the records that Corollary 4.7 promises to suffice, as printed, mended and with "
        "tight noise, and those that are needed. A column for each epsilon; all values are exact.",
        "Four panels on logarithmic axes: with noise the error first falls with r, then rises along the line of the "
        "mean shard; the records needed lie orders of magnitude below those promised.",
        metrics=("mean_excess", "promised", "needed"),
    ),
    "dwork2018-beyond": Target(
        "dperm.figures.dwork2018.beyond",
        "beyond",
        ("form", "variant", "alpha", "flip", "n", "k", "log_domain"),
        "Section 2.2: beyond aggregation",
        "Records that ExpPW needs and is promised to need over 1/alpha, beside averages of thresholds with the best "
        "number of shards, for two epsilons; over the size N of the domain, beside the exponential mechanism over "
        "thresholds, a private model; and over the number k of ends of a union of intervals. All values are exact.",
        "Four panels: over 1/alpha the lines of averaging start below those of ExpPW and rise more steeply across "
        "them; over log N the line of ExpPW is flat and that of the private model is a rising line that crosses it; "
        "over k the lines rise with slope near 1.",
        metrics=("needed", "promised"),
    ),
    "dwork2018-exppw": Target(
        "dperm.figures.dwork2018.exppw",
        "exppw",
        ("series", "variant", "form", "kind", "k", "flip", "n", "alpha", "bound", "domain", "share"),
        "Section 5: the exponential projected walk",
        "Error of ExpPW above the best union of intervals: on the sample itself, in units of Lemma 5.2's bound, over "
        "T; on N points that share all records, with ties sorted as printed and lifted; and on fresh points, in units "
        "of alpha, over n beside Theorem 5.3, for each epsilon, alpha and k. Errors are exact given the sample. Bars: "
        "95 % confidence intervals.",
        "Two panels and two more for each alpha: all curves of the walk lie below the bound, that of Section 2.2's "
        "text above it; with ties, the sorted walk is far above the bound unless the points are many; over n the "
        "curves fall in parallel.",
        metrics=("ratio", "scaled", "error", "allowed"),
    ),
    "dwork2018-dimension": Target(
        "dperm.figures.dwork2018.dimension",
        "dimension",
        ("p", "n", "alpha"),
        "Sections 2.1 and 7: the dimension, and what aggregation costs",
        "The least number of records at which the mean excess is at most 0.1, at the worst mean, over the dimension "
        "p, for private answers of stable ERM and for private models (objective perturbation, gamma and Gaussian "
        "noise), on a linear loss; and the excess of stable ERM over n beside that of averaging at its best number of "
        "shards.",
        "Two panels with flat lines of stable ERM and rising ones of objective perturbation, with slopes 1 and 1/2; in "
        "a third the line of averaging falls less steeply than that of stable ERM.",
        metrics=("n_star", "promised", "excess"),
    ),
    "dwork2018-free": Target(
        "dperm.figures.dwork2018.free",
        "free",
        ("variant", "series", "n", "scaled"),
        "Section 4.4: privacy for free",
        "What the noise of one private prediction costs over what having only n records costs, along epsilon n^(1/4), "
        "for stable gradient descent with half the step on two laws; and the epsilon at which both cost the same, over "
        "n, beside the epsilon at which the terms of Corollary 4.13 are equal. All values are exact.",
        "Three panels on logarithmic axes: the curves of the hard law fall together and cross 1 at one place, those of "
        "the strongly convex one spread; over n the first crossing falls with slope -1/4, the second is flat.",
        metrics=("ratio", "crossing"),
    ),
    "dwork2018-generalization": Target(
        "dperm.figures.dwork2018.generalization",
        "generalization",
        ("series", "variant", "k", "n", "gamma"),
        "Section 6: generalization from private prediction",
        "How much larger the k-th moment of the loss is on a fresh sample than on the data themselves, over epsilon, "
        "for the membership mechanism and ExpPW, beside Lemma 6.4 and what a private model allows; and the loss on a "
        "fresh sample that is exceeded with probability beta, beside Lemma 6.5 as printed and with integer k. Band: "
        "95 % confidence interval.",
        "Two panels on logarithmic axes: on the left all markers lie on or below the lower of the lines of their "
        "colour, on the right the printed bound falls below the membership mechanism as beta comes near 1.",
        metrics=("log_ratio", "ratio", "factor"),
    ),
    "dwork2018-queries": Target(
        "dperm.figures.dwork2018.queries",
        "queries",
        ("series", "variant", "accountant", "m", "n", "contested", "each"),
        "Definition 1.1: many queries within one budget",
        "Accuracy of a soft majority's answer over the number of answers that one budget is for, on the flip law and "
        "on digits, by five accountants, in consensus mode and by a student trained on labels; the total epsilon of m "
        "answers at a fixed price; and the exact delta of the m worst bits at that epsilon, with the best adaptive "
        "attack. Bands: 95 % confidence intervals over splits.",
        "Four panels over m: accuracies fall to chance, later the better the accountant; the total epsilon of all but "
        "basic composition rises with slope 1/2; no exact delta lies above the dashed line.",
        metrics=("accuracy", "total_epsilon", "delta"),
    ),
    "dwork2018-stable": Target(
        "dperm.figures.dwork2018.stable",
        "stable",
        ("variant", "series", "n", "curvature", "position", "bound_of", "bound"),
        "Section 4.4: stable learning beside its bounds",
        "Excess loss of one private prediction over n, a column for each epsilon: the regularised minimiser of "
        "Corollaries 4.10 and 4.11 and the gradient descent of Corollary 4.13 on two laws, as printed, mended, with "
        "half the step and tight, beside the bounds. Below, how far replacing one label moves an answer, over its "
        "position in the pass. All values are exact; the walk of the law hard, and its bounds, end at a smaller n.",
        "Falling lines on logarithmic axes, below the dashed bounds; at epsilon 0.1 mended gradient descent lies above "
        "the printed bound of Corollary 4.13. In the last panel the line of gradient descent falls from twice the "
        "printed rate at the first record to nothing at the last.",
        metrics=("excess",),
    ),
    "dwork2018-realdata": Target(
        "dperm.figures.dwork2018.realdata",
        "realdata",
        ("variant", "series", "queries", "radius"),
        "Private predictions and private models on real data",
        "Misclassification over epsilon for one query, over the number of queries within one epsilon (of soft majority "
        "at numbers between too), and over the radius R, for soft majority, averaging, stable risk minimisation and "
        "gradient descent and ExpPW, with objective perturbation as the private model, and without privacy logistic "
        "regression and the majority class. Bands: 95 % confidence intervals over splits.",
        "A row of three panels for each data set: errors fall with epsilon and rise with the number of queries to "
        "those of a coin, while the private model's is one level.",
        metrics=("error",),
    ),
    "dwork2018-softmajority": Target(
        "dperm.figures.dwork2018.softmajority",
        "softmajority",
        ("series", "form", "over", "alpha", "d", "r", "margin", "gamma", "bound"),
        "Section 4.1: soft majority and the lower bound",
        "Records n that Theorem 4.1 promises to suffice for a soft majority, that it needs at the printed and at the "
        "best number of shards, and that any private bit needs (a linear program, solved), beside the lower bound "
        "d/(32 eps alpha), over 1/alpha and over the number d of points; and how often one bit is wrong, over the "
        "margin of its votes. All values are exact.",
        "Five panels of parallel lines on logarithmic axes, the promise on top, then what is needed, an order of "
        "magnitude below it, then the least of any private bit, then the printed lower bound; in the last panel the "
        "lines of four voting rules fall, that of soft majority a little above that of Laplace noise.",
        metrics=("records", "error"),
    ),
}
TABLES: Catalogue[str, Target] = {
    "dwork2018-constants": Target(
        "dperm.figures.dwork2018.constants",
        "constants_table",
        ("claim", "place", "series", "variant", "alpha", "n", "d", "drawn"),
        "What every constant gives away",
        "Every bound of the paper: as printed (P), with the errata's corrections (M), of gradient descent with half "
        "the step (H) and ours (T); the number that it is about, exact on a law of its own or drawn; and the one over "
        "the other (one for each form). An O(·) is taken with constant 1. Below 1 an upper bound is broken, and a "
        "bound "
        '"at least" holds.',
        metrics=("bound", "value", "ratio"),
    ),
    "dwork2018-queries-answered": Target(
        "dperm.figures.dwork2018.queries",
        "answered_table",
        ("series", "accountant", "contested", "level", "m", "n"),
        "How many queries are answered at a given accuracy",
        "The largest number of queries that one budget answers if each answer (in consensus mode the mean of all) is "
        "to be right with a given probability, on the flip law and on digits: soft majority by five accountants, "
        "consensus with B contested answers, and a student, which answers any number once it is right so often, and "
        "the labels that it needs for that. Exact on flip, but for the student; on digits for the mean over splits. A "
        "dash: not one answer, or a student that does not get there.",
        metrics=("answered", "unlimited"),
    ),
}
