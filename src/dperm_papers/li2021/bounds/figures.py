"""Figures of li2021-bounds: specifications, and what they show in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.figures.looks import equals, noise_label
from dperm_pipeline.figures.spec import DASHED, DOTTED, Facet, Figure, Level, Line, Panel, crossed, encoded
from dperm_pipeline.target import Target

# Colours tell the method, lines what is said of it.
_METHODS = encoded(
    "variant calibration",
    {
        ("erm", "paper"): ("DP-ERM (Eq 2)", "#0072B2"),
        ("erm-moor", "paper"): ("NAPP-ERM with MOOR", "#D55E00"),
        ("erm", "corrected"): ("corrected", "#009E73"),
    },
)
_RISK = encoded(
    "metric row form",
    {("risk", "lemma-7", ""): Line("measured excess risk", "#555555", more={"lw": 1.3}, band=0.2)},
)
_BOUNDS = encoded(
    "metric row form",
    {
        ("bound", "lemma-7", ""): ("Lemma 7", "#555555", "", (0, (5, 1.5))),
        ("bound", "theorem-8", "lemma"): ("Theorem 8, as proved", "#555555", "", DOTTED),
        ("bound", "theorem-8", "product"): ("Theorem 8, as printed", "#555555", "", (0, (5, 1.4, 1, 1.4))),
    },
    more={"lw": 1.0},
)
_GROWTH = Panel(crossed(_METHODS, (*_RISK, *_BOUNDS)), statistic="mean", xticks=4, title=lambda _: "")


def _growth_notes(rows):
    over = {axis: rows[rows["axis"] == axis].iloc[0] for axis in ("n", "epsilon", "p")}
    yield (
        f"Squared loss, lasso with {equals('Λ', over['n']['strength'])}, r = 1/2, |∇l| ≤ 2.9, ‖x‖ ≤ 1; "
        f"{rows['repeat'].max() + 1} data sets, means over b, bands 95 % intervals. Over n: "
        f"{equals('p', over['n']['p'])}, {equals('ε', over['n']['epsilon'])}; over ε: "
        f"{equals('n', over['epsilon']['n'])}; over p: {equals('n', over['p']['n'])}, entries in ±1/√p. Theorem 8 at "
        f"{equals('π', rows['gamma'].max())}: as printed it multiplies both terms by the bound on ‖b‖² (erratum N15), "
        "hence they grow faster than ε⁻² as ε falls."
    )


bounds = Figure(
    [
        [
            _GROWTH.but(where={"axis": "n"}, x="n", ylabel="{}\nJ(θ*) − J(θ̂)"),
            _GROWTH.but(where={"axis": "epsilon"}),
            _GROWTH.but(where={"axis": "p"}, x="p"),
        ]
    ],
    height=(1.75, 1.9),
    columns=4,
    down=Facet("delta", words=noise_label),
    where={"axis": ("n", "epsilon", "p"), "metric": ("risk", "bound")},
    legend=(*_METHODS, *(line.but(more={}) for line in (*_RISK, *_BOUNDS))),
    notes=_growth_notes,
)


def _ends(rows):
    """Return ticks at both ends of the epsilons, and at 1 between them."""
    values = sorted(rows["epsilon"].unique())
    return [values[0], 1.0, values[-1]] if values[0] < 1 < values[-1] else values


_SPENT = encoded(
    "form",
    {
        "density": ("Eq 2, pure noise (Eq 4's density)", "#D55E00"),
        "gaussian": ("", "#0072B2"),
    },
)
# Multiples of Lambda0 = zeta3/epsilon: the least solid, the other dashed.
_FLOORS = (
    Line(where={"multiple": lambda multiples: multiples == multiples.min()}),
    Line(line=DASHED, where={"multiple": lambda multiples: multiples == multiples.max()}),
)
_NOISE = encoded(
    "form",
    {
        "eq-12": ("Equation 12", "#009E73"),
        "short": ("Equation 4", "#E69F00"),
        "tight": ("least that is proved", "#000000"),
    },
)
_JACOBIANS = encoded(
    "target reading",
    {
        ("ridge", "fixed"): ("ridge", "#0072B2", "o"),
        ("lasso", "frozen"): ("lasso, weights held fixed", "#E69F00", "s"),
        ("lasso", "fixed"): ("lasso, as released", "#D55E00", "^"),
    },
)
_FORMS = encoded("form", {"mended": Line(), "printed": Line(hollow=True)})
_ONE = Level(1.0, colour="#555555", more={"lw": 0.8})
_BUDGET = Panel(title_look={"size": 7.5}, xticks=_ends, epsilons=True)


def _delta(rows):
    return equals("δ", rows.loc[rows["row"] == "corollary-5", "delta"].iloc[0])


def _nearest_to_1(epsilons):
    """Return which rows have the epsilon that is nearest to 1."""
    distances = (epsilons - 1).abs()
    return epsilons == epsilons[distances == distances.min()].min()


def _budget_legend(rows):
    density, gaussian = _SPENT
    jacobians = [line.but(line="none") for line in _JACOBIANS]
    return [density, gaussian.but(label=f"Eq 2, Gaussian noise, {_delta(rows)}"), *_NOISE, *jacobians]


def _budget_notes(rows):
    most = rows.loc[(rows["row"] == "over-protection") & (rows["metric"] == "spent_share"), "multiple"].max()
    yield (
        "Formulas and 2 × 2 matrices; add/remove; gradients of any sign; r = 1/2. Left: below the line Eq 2 spends "
        f"less than it claims; solid Λ0 = ζ3/ε, dashed {most:g} times that. The printed recipe for pure noise "
        "(radius Gamma(1, ·)) has an infinite ε and is not drawn. Right: filled, Proposition 6 with the missing factor "
        "2 restored, open as printed; above the line the Jacobian costs more than stated (for lasso without bound: "
        "drawn is what other records as flat as 0.01 ζ3 leave)."
    )


budget = Figure(
    [
        [
            _BUDGET.but(
                title="Eq 2: tight ε over claimed ε",
                where={"row": "over-protection", "metric": "spent_share", "calibration": "paper"},
                lines=crossed(_SPENT, _FLOORS),
                levels=[_ONE],
                ylim=(0, 1.05),
            ),
            _BUDGET.but(
                title=lambda rows: f"Corollary 5: σ ε/ζ, {_delta(rows)}",
                where={"row": "corollary-5", "metric": "noise"},
                lines=_NOISE,
                y=lambda rows: rows["value"] * rows["epsilon"],
                ylim=(0, None),
            ),
            _BUDGET.but(
                title=lambda rows: (
                    f"Proposition 6, {equals('ε', rows['epsilon'].iloc[0])}:\nlog-determinant over its budget"
                ),
                where={"row": "proposition-6", "metric": "excess", "epsilon": _nearest_to_1},
                lines=crossed(_JACOBIANS, _FORMS),
                levels=[_ONE],
                x="multiple",
                y=lambda rows: 1 + rows["value"],
                xlabel="Λ/Λ0",
                xticks=(1, 10, 100),
                epsilons=False,
                more={"lw": 0.7},
            ),
        ]
    ],
    height=3.7,
    legend=_budget_legend,
    notes=_budget_notes,
)


FIGURES: Catalogue[str, Target] = {
    "li2021-bounds": Target(
        "bounds",
        ("variant", "row", "form", "axis", "n", "p", "strength", "gamma"),
        "Lemma 7 and Theorem 8: excess risk and its bounds",
        "Measured excess empirical risk of DP-ERM, of NAPP-ERM with MOOR and of the corrected mechanism over n, "
        "epsilon and p, beside the bounds of Lemma 7 and Theorem 8, with pure and with Gaussian noise. Bands: 95 % "
        "confidence intervals of the mean over data sets.",
        "Line plots on logarithmic axes, a row for each noise: the risk falls twice as steeply over n as the bounds "
        "above it; Theorem 8 as printed lies furthest up, and falls fastest over epsilon.",
        metrics=("risk", "bound"),
    ),
    "li2021-budget": Target(
        "budget",
        ("row", "form", "reading", "target", "multiple"),
        "What the budget pays for",
        "The epsilon that Equation 2 is proved to spend, over the one that it claims; the noise of Corollary 5 and of "
        "Equation 4 beside the least that is proved enough; and what the Jacobian costs over what Proposition 6 says, "
        "for ridge and lasso. Formulas.",
        "Three panels: shares below 1 over epsilon; levels of noise over epsilon, the least about half of the others; "
        "ratios over Lambda/Lambda0, at most 1 for ridge with the factor 2 restored, far above 1 for lasso.",
        metrics=("excess", "noise", "spent_share"),
    ),
}
