"""Figures and tables of li2021-moor: specifications, and what they show in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.figures.looks import equals
from dperm_pipeline.figures.spec import DASHED, Figure, Panel, encoded
from dperm_pipeline.target import Target

_GIVEN = {"shades": "epsilon", "band": 0.2, "positive": True}
_RING = {"mfc": "none", "ms": 3.5}


def _named(name):
    return lambda epsilon: f"{name}, {equals('ε', epsilon)}"


_LOOKS = encoded(
    "variant",
    {"erm-moor": (_named("with MOOR"), "#0072B2"), "erm": (_named("without"), "#D55E00", "", DASHED)},
    **_GIVEN,
)
_NETS = encoded(
    "variant",
    {
        "erm": (_named("lasso (DP-ERM)"), "#D55E00"),
        "erm-moor": (_named("elastic net with MOOR"), "#0072B2", "o", "none"),
        "erm-net": (_named("elastic net without"), "#009E73", "", DASHED),
    },
    key=_RING,
    **_GIVEN,
)
# At this value distances were cut off: it means 0, and is not drawn.
_LEAST = 1e-4
_PANEL = Panel(
    x="strength", y="distance", statistic="given", same_y="none", xticks=(0.1, 1, 10, 100), sharex=True,
    more={"lw": 1.1, **_RING},
)  # fmt: skip


def _size(design):
    return int(design.rsplit("-", 1)[1])


def _title(design):
    return f"{design.rsplit('-', 1)[0].replace('poisson', 'Poisson')}, n = {_size(design)}"


def _grid(lines, references):
    """Return what lays out a column for each model, a row for each n and lasso."""

    def panels(rows):
        designs = sorted(rows["dataset"].unique(), key=_size)
        columns = [[name for name in designs if name.startswith(model)] for model in ("linear", "logistic", "poisson")]
        columns = [column for column in columns if column]
        grid = []
        for place in range(max(map(len, columns))):
            for reference, ylabel in references.items():
                grid.append([])
                for k, column in enumerate(columns):
                    where = {"dataset": column[place] if place < len(column) else "", "reference": reference}
                    panel = _PANEL.but(lines=lines, where=where, ylabel="" if k else ylabel)
                    grid[-1].append(panel.but(title=_title(where["dataset"])) if where["dataset"] else None)
        return grid

    return panels


def _without_zeros(rows):
    cut = (rows["metric"] == "distance_mean") & (rows["value"] <= _LEAST * (1 + 1e-9))
    return rows.assign(value=rows["value"].where(~cut))


def _notes(words):
    """Return what adds the number of repeats to words."""

    def notes(rows):
        runs = int(rows.loc[rows["metric"] == "runs", "value"].max())
        return [f"{words} {runs} repeats, mean and 95 % interval; distances of 0 are not drawn."]

    return notes


_ROWS = {"row": "figure", "zeta": "range", "metric": ("distance_mean", "distance_half", "runs")}
fig3 = Figure(
    _grid(_LOOKS, {1: "distance to lasso(Λ)", 2: "distance to lasso(2Λ)"}),
    height=(0.9, 1.55),
    columns=lambda rows: min(rows["epsilon"].nunique(), 4),
    where={**_ROWS, "calibration": "paper"},
    prepare=_without_zeros,
    notes=_notes(
        "‖θ − lasso‖₂ without any noise (b = 0), Λ₀ = ζ₃/ε; lasso(Λ) minimises the sum of losses plus Λ‖θ‖₁. What the "
        "reweighting reaches without Λ₀ is lasso(2Λ)."
    ),
    grid={"sharex": True},
)
fig3_corrected = Figure(
    _grid(_NETS, {1: "distance to lasso(Λ)"}),
    height=(1.5, 1.75),
    where={**_ROWS, "calibration": "corrected", "reference": 1},
    prepare=_without_zeros,
    by_value=True,
    notes=_notes(
        "‖θ − lasso(Λ)‖₂ without any noise (b = 0), Λ₀ = ζ₃/ε. MOOR is proved private for an elastic net with Λκ ≥ Λ₀ "
        "alone; with the least such κ it is the lasso plus Λ₀‖θ‖², which is DP-ERM: rings lie on lines. κ is below 1: "
        "where Λ ≤ Λ₀ (Poisson: everywhere) no elastic net will do."
    ),
    grid={"sharex": True},
)


# What li2021-moor and li2021-recycling tell their values apart by, and which of them are drawn.
_MOOR = ("variant", "row", "reference", "strength")
_DISTANCES = ("distance_mean", "distance_half", "runs")

FIGURES: Catalogue[str, Target] = {
    "li2021-fig3": Target(
        "fig3",
        _MOOR,
        "Figure 3: distance to the lasso with MOOR and without",
        "What the strong convexity that privacy asks for does to an estimate without any noise: its distance to the "
        "lasso with Lambda, and to that with 2 Lambda, which is what the reweighting reaches without a floor. Bands: "
        "95 % confidence intervals of the mean.",
        "Line plots over Lambda, one column for each model, a row for each n and lasso; lines with MOOR lie below "
        "those without, by much in linear and logistic regression and hardly at all in Poisson regression.",
        metrics=_DISTANCES,
    ),
    "li2021-fig3-corrected": Target(
        "fig3_corrected",
        _MOOR,
        "Figure 3: distance to the lasso with MOOR and without, corrected",
        "MOOR is proved private for an elastic net whose own ridge is at least Lambda0. Then it is the lasso without "
        "MOOR, and nearer to the lasso only than that elastic net without MOOR. Bands: 95 % confidence intervals.",
        "Line plots over Lambda, one column for each model, a row for each n; rings of the elastic net with MOOR lie "
        "on the lines of the lasso without, and below those of the elastic net without.",
        metrics=_DISTANCES,
    ),
}
