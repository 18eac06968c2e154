"""Figures and tables of kifer2012-bound: specifications, and what they show in words."""

from dperm_pipeline.figures.looks import equals
from dperm_pipeline.figures.spec import DASHED, DOTTED, Figure, Level, Line, Panel, encoded
from dperm_pipeline.target import Catalogue, Target

# Calibration -> label, colour (Okabe & Ito).
_BOUNDS = {
    "paper": ("as printed (replace-one: with 2ζ)", "#009E73"),
    "twice": ("2 Hₑ₁(a) = δ", "#E69F00"),
    "steps": ("replace-one in two steps", "#CC79A7"),
    "tight": ("Theorems 1 and 2", "#0072B2"),
    "needed": ("needed by the worst pair found", "#555555"),
}
# Neighbours -> name, and what the third column compares with.
_RELATIONS = {"add_remove": ("add/remove", _BOUNDS["twice"][0]), "replace": ("replace-one", "two steps")}
# By ridge multiple.
_DASHES = ("-", DASHED, DOTTED)
_PANEL = Panel(
    x="epsilon", ylabel="noise saved, %", title_look={"size": 7}, ylim="free", more={"lw": 1.1},
    levels=[Level(0, colour=_BOUNDS["tight"][1], more={"lw": 1.0})], xticks=(0.1, 0.3, 1, 3),
)  # fmt: skip


def _with_savings(rows):
    """Add, as metric `saved`, the share in per cent of each noise that the tight one saves; of `needed` the reverse."""
    from pandas import concat

    rows = rows[(rows["metric"] == "noise") & (rows["sign"] == "any")]
    place = ["row", "neighbours", "ridge_multiple", "epsilon", "delta"]
    noise = rows.pivot_table(index=place, columns="calibration", values="value")
    parts = [rows]
    for name in noise.columns.intersection(["paper", "twice", "steps", "needed"]):
        ratio = noise["needed"] / noise["tight"] if name == "needed" else noise["tight"] / noise[name]
        saved = (100 * (1 - ratio)).dropna().rename("value").reset_index()
        parts.append(saved.assign(calibration=name, metric="saved"))
    return concat(parts)


def _searched(rows):
    """Return the ridge multiple at which the worst pair was searched."""
    return rows.loc[rows["calibration"] == "needed", "ridge_multiple"].min()


def _panels(rows):
    searched, multiples = _searched(rows), sorted(rows["ridge_multiple"].unique())
    epsilon = rows.loc[rows["row"] == "delta", "epsilon"].iloc[0]
    at = equals("δ", rows.loc[rows["row"] == "epsilon", "delta"].iloc[0])

    def saved(title, names, over, relation):
        lines = [
            line.but(where={**line.where, "ridge_multiple": multiple}, line=dashes)
            for line in encoded("calibration", {name: _BOUNDS[name] for name in names})
            for multiple, dashes in zip(multiples, _DASHES, strict=False)
        ]
        return _PANEL.but(
            lines=lines, x=over, title=title, where={"metric": "saved", "row": over, "neighbours": relation}
        )

    for relation, (name, other) in _RELATIONS.items():
        where = {"metric": "noise", "row": "epsilon", "neighbours": relation, "ridge_multiple": searched}
        noise = f"noise, {at},\n{equals('Δ', searched)} λ/ε"
        yield [
            _PANEL.but(
                lines=encoded("calibration", _BOUNDS, more={"lw": 1.2}), ylabel=f"{name}: σ/ζ", title=noise,
                where=where, levels=(), ylim=None,
            ),
            saved(f"saved of the printed,\n{at}", ("paper", "needed"), "epsilon", relation),
            saved(f"saved of {other},\n{at} (another scale)", ("twice", "steps"), "epsilon", relation),
            saved(
                f"saved of both,\n{equals('ε', epsilon)}", ("paper", "twice", "steps", "needed"), "delta", relation
            ).but(xticks=(1e-10, 1e-6, 1e-2)),
        ]  # fmt: skip


def _legend(rows):
    dashes = zip(_DASHES, sorted(rows["ridge_multiple"].unique()), strict=False)
    return [
        *encoded("calibration", _BOUNDS),
        *(Line(f"{equals('Δ', multiple)} λ/ε", "#777777", line=line) for line, multiple in dashes),
    ]


bound = Figure(
    _panels,
    height=5.3,
    prepare=_with_savings,
    legend=_legend,
    notes=[
        "Standard deviation σ of Gaussian b over ζ, for losses whose derivative has any sign (Huber); formulas, no "
        "repeats. a = ζ/σ, e1 = ε − log(1 + λ/Δ). Saved: 1 less the σ of Theorem 1 (replace-one: Theorem 2) of "
        "docs/privacy.md over the other; below 0 the other needs less. Grey: at this σ a pair of at most two records a "
        "side (design q1, exact laws) spends the whole budget, so no theorem can ask for less; in the other panels, "
        "the share of the theorem's noise that is above it."
    ],
)


FIGURES: Catalogue[str, Target] = {
    "kifer2012-bound": Target(
        "The noise that our bound saves",
        "Standard deviation of Gaussian noise in objective perturbation by theorem, over epsilon and over delta: as "
        "printed, by other bounds, and by the theorems of docs/privacy.md, under either relation; and the noise that "
        "the worst pair of data sets on the line needs at least.",
        "Two rows of four panels, add/remove above and replace-one below: the noise over epsilon, and the share of it "
        "that is saved against the printed noise and against other bounds, over epsilon and over delta.",
    ),
}
