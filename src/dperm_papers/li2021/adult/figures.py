"""Figures of li2021-adult: specifications, and what they show in words."""

from dperm_papers.li2021.shared.drawing_lines import DASH_DOTTED, ERM, KEY, LASSOS, LOOK, PUBLISHED, VS_PLUS, gaussian
from dperm_pipeline.figures.looks import equals
from dperm_pipeline.figures.spec import Facet, Figure, Level, Panel, encoded
from dperm_pipeline.target import Target

_CORRECTED = encoded(
    "variant calibration",
    {
        ("vs_plus", "corrected"): ("VS+ → fixed lasso", *VS_PLUS),
        ("vs_plus", "tight"): ("VS+ → fixed lasso, tight", VS_PLUS[0], "", DASH_DOTTED),
        ("erm", "corrected"): ("NAPP-ERM", *ERM),
        ("erm", "tight"): ("NAPP-ERM, tight", ERM[0], "", DASH_DOTTED),
    },
    key=KEY,
)
# Without privacy there is no epsilon.
_LEVELS = [
    Level(lambda rows: rows["value"].iloc[0], "", lasso.colour, lasso.line or "-", lasso.where,
          {"lw": 0.9, "zorder": 1.8}, fits=True)
    for lasso in LASSOS
]  # fmt: skip
# What Section 5.2 says of Adult, at epsilon = 1.
_STATED = [
    Level(value, label, "black", where={"dataset": "adult"}, more={"ms": 5, "mew": 1.1, "zorder": 5}, fits=True, at=1.0,
          marker=marker)
    for value, label, marker in (
        (0.155, "the paper: VS+ at ε = 1, 15.5 %", "x"),
        (0.152, "the paper: not private, 15.2 %", "+"),
    )
]  # fmt: skip
_PRINTED = (
    "As published: records unscaled and the noise made for ‖x‖ ≤ 1 (N12), a lasso of 2Λ (N6), MOOR and truncated noise "
    "(N2–N4): no guarantee."
)
_SOUND = (
    "Noise and Λ0 are made for the declared bound on ‖x‖, √15 for Adult. No orthant is known to hold θ, so VS is left "
    "out (N3); VS+ has a fixed lasso tσ in the place of truncated noise (N2); a lasso has no MOOR (N4). The lasso "
    "reached is Λ (N6)."
)


def _shown(datasets):
    """Return which rows are Adult's, or those of the data set that stands in for it."""
    return datasets == ("adult" if (datasets == "adult").any() else datasets.min())


def _dataset(rows):
    return rows["dataset"].iloc[0]


def _ticks(rows):
    epsilons = sorted(rows.loc[rows["mechanism"] == "napp", "epsilon"].unique())
    return {epsilon: f"{epsilon:.1f}" for epsilon in (epsilons[::3] if len(epsilons) > 4 else epsilons)}


def _misclassified(lines, calibrations, about):
    private = [line.but(where={**line.where, "delta": gaussian}, band=0.13) for line in lines]
    panel = Panel(
        private[::-1],
        ylabel="misclassified",
        title=lambda rows: f"{_dataset(rows)}, {{}}",
        levels=[*_LEVELS, *_STATED],
        across=Facet("strength"),
        statistic="mean",
        xscale="linear",
        xticks=_ticks,
        air=0.05,
        whole_bands=True,
        sharey=True,
        more=LOOK,
        ywords="{:.1%}".format,
    )

    def legend(rows):
        return [*lines, *LASSOS, *(_STATED if _dataset(rows) == "adult" else [])]

    def notes(rows):
        dataset, private = _dataset(rows), rows[rows["mechanism"] == "napp"]
        stand_in = "" if dataset == "adult" else f" Adult is not among the rows: {dataset} stands in for it."
        yield (
            f"Share of wrong labels on the test records of {dataset}; "
            f"{equals('δ', private.loc[private['delta'] > 0, 'delta'].min())}, {private['repeat'].nunique()} repeats "
            f"of the noise. Bands: 95 % intervals of the mean.{stand_in}"
        )
        yield about

    where = {"metric": "error", "dataset": _shown, "calibration": ("", *calibrations)}
    return Figure([[panel]], height=3.9, where=where, legend=legend, notes=notes)


fig6 = _misclassified(PUBLISHED, ("paper",), _PRINTED)
fig6_corrected = _misclassified(_CORRECTED, ("corrected", "tight"), _SOUND)


_BY_EPSILON = "Share of wrong labels on Adult's test records over epsilon, a panel for each Lambda: "


def _target(title, methods, alt):
    title = f"Figure 6: misclassification on Adult{title}"
    caption = f"{_BY_EPSILON}{methods}, and the non-private lasso."
    alt = f"Lines that fall as epsilon grows, {alt} the grey level of the non-private lasso."
    return Target(title, caption, alt, metrics=("error",), datasets=("adult",))


FIGURES: dict[str, Target] = {
    "li2021-fig6": _target("", "six methods as published (no guarantee)", "six methods in three colours, to"),
    "li2021-fig6-corrected": _target(
        ", corrected",
        "what is left with a proved guarantee, with corrected and with tight noise",
        "two methods in two colours, above",
    ),
}
