"""kifer2012's bounds over repeats: how near what was measured comes to each, and how often those that may fail do."""

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scipy import special

from dperm_pipeline.figures import style
from dperm_pipeline.figures.points import plain

# Place in the rows -> place in the paper, and what is bounded. Drawn: those up to `drawn`, in this order.
BOUNDS = {
    "lemma-24": ("Lemma 24", "‖θ# − θpriv‖"),
    "corollary-25": ("Corollary 25", "gap of J#"),
    "lemma-3": ("Lemma 3", "excess risk"),
    "theorem-26.1": ("Theorem 26.1", "excess risk, gamma noise"),
    "theorem-26.2": ("Theorem 26.2", "excess risk, Gaussian noise"),
    "theorem-31": ("Theorem 31", "excess risk, strongly convex"),
    "theorem-30-a": ("Theorem 30 (a)", "‖θpriv − θ#‖"),
    "theorem-30-b": ("Theorem 30 (b)", "‖θpriv − θ̂‖"),
    "definition-2.1": ("Definition 2.1", "largest entries of a row"),
    "definition-2.2": ("Definition 2.2", "norm of a column"),
    "definition-2.3": ("Definition 2.3", "‖M'w‖∞"),
    "definition-2.4": ("Definition 2.4", "restricted strong convexity"),
    "section-2.2": ("Section 2.2", "minimiser with a ridge credited against Δ"),
    "section-2.2.2": ("Section 2.2.2", "least eigenvalue, against λn/(10p)"),
    "section-3.1": ("Section 3.1", "|clip(y) − m| against |y − m|"),
    "lemma-15": ("Lemma 15", "determinant after a change of rank 2"),
    "claim-22": ("Claim 22", "rise above the minimum"),
    "claim-23": ("Claim 23", "secants rise"),
    "lemma-39-zeta": ("Lemma 39", "gradient"),
    "lemma-39-lambda": ("Lemma 39", "eigenvalue of the Hessian"),
    "appendix-h-zeta": ("Appendix H", "gradient"),
    "appendix-h-lambda": ("Appendix H", "eigenvalue of the Hessian"),
    "lemma-40": ("Lemma 40", "sum of absolute eigenvalues"),
    "nuclear-rank-0": ("Section 1.1.1", "nuclear norm, rank 0: |log-ratio| against ε"),
    "nuclear-rank-1": ("Section 1.1.1", "nuclear norm, rank 1: |log-ratio| against ε"),
    "nuclear-rank-2": ("Section 1.1.1", "nuclear norm, rank 2: |log-ratio| against ε"),
    "nuclear-adding": ("Section 1.1.1", "nuclear norm, adding: divergence against δ"),
    "nuclear-removing": ("Section 1.1.1", "nuclear norm, removing: divergence against δ"),
    "nuclear-prox": ("Section 1.1.1", "nuclear norm: cvxpy against closed form"),
}
_DRAWN = tuple(BOUNDS)[:12]
# These say that two things are equal, or have sides of any sign: there is no ratio to the bound.
_DIFFERENCES = ("lemma-15", "section-2.2", "section-3.1", "claim-23")
_DESIGNS = {"extremal": "#0072B2", "hadamard": "#D55E00", "rademacher": "#000000", "gaussian": "#CC79A7"}
# Bounds that may fail: colour and marker, and whether they hold by themselves or as mended.
_CURVES = {
    ("theorem-26.1", "printed"): ("#0072B2", "o"),
    ("theorem-26.2", "printed"): ("#56B4E9", "s"),
    ("theorem-31", "printed"): ("#009E73", "D"),
    ("theorem-30-a", "printed"): ("#D55E00", "^"),
    ("theorem-30-a", "mended"): ("#D55E00", "v"),
    ("theorem-30-b", "printed"): ("#CC79A7", "<"),
    ("theorem-30-b", "mended"): ("#CC79A7", ">"),
}
# gamma at which ratios are drawn where a bound depends on it; an exact bound counts as violated above this.
_GAMMA, _TOLERANCE = 0.1, 1e-9
_GREY, _FARTHEST = "#777777", 1e-6
_POINT = ["dataset", "variant", "p", "n", "problem", "ridge_multiple", "variance"]


def bounds(rows: pd.DataFrame) -> Figure:
    """Draw measured/bound for each bound and design, and the violation rates of the bounds that may fail.

    No specification: its left lines lie across, for a bound and a design each, and its intervals of rates are
    Clopper's and Pearson's. Left: thin lines from the least to the largest ratio, thick ones over the middle 90 %,
    ticks at the median. Right: the rate at the least favourable point of each bound.
    """
    failed = int((rows["status"] == "failed").sum())
    rows = plain(rows[rows["status"] == "ok"])
    figure = Figure(figsize=(7.0, 4.7))
    left, right = figure.subplots(1, 2, gridspec_kw={"width_ratios": (1.5, 1)})
    ratios = _ratios(rows)
    designs = [design for design in _DESIGNS if design in set(ratios["dataset"])]
    _ranges(left, ratios, designs)
    drawn = _rates(right, rows)
    handles = [Line2D([], [], color=_DESIGNS[design], lw=3, label=design) for design in designs]
    handles += [
        Line2D([], [], color=colour, marker=marker, ls="", mfc="white" if form == "mended" else colour, label=label)
        for (row, form), (colour, marker) in _CURVES.items()
        if (row, form) in drawn and (label := BOUNDS[row][0] + (", mended" if form == "mended" else ""))
    ]
    first, counted = rows.iloc[0], _counted(rows)
    sets = counted["row"].str.startswith("definition")
    data = f" and {counted.loc[sets, 'repeats'].max()} data sets (Definition 2)" if sets.any() else ""
    fits = counted.loc[~sets, "repeats"].max()
    lines = [
        f"{fits} fits{data} at each of {style.equals('p', *sorted(rows['p'].unique()))}; "
        f"{style.equals('ε', first['epsilon'])}, {style.equals('δ', rows['delta'].max())} (Gaussian noise) or 0. Left: "
        "range (cut off at 10⁻⁶), middle 90 % and median of measured/bound over all problems of a design; right of the "
        f"line the bound is violated. Bounds with γ: at {style.equals('γ', _GAMMA)}, as printed. Right: highest "
        "violation rate over designs, p and Δ, with 95 % interval; above the grey bar a bound fails more often than it "
        "may.",
    ]
    if failed:
        lines.append(f"{failed} numbers could not be measured and are left out.")
    style.footer(figure, handles, columns=4, lines=lines)
    return figure


def checked(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a line for each bound: how often it was checked and violated, and how near the measured came to it."""
    found = []
    for (row, form), group in _exact(rows).groupby(["row", "form"], sort=True):
        largest = float(group["value"].max())
        difference = row in _DIFFERENCES
        found.append(
            {
                "row": row, "form": form, "gamma": math.nan, "instances": len(group),
                "violations": int((group["value"] > _TOLERANCE + group["slack"]).sum()), "rate": math.nan,
                "ratio": math.nan if difference else 1 + largest, "difference": largest if difference else math.nan,
            }
        )  # fmt: skip
    largest = rows[rows["metric"] == "ratio"].groupby(["row", "form", "gamma"])["value"].max()
    for (row, form, gamma), group in _counted(rows).groupby(["row", "form", "gamma"], sort=True):
        found.append(
            {
                "row": row, "form": form, "gamma": gamma, "instances": int(group["repeats"].sum()),
                "violations": int(group["violated"].sum()), "rate": (group["violated"] / group["repeats"]).max(),
                "ratio": float(largest[row, form, gamma]), "difference": math.nan,
            }
        )  # fmt: skip
    found = pd.DataFrame(found)
    place, bounded = ([BOUNDS[row][k] for row in found["row"]] for k in (0, 1))
    found = found.assign(order=found["row"].map([*BOUNDS].index), place=place, bounded=bounded)
    return found.sort_values(["order", "form", "gamma"], kind="stable", ignore_index=True)


def _exact(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the excesses of bounds that always hold, with the slack of each (0 where none is recorded)."""
    keys = ["row", "form", "calibration", "delta", *_POINT, "repeat"]
    excess, slack = (rows.loc[rows["metric"] == metric, [*keys, "value"]] for metric in ("excess", "slack"))
    found = excess.merge(slack.rename(columns={"value": "slack"}), on=keys, how="left")
    return found.assign(slack=found["slack"].fillna(0.0))


def _counted(rows: pd.DataFrame) -> pd.DataFrame:
    """Return, for each bound that may fail, its violations among the repeats at each point."""
    counts = rows[rows["metric"] == "violated"].groupby(["row", "form", "gamma", *_POINT], sort=True)["value"]
    return counts.agg(violated="sum", repeats="size").reset_index()


def _ratios(rows: pd.DataFrame) -> pd.DataFrame:
    """Return measured/bound of the bounds that are drawn: as printed, of Definition 2 for either design."""
    ok = rows[rows["row"].isin(_DRAWN)]
    ok = ok[(ok["form"] == "printed") | ok["row"].str.startswith("definition")]
    always = ok[ok["metric"] == "excess"]
    # Where b is 0 beyond doubt nothing moves; a logarithm needs a ratio above 0.
    always = always.assign(value=np.maximum(1 + always["value"], 1e-12))
    return pd.concat([always, ok[(ok["metric"] == "ratio") & (ok["gamma"] == _GAMMA)]])


def _ranges(axis: Axes, ratios: pd.DataFrame, designs: list[str]) -> None:
    shown = [row for row in _DRAWN if row in set(ratios["row"])]
    # From the top: bounds in their order, designs of a bound one under the other.
    for place, row in enumerate(reversed(shown)):
        here = ratios[ratios["row"] == row]
        present = [design for design in designs if design in set(here["dataset"])]
        for k, design in enumerate(present):
            values = here.loc[here["dataset"] == design, "value"].to_numpy()
            y, colour = place + 0.22 * ((len(present) - 1) / 2 - k), _DESIGNS[design]
            low, high = np.quantile(values, (0.05, 0.95))
            axis.plot([values.min(), values.max()], [y, y], color=colour, lw=0.9, zorder=3)
            axis.plot([low, high], [y, y], color=colour, lw=3, solid_capstyle="butt", zorder=3)
            if values.max() > 1.5 * values.min():
                axis.plot([np.median(values)], [y], color="white", marker="|", ms=4.5, mew=1.0, zorder=4)
            else:
                axis.plot([np.median(values)], [y], color=colour, marker="s", ms=3, zorder=4)
    axis.axvline(1.0, color=_GREY, lw=1.0, zorder=2)
    axis.set_xscale("log")
    # Ratios further below than this say no more than "far below".
    low = max(float(ratios["value"].min()), _FARTHEST)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(ratios["value"].max())) + 1)
    ticks = [10.0**k for k in decades][:: 2 if len(decades) > 6 else 1]
    axis.set_xticks(ticks, [style.number(tick) for tick in ticks])
    axis.minorticks_off()
    axis.set_xlim(low / 1.5, 2.0 * max(1.0, float(ratios["value"].max())))
    axis.set_yticks(range(len(shown)), [BOUNDS[row][0] for row in reversed(shown)])
    axis.set_ylim(-0.6, len(shown) - 0.4)
    axis.tick_params(axis="y", length=0)
    axis.set_xlabel("measured / bound")


def _rates(axis: Axes, rows: pd.DataFrame) -> set[tuple[str, str]]:
    """Draw the highest violation rates over gamma; return which bounds were drawn."""
    drawn = set()
    gammas = sorted(rows.loc[(rows["metric"] == "violated") & rows["row"].str.startswith("theorem"), "gamma"].unique())
    counted = _counted(rows)
    for place, gamma in enumerate(gammas):
        axis.plot([place - 0.45, place + 0.45], [gamma, gamma], color=_GREY, lw=1.6, zorder=2)
    for k, ((row, form), (colour, marker)) in enumerate(_CURVES.items()):
        here = counted[(counted["row"] == row) & (counted["form"] == form)]
        if here.empty:
            continue
        drawn.add((row, form))
        worst = here.loc[(here["violated"] / here["repeats"]).groupby(here["gamma"]).idxmax()]
        hits, n = worst["violated"].to_numpy(), worst["repeats"].to_numpy()
        rate = hits / n
        low = np.where(hits > 0, special.betaincinv(np.maximum(hits, 1), n - hits + 1, 0.025), 0.0)
        high = np.where(hits < n, special.betaincinv(hits + 1, np.maximum(n - hits, 1), 0.975), 1.0)
        x = [gammas.index(gamma) + 0.12 * (k - (len(_CURVES) - 1) / 2) for gamma in worst["gamma"]]
        axis.errorbar(
            x, rate, yerr=[rate - low, high - rate], color=colour, marker=marker, ms=4, ls="", elinewidth=0.8,
            mfc="white" if form == "mended" else colour, zorder=3, clip_on=False,
        )  # fmt: skip
    axis.grid(visible=False, axis="x")
    axis.set_xticks(range(len(gammas)), [style.number(gamma) for gamma in gammas])
    axis.set_xlim(-0.5, len(gammas) - 0.5)
    axis.set_ylim(0.0, 1.02)
    axis.set_xlabel("γ, the rate that is allowed (grey)")
    axis.set_ylabel("violation rate")
    return drawn
