"""Figures and tables of kifer2012-theorem29: specifications, and what they show in words."""

from dperm_pipeline.figures.looks import LONG_DASHED
from dperm_pipeline.figures.spec import DOTTED, Figure, Level, Line, Panel, encoded, power
from dperm_pipeline.target import Catalogue, Target

_RISKS = {
    "printed": ("Δ of Theorem 29, printed", "#D55E00", "s"),
    "mended": ("Δ of Theorem 29, mended", "#0072B2", "o"),
}
_BOUNDS = {
    "printed": ("bound of Theorem 29, printed", "#D55E00", "", LONG_DASHED),
    "mended": ("bound of Theorem 29, mended", "#0072B2", "", LONG_DASHED),
}
_STATED = Line("√p, as the paper states it", "#777777", "", DOTTED, via=power(0.5), more={"lw": 1.2, "zorder": 2})
# Of n, on the right: a hue that is no row's, darker as n rises, and a marker.
_SIZES = Line(
    lambda n: f"p coins, n = {int(n):,}", "#009E73", shades="n", markers=("o", "s", "^", "D", "v"), more={"zorder": 3}
)

theorem29 = Figure(
    [
        [
            Panel(
                (
                    *encoded("row", _RISKS, where={"metric": "excess_risk"}, more={"zorder": 3}),
                    *encoded("row", _BOUNDS, where={"metric": "bound"}, more={"lw": 1, "zorder": 2}, key={"lw": 1}),
                ),
                "n",
                "",
                "one coin: mean excess risk on new records",
                {"dataset": "coin"},
                xticks="all",
            ),
            # The ratios at n = p are 1, which is where the paper's law starts.
            Panel(
                (_SIZES, _STATED.but(y=lambda rows: rows["value"] ** 0, statistic="first")),
                "p",
                "",
                "p coins: excess risk with privacy / without",
                {"metric": "private_ratio", "row": "printed"},
                [Level(1.0, colour="#777777", more={"lw": 0.8}, fits=True)],
                xticks="all",
            ),
        ]
    ],
    height=3.6,
    notes=[
        "Huber loss of knee 1/2, y = 1 with probability 1/2 + 1/(2√m), else −1, m records on each axis (one coin: "
        "m = n; p coins: m = n/p); Gaussian noise, {epsilon.first}, {delta.first}; exact means over records and noise, "
        "no repeats. The printed bound leaves out what sampling costs. Right: Δ of Theorem 29, printed; the ratio "
        "depends on n/p alone.",
    ],
)


FIGURES: Catalogue[str, Target] = {
    "kifer2012-theorem29": Target(
        "Theorem 29: risk on new records",
        "Mean excess risk on new records for a coin that is nearly fair, over the number of records n, with Theorem "
        "29's bound as printed and as mended; and, for p such coins, its ratio to that of the fit without privacy. All "
        "numbers are exact.",
        "Two panels on logarithmic axes: the risk falls like one over the square root of n, slower than the printed "
        "bound; the ratio of private to non-private risk rises with p at small n and stays near 1 at large n, where "
        "the square root of p is stated.",
    ),
}
