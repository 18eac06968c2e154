"""Figures and tables of li2021-simulations: specifications, and what they show in words."""

import numpy as np

from dperm_papers.li2021.shared import drawing_lines as shared
from dperm_papers.li2021.shared.drawing_lines import ERM, KEY, LASSOS, PUBLISHED, VS_PLUS, gaussian, model, pure, size
from dperm_pipeline.figures.looks import equals, number
from dperm_pipeline.figures.spec import Column, Facet, Figure, Line, Panel, Table, encoded, told
from dperm_pipeline.target import Catalogue, Target

_CORRECTED = encoded(
    "calibration variant target",
    {
        ("corrected", "vs_plus", "lasso"): ("VS+: fixed lasso", *VS_PLUS),
        ("corrected", "vs_plus", "elastic_net"): Line("VS+, elastic net", *VS_PLUS, shared.SHORT_DASHES, hollow=True),
        ("tight", "vs_plus", "lasso"): ("VS+, tight noise", VS_PLUS[0], "", shared.DASH_DOTTED),
        ("corrected", "erm", "lasso"): ("NAPP-ERM = VS", *ERM),
        ("corrected", "erm", "elastic_net"): Line("NAPP-ERM, elastic net", *ERM, shared.SHORT_DASHES, hollow=True),
        ("tight", "erm", "lasso"): ("NAPP-ERM, tight noise", ERM[0], "", shared.DASH_DOTTED),
    },
    key=KEY,
)
_SOUND = (
    "Θ is a box in one orthant, b has the right law, the lasso reached is Λ (N6). VS is NAPP-ERM there (N3); VS+ has a "
    "fixed lasso tσ in the place of truncated noise (N2). Solid: Λ|θ| + Λ0θ², which is the lasso without MOOR and also "
    "the only sound MOOR, an elastic net with Λκ = Λ0 (N4); dashed: that elastic net without MOOR, Λ|θ| + 2Λ0θ²."
)
_PANEL = Panel(
    across=Facet("epsilon"),
    title_look={"size": 6.5, "pad": 2.5},
    label_look={"size": 6.8, "labelpad": 1},
    tick_look={"labelsize": 6, "length": 2, "pad": 1.5},
    sharex=True,
    sharey=True,
    more=shared.LOOK,
)
_OVER_STRENGTHS = _PANEL.but(x="strength", statistic="given", xticks=(0.1, 1, 10, 100))
_RATES = ("fpr_mean", "fpr_half", "tpr_mean", "tpr_half")
_HALVES = {0: "0", 0.5: "½", 1: "1"}
# What bounds |l'| in Theta, and l''||x||^2, to which Lambda0 is proportional.
_BOX = "design_boxed_zeta2"
_CURVATURE = "design_zeta3"
# Bounds zeta of pure noise by the density of Equations 4 and 9.
_DENSITY = "typical-density"


def _place(design, *models):
    """Return what sorts designs in the order of the models, by n."""
    return models.index(design.rsplit("-", 1)[0]), size(design)


# Of the bounds that li2021 does not print, those of the range and others under which more of what it finds can be seen:
# what they hold for, in words.
_BESIDE = {
    "typical": "on the whole range of η and y, or for 99 % of the records",
    "unit": "on the whole range of η and y, or are 1, as li2021 has them on Adult",
}


def _bound(rows, design, zeta, name):
    """Return one of the bounds; of one on |l'| its product with zeta1, to which noise is proportional; or nothing."""
    facts = rows[(rows["dataset"] == design) & (rows["zeta"] == zeta)].groupby("metric")["value"].first()
    if not {"design_zeta1", name} <= {*facts.index}:
        return ()
    return (facts[name] if name == _CURVATURE else facts["design_zeta1"] * facts[name],)


def _bounded(rows, beside, bound, *models):
    """Return each design with the bounds of the range, and where they differ with those beside them."""
    for design in sorted(rows["dataset"].unique(), key=lambda design: _place(design, *models)):
        own = _bound(rows, design, "range", bound)
        yield design, "range", own
        other = _bound(rows, design, beside, bound)
        if other not in ((), own):
            yield design, beside, other


def _titled(panel, design, zeta, bounds, words=""):
    """Return the panels of one design with one of the bounds; the lasso without privacy needs none."""
    about = [model(design), equals("n", size(design))]
    about += [equals("ζ", round(value, 2) if value < 10 else round(value)) for value in bounds]
    return panel.but(where={"dataset": design, "zeta": (zeta, "")}, title=f"{', '.join(about)}, {{}}{words}")


def _setting(rows, delta, beside="typical"):
    """Return the data, the budget and the number of repeats in words, and how many fits are missing."""
    private = rows[(rows["metric"] == "runs") & (rows["mechanism"] == "napp")]
    # Not all bounds and deltas have the same number of repeats.
    repeats = private.groupby(["zeta", "delta"])["value"].transform("max")
    lost = int((repeats - private["value"]).sum())
    missing = f" {lost} of {int(repeats.sum())} private fits did not converge and are left out." if lost else ""
    deltas = rows["delta"]
    yield (
        f"Simulated data of Table 4, 16 features, 8 of them relevant; {equals('δ', deltas[delta(deltas)].iloc[0])}, "
        f"{equals('r', private['budget_share'].iloc[0])}; {int(repeats.max())} repeats.{missing}"
    )
    fewer = repeats[private["zeta"] == beside]
    if len(fewer):
        yield (
            "li2021 does not print the bounds ζ, to which noise and Λ0 are proportional. Where it matters there "
            f"are two rows of panels for each n: they hold {_BESIDE[beside]} ({int(fewer.max())} repeats). "
            "ζ in titles is ζ1ζ2."
        )


def _methods(lines, delta, **look):
    """Return the lines of private methods and of both lassos, the first on top, and a legend of four columns."""
    private = [line.but(where={**line.where, "delta": delta}, **look) for line in lines]
    return [*LASSOS, *private][::-1], [*lines[:3], LASSOS[0], *lines[3:], LASSOS[1]]


def _along_strengths(rows):
    """Return a row for each method, epsilon and Lambda, the largest first, with its mean rates as columns."""
    rows = rows[rows["metric"].isin(_RATES)]
    keys = ["mechanism", "calibration", "variant", "target", "delta", "epsilon", "strength"]
    wide = rows.pivot(index=keys, columns="metric", values="value").reset_index()
    return wide.sort_values("strength", ascending=False)


def _diagonal(axis, _):
    """Draw what random selection gives: no level of x or y."""
    axis.plot([0, 1], [0, 1], color="#bbbbbb", lw=0.7, zorder=1)


def _by_design(panel_of, beside, bound, *models, density=False):
    """Return what lays out a row of panels for each design with each of its bounds, and maybe some by density."""

    def panels(rows):
        yield from (
            [_titled(panel_of(design), design, *one)] for design, *one in _bounded(rows, beside, bound, *models)
        )
        drawn = rows.loc[(rows["zeta"] == _DENSITY) & density, "dataset"].unique()
        # Of each model the design with the most records.
        for design in {model(d): d for d in sorted(drawn, key=lambda d: _place(d, *models))}.values():
            yield [_titled(panel_of(design), design, _DENSITY, (), ", by density")]

    return panels


def _by_density(rows):
    """Say which panels are by the density, where there are any."""
    private = rows[(rows["zeta"] == _DENSITY) & (rows["metric"] == "runs")]
    if len(private):
        yield (
            "By density: b has the law whose density Equations 4 and 9 print, ‖b‖ ~ Gamma(16, ζ/(rε)), in the place of "
            "Section 3.1's radius, Gamma(1, ·) (N1), under bounds that 99 % of the records keep "
            f"({int(private['value'].max())} repeats)."
        )


def _selection(lines, delta, *words, bound="design_zeta2"):
    lines, legend = _methods(lines, delta)
    density = delta is pure and bound != _BOX
    panel = _PANEL.but(
        lines=[line if line in LASSOS else line.but(reach=("fpr_half", "tpr_half")) for line in lines],
        x="fpr_mean", y="tpr_mean", statistic="path", prepare=_along_strengths, also=_diagonal,
        xlabel="false positive rate", ylabel="true positive rate", xscale="linear",
        xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xticks=_HALVES, yticks=_HALVES,
    )  # fmt: skip
    return Figure(
        _by_design(lambda _: panel, "typical", bound, "linear", "logistic", "poisson", density=density),
        height=(1.5, 1.25), width=7.2, columns=4, legend=legend,
        notes=lambda rows: [
            *_setting(rows, delta),
            "Points: mean rates at each Λ, with 95 % intervals; a curve that starts at (0, 0) has an empty model at "
            "the largest {strength.max}. Grey line: random selection.",
            *(_by_density(rows) if density else ()),
            *words,
        ],
    )  # fmt: skip


def _prediction(lines, delta, *words, bound="design_zeta2", beside="unit"):
    lines, legend = _methods(lines, delta, band=0.15)
    density = delta is pure and bound != _BOX
    squares = _OVER_STRENGTHS.but(lines=[line.but(via=np.exp) for line in lines], y="error", ylabel="test MSE")
    shares = _OVER_STRENGTHS.but(lines=lines, y="error", ylabel="misclassified", air=0.06)

    def error(design):
        return shares if design.startswith("logistic") else squares

    return Figure(
        _by_design(error, beside, bound, "linear", "poisson", "logistic", density=density),
        height=(1.7, 1.25), width=7.2, columns=4, legend=legend,
        notes=lambda rows: [
            *_setting(rows, delta, beside),
            "One test set a design. MSE: geometric mean over repeats; Poisson predictions are capped at e^7.5. Bands: "
            "95 % intervals.",
            *(_by_density(rows) if density else ()),
            *words,
        ],
    )  # fmt: skip


_SHARE = _OVER_STRENGTHS.but(y="share", ylabel="retrieved", ylim=(-0.04, 1.04), yticks=_HALVES)


def _retrieval(delta):
    panel = _SHARE.but(lines=[line.but(where={**line.where, "delta": delta}, band=0.15) for line in PUBLISHED[::-1]])
    models, density = ("linear", "poisson", "logistic"), delta is pure
    by_design = _by_design(lambda _: panel, "typical", "design_zeta2", *models, density=density)

    def panels(rows):
        grid = [*by_design(rows)]
        designs = [across[0].where["dataset"] for across in grid]
        last = ([design for design in designs if design.startswith("linear")] or designs)[-1]
        options = {"share_exceeding": ", over J", "share_without_two": ", no 2"}
        return grid + [[_titled(panel.but(y=metric), last, "range", (), words)] for metric, words in options.items()]

    return Figure(
        panels, height=(1.4, 1.25), width=7.2, legend=PUBLISHED,
        notes=lambda rows: [
            *_setting(rows, delta),
            "Share of (1 − r)ε: Equation 13 with a maximum and the factor 2 (N5), over all j; in the last two rows (ζ "
            "of the range) over J (N13), and without the 2. Bands: 95 % intervals.",
            *(_by_density(rows) if density else ()),
        ],
    )  # fmt: skip


# What is sound: a formula of Lambda, in which delta has no part.
_RIDGE = Line(
    "ridge: 1 − Λ0/max(Λ, Λ0)", ERM[0], where={"target": "ridge", "variant": "erm"}, key=KEY, more={"zorder": 2}
)
_SOUND_SHARE = _SHARE.but(lines=[_RIDGE])
fig7_corrected = figs3_corrected = Figure(
    _by_design(lambda _: _SOUND_SHARE, "typical", _CURVATURE, "linear", "poisson", "logistic"),
    height=(1.4, 1.25), width=7.2, legend=[_RIDGE],
    notes=[
        "Retrieval costs what it claims for ridge alone, whose modulus is public: the share depends on Λ and "
        "{r=budget_share.first}, not on the data, the variant or δ. It is the choice of another r, known before any "
        "record is seen. ζ in titles is ζ3, to which Λ0 is proportional: on the whole range of η, or for 99 % of the "
        "records where that is another."
    ],
)  # fmt: skip

fig4, figs1 = _selection(PUBLISHED, gaussian), _selection(PUBLISHED, pure)
fig4_corrected = _selection(_CORRECTED, gaussian, _SOUND, bound=_BOX)
figs1_corrected = _selection(_CORRECTED, pure, _SOUND, bound=_BOX)
fig5, figs2 = _prediction(PUBLISHED, gaussian), _prediction(PUBLISHED, pure)
fig5_corrected = _prediction(_CORRECTED, gaussian, _SOUND, bound=_BOX, beside="typical")
figs2_corrected = _prediction(_CORRECTED, pure, _SOUND, bound=_BOX, beside="typical")
fig7, figs3 = _retrieval(gaussian), _retrieval(pure)

# What tells the rows apart, and metrics of each kind of figure: its rows are millions.
_COLUMNS = ("variant", "target", "strength", "step", "budget_share", "zeta")
_BOUNDS = ("design_zeta1", "design_zeta2", _BOX, _CURVATURE)
_ERRORS = ("error_mean", "error_half", "runs", *_BOUNDS)
_SHARES = (
    "share_mean", "share_half", "share_exceeding_mean", "share_exceeding_half", "share_without_two_mean",
    "share_without_two_half", "runs", *_BOUNDS,
)  # fmt: skip
_EACH = ", a panel for each design of Table 4, each of two bounds zeta on a record, and each epsilon: "
# Metrics; title; caption and alternative text, which say the methods in the end.
_SELECTED = (
    (*_RATES, "runs", *_BOUNDS),
    "variable selection",
    "Rates at which coefficients are selected along the path of Lambda" + _EACH,
    "Curves from the lower left, where Lambda is large, to the upper right corner of each panel: ",
)
_PREDICTED = (
    _ERRORS,
    "prediction",
    "Error on test records over Lambda, mean squared error or share of wrong labels" + _EACH,
    "Lines over a logarithmic axis of Lambda with bands, and the non-private lasso as grey lines: ",
)
_RETRIEVED = (
    _SHARES,
    "retrieved budget",
    "Share of (1 - r) epsilon that Equation 13 retrieves over Lambda" + _EACH,
    "Lines between 0 and 1 over a logarithmic axis of Lambda: ",
)
_AS_PUBLISHED = (
    "",
    "six methods as published, of which none but DP-ERM with the logistic loss has a guarantee.",
    "six methods in three colours.",
)
_PROVED = "what is left with a proved guarantee, with corrected and with tight noise."
_SELECTED_CORRECTED = (", corrected", _PROVED, "six in two colours, those with tight noise above or near the others.")
_PREDICTED_CORRECTED = (", corrected", _PROVED, "six in two colours.")
_RETRIEVED_CORRECTED = (
    ", corrected",
    "ridge, for which alone retrieval is sound; the share is a formula.",
    "one line, 0 up to Lambda0 and rising from there.",
)


def _target(number, kind, methods):
    (metrics, title, caption, alt), (suffix, which, lines) = kind, methods
    caption = ("At delta = 0. " if number.startswith("S") else "") + caption + which
    return Target(f"Figure {number}: {title}{suffix}", caption, alt + lines, columns=_COLUMNS, metrics=metrics)


FIGURES: dict[str, Target] = {
    "li2021-fig4": _target("4", _SELECTED, _AS_PUBLISHED),
    "li2021-fig4-corrected": _target("4", _SELECTED, _SELECTED_CORRECTED),
    "li2021-figs1": _target("S.1", _SELECTED, _AS_PUBLISHED),
    "li2021-figs1-corrected": _target("S.1", _SELECTED, _SELECTED_CORRECTED),
    "li2021-fig5": _target("5", _PREDICTED, _AS_PUBLISHED),
    "li2021-fig5-corrected": _target("5", _PREDICTED, _PREDICTED_CORRECTED),
    "li2021-figs2": _target("S.2", _PREDICTED, _AS_PUBLISHED),
    "li2021-figs2-corrected": _target("S.2", _PREDICTED, _PREDICTED_CORRECTED),
    "li2021-fig7": _target("7", _RETRIEVED, _AS_PUBLISHED),
    "li2021-fig7-corrected": _target("7", _RETRIEVED, _RETRIEVED_CORRECTED),
    "li2021-figs3": _target("S.3", _RETRIEVED, _AS_PUBLISHED),
    "li2021-figs3-corrected": _target("S.3", _RETRIEVED, _RETRIEVED_CORRECTED),
}


# Table 4: metrics, and the law of y in words by the loss (the variant of a row).
_DESIGN = (
    "design_records", "design_features", "design_half_width", "design_relevant", "design_largest", "design_smallest",
    "design_sign", "design_zeta1", "design_zeta2", "design_boxed_zeta2", "design_zeta3", "design_repeats",
    "design_test_rows", "design_noise_sd", "design_noise_cut",
)  # fmt: skip
_LAWS = {
    "squared": "η + tN(0, {noise_sd:g}², −{noise_cut:g}, {noise_cut:g})",
    "poisson": "Poisson(exp(η))",
    "logistic": "Bern(1/(1 + exp({minus}η)))",
}


def _listed(values):
    return ", ".join(number(value) for value in sorted(values))


def _designs(rows):
    """Return a row for each design, with what was run and the facts of Table 4 as columns."""
    facts = rows[rows["metric"].str.startswith("design_")]
    every = facts["metric"].where(facts["zeta"] == "range", facts["metric"] + "_" + facts["zeta"])
    wide = facts.assign(metric=every).groupby(["dataset", "variant", "metric"])["value"].first().unstack().reset_index()
    budgets = rows[rows["mechanism"] == "napp"].groupby("dataset")
    listed = {f"{name}s": wide["dataset"].map(budgets[name].unique().map(_listed)) for name in ("epsilon", "delta")}
    return wide.rename(columns=lambda name: name.removeprefix("design_")).assign(**listed)


def _digits(value, digits):
    return number(float(f"{value:.{digits}g}"))


def _truth(design):
    fall, last = _digits(design["largest"] - design["smallest"], 10), int(design["relevant"]) - 1
    return f"{number(design['largest'])} − {fall}k/{last}, k = 0, …, {last}"


def _law(design):
    # 1/(1 + exp(-sign η)): as printed, sign = -1.
    return _LAWS[design["variant"]].format(**design, minus="" if design["sign"] < 0 else "−")


def _zetas(design, suffix):
    return ", ".join(
        _digits(design[name + suffix], 5) for name in ("zeta1", "zeta2", "zeta3") if name + suffix in design
    )


table4_table = Table(
    [
        Column("design", "dataset", ""),
        Column("loss", "variant", ""),
        *(Column(metric.removeprefix("design_"), heading="") for metric in _DESIGN),
        Column("", told(lambda design: design["dataset"].rsplit("-", 1)[0]), "model"),
        Column("", "records", "n", number),
        Column("", "half_width", "x (16)", lambda width: f"Unif(−{number(width)}, {number(width)})"),
        Column("", told(_truth), "nonzero θ"),
        Column("", told(_law), "y, η = ⟨x, θ⟩"),
        Column("epsilons", heading="ε"),
        Column("deltas", heading="δ"),
        Column("", "repeats", "repeats", number),
        Column("", "test_rows", "test", number),
        Column("", told(lambda design: _zetas(design, "")), "ζ1, ζ2, ζ3"),
        Column("", "boxed_zeta2", "ζ2 in Θ", lambda value: _digits(value, 5)),
        Column("", told(lambda design: _zetas(design, "_typical")), "ζ of 99 % of the records"),
        Column("", told(lambda design: _zetas(design, "_unit")), "ζ = 1"),
    ],
    prepare=_designs,
    order=told(lambda design: _place(design["dataset"], "linear", "poisson", "logistic")),
)

TABLES: Catalogue[str, Target] = {
    "li2021-table4": Target(
        "Table 4: simulated data",
        "The simulated data: the law of the records, n, budgets and repeats as they were run, and the public bounds "
        "zeta that stand for them (li2021 gives none).",
        columns=_COLUMNS,
        metrics=(*_DESIGN, "runs"),
    ),
}
