"""Figures of li2021-bounds: specifications, and what they show in words."""

from dperm_pipeline.figures.looks import DASHED, DOTTED, MEDIUM_DASHED, noise_label
from dperm_pipeline.figures.spec import Facet, Figure, Level, Line, Panel, crossed, encoded, least, most
from dperm_pipeline.target import Catalogue, Target

# Colours tell the method, lines what is said of it.
_METHODS = encoded(
    "variant calibration",
    {
        ("erm", "paper"): ("DP-ERM (Eq 2)", "#0072B2"),
        ("erm-moor", "paper"): ("NAPP-ERM with MOOR", "#D55E00"),
        ("erm", "corrected"): ("corrected", "#009E73"),
    },
)
_SAID = encoded(
    "metric row form",
    {
        ("risk", "lemma-7", ""): Line("measured excess risk", "#555555", more={"lw": 1.3}, band=0.2),
        ("bound", "lemma-7", ""): Line("Lemma 7", "#555555", "", MEDIUM_DASHED, more={"lw": 1.0}),
        ("bound", "theorem-8", "lemma"): Line("Theorem 8, as proved", "#555555", "", DOTTED, more={"lw": 1.0}),
        ("bound", "theorem-8", "product"): Line(
            "Theorem 8, as printed", "#555555", "", (0, (5, 1.4, 1, 1.4)), more={"lw": 1.0}
        ),
    },
)
_GROWTH = Panel(crossed(_METHODS, _SAID), statistic="mean", xticks=4, title=lambda _: "")


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
    legend=(*_METHODS, *(line.but(more={}) for line in _SAID)),
    notes=[
        "Squared loss, lasso with {strength.first:axis=n}, r = 1/2, |∇l| ≤ 2.9, ‖x‖ ≤ 1; {repeat.count} data sets, "
        "means over b, bands 95 % intervals. Over n: {p.first:axis=n}, {epsilon.first:axis=n}; over ε: "
        "{n.first:axis=epsilon}; over p: {n.first:axis=p}, entries in ±1/√p. Theorem 8 at "
        "{π=gamma.max}: as printed it multiplies both terms by the bound on "
        "‖b‖² (erratum N15), hence they grow faster than ε⁻² as ε falls."
    ],
)


def _ends(rows):
    """Return ticks at both ends of the epsilons, and at 1 between them."""
    values = sorted(rows["epsilon"].unique())
    return [values[0], 1.0, values[-1]] if values[0] < 1 < values[-1] else values


_SPENT = encoded(
    "form",
    {
        "density": ("Eq 2, pure noise (Eq 4's density)", "#D55E00"),
        "gaussian": ("Eq 2, Gaussian noise, {delta.first:row=corollary-5}", "#0072B2"),
    },
)
# Multiples of Lambda0 = zeta3/epsilon: the least solid, the other dashed.
_FLOORS = (
    Line(where={"multiple": least}),
    Line(line=DASHED, where={"multiple": most}),
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


def _nearest_to_1(epsilons):
    """Return which rows have the epsilon that is nearest to 1."""
    distances = (epsilons - 1).abs()
    return epsilons == epsilons[distances == distances.min()].min()


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
                title="Corollary 5: σ ε/ζ, {delta.first}",
                where={"row": "corollary-5", "metric": "noise"},
                lines=_NOISE,
                y=lambda rows: rows["value"] * rows["epsilon"],
                ylim=(0, None),
            ),
            _BUDGET.but(
                title="Proposition 6, {epsilon.first}:\nlog-determinant over its budget",
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
    legend=[*_SPENT, *_NOISE, *(line.but(line="none") for line in _JACOBIANS)],
    notes=[
        "Formulas and 2 × 2 matrices; add/remove; gradients of any sign; r = 1/2. Left: below the line Eq 2 spends "
        "less than it claims; solid Λ0 = ζ3/ε, dashed {#multiple.max:row=over-protection,metric=spent_share} times "
        "that. The printed recipe for pure noise (radius Gamma(1, ·)) has an infinite ε and is not drawn. Right: "
        "filled, Proposition 6 with the missing factor 2 restored, open as printed; above the line the Jacobian costs "
        "more than stated (for lasso without bound: drawn is what other records as flat as 0.01 ζ3 leave)."
    ],
)


FIGURES: Catalogue[str, Target] = {
    "li2021-bounds": Target(
        "Lemma 7 and Theorem 8: excess risk and its bounds",
        "Measured excess empirical risk of DP-ERM, of NAPP-ERM with MOOR and of the corrected mechanism over n, "
        "epsilon and p, beside the bounds of Lemma 7 and Theorem 8, with pure and with Gaussian noise. Bands: 95 % "
        "confidence intervals of the mean over data sets.",
        "Line plots on logarithmic axes, a row for each noise: the risk falls twice as steeply over n as the bounds "
        "above it; Theorem 8 as printed lies furthest up, and falls fastest over epsilon.",
        metrics=("risk", "bound"),
    ),
    "li2021-budget": Target(
        "What the budget pays for",
        "The epsilon that Equation 2 is proved to spend, over the one that it claims; the noise of Corollary 5 and of "
        "Equation 4 beside the least that is proved enough; and what the Jacobian costs over what Proposition 6 says, "
        "for ridge and lasso. Formulas.",
        "Three panels: shares below 1 over epsilon; levels of noise over epsilon, the least about half of the others; "
        "ratios over Lambda/Lambda0, at most 1 for ridge with the factor 2 restored, far above 1 for lasso.",
        metrics=("excess", "noise", "spent_share"),
    ),
}
