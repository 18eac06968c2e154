"""Figures and tables of li2021-moor: specifications, and what they show in words."""

from dperm_papers.li2021.shared.drawing_lines import model, size
from dperm_pipeline.figures.looks import equals
from dperm_pipeline.figures.spec import DASHED, Figure, Panel, encoded
from dperm_pipeline.target import Catalogue, Target

_RING = {"mfc": "none", "ms": 3.5}


def _lines(looks, **more):
    """Return lines in shades for each epsilon."""

    def named(name):
        return lambda epsilon: f"{name}, {equals('ε', epsilon)}"

    looks = {variant: (named(name), *look) for variant, (name, *look) in looks.items()}
    return encoded("variant", looks, shades="epsilon", band=0.2, positive=True, **more)


_LOOKS = _lines({"erm-moor": ("with MOOR", "#0072B2"), "erm": ("without", "#D55E00", "", DASHED)})
_NETS = _lines(
    {
        "erm": ("lasso (DP-ERM)", "#D55E00"),
        "erm-moor": ("elastic net with MOOR", "#0072B2", "o", "none"),
        "erm-net": ("elastic net without", "#009E73", "", DASHED),
    },
    key=_RING,
)
# At this value distances were cut off: it means 0, and is not drawn.
_LEAST = 1e-4


def _grid(lines, references):
    """Return what lays out a column for each model, a row for each n and lasso."""
    drawn = Panel(
        lines, "strength", y="distance", statistic="given", same_y="none", xticks=(0.1, 1, 10, 100), sharex=True,
        more={"lw": 1.1, **_RING},
    )  # fmt: skip

    def panels(rows):
        designs = sorted(rows["dataset"].unique(), key=size)
        columns = [[name for name in designs if name.startswith(kind)] for kind in ("linear", "logistic", "poisson")]
        columns = [column for column in columns if column]
        for place in range(max(map(len, columns))):
            for reference, ylabel in references.items():
                yield [
                    drawn.but(
                        where={"dataset": column[place], "reference": reference}, ylabel="" if k else ylabel,
                        title=f"{model(column[place])}, n = {size(column[place])}",
                    )
                    if place < len(column)
                    else None
                    for k, column in enumerate(columns)
                ]  # fmt: skip

    return panels


def _without_zeros(rows):
    cut = (rows["metric"] == "distance_mean") & (rows["value"] <= _LEAST * (1 + 1e-9))
    return rows.assign(value=rows["value"].where(~cut))


_RUNS = "{#value.max:metric=runs} repeats, mean and 95 % interval; distances of 0 are not drawn."
_ROWS = {"row": "figure", "zeta": "range", "metric": ("distance_mean", "distance_half", "runs")}
fig3 = Figure(
    _grid(_LOOKS, {1: "distance to lasso(Λ)", 2: "distance to lasso(2Λ)"}),
    height=(0.9, 1.55),
    columns=lambda rows: min(rows["epsilon"].nunique(), 4),
    where={**_ROWS, "calibration": "paper"},
    prepare=_without_zeros,
    notes=[
        "‖θ − lasso‖₂ without any noise (b = 0), Λ₀ = ζ₃/ε; lasso(Λ) minimises the sum of losses plus Λ‖θ‖₁. What the "
        f"reweighting reaches without Λ₀ is lasso(2Λ). {_RUNS}"
    ],
    grid={"sharex": True},
)
fig3_corrected = Figure(
    _grid(_NETS, {1: "distance to lasso(Λ)"}),
    height=(1.5, 1.75),
    where={**_ROWS, "calibration": "corrected", "reference": 1},
    prepare=_without_zeros,
    by_value=True,
    notes=[
        "‖θ − lasso(Λ)‖₂ without any noise (b = 0), Λ₀ = ζ₃/ε. MOOR is proved private for an elastic net with Λκ ≥ Λ₀ "
        "alone; with the least such κ it is the lasso plus Λ₀‖θ‖², which is DP-ERM: rings lie on lines. κ is below 1: "
        f"where Λ ≤ Λ₀ (Poisson: everywhere) no elastic net will do. {_RUNS}"
    ],
    grid={"sharex": True},
)

_DISTANCES = ("distance_mean", "distance_half", "runs")

FIGURES: Catalogue[str, Target] = {
    "li2021-fig3": Target(
        "Figure 3: distance to the lasso with MOOR and without",
        "What the strong convexity that privacy asks for does to an estimate without noise: its distance to the lasso "
        "with Lambda, and to that with 2 Lambda, which the reweighting reaches without a floor. Bands: 95 % "
        "confidence intervals of the mean.",
        "Line plots over Lambda, one column for each model, a row for each n and lasso; lines with MOOR lie below "
        "those without, by much in linear and logistic regression and hardly at all in Poisson regression.",
        metrics=_DISTANCES,
    ),
    "li2021-fig3-corrected": Target(
        "Figure 3: distance to the lasso with MOOR and without, corrected",
        "MOOR is proved private for an elastic net whose own ridge is at least Lambda0. Then it is the lasso without "
        "MOOR, and nearer to the lasso only than that elastic net without MOOR. Bands: 95 % confidence intervals.",
        "Line plots over Lambda, one column for each model, a row for each n; rings of the elastic net with MOOR lie "
        "on the lines of the lasso without, and below those of the elastic net without.",
        metrics=_DISTANCES,
    ),
}
