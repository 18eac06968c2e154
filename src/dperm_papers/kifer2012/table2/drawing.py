"""Table 2 of kifer2012: how many records Exp-mech and Samp-Agg need, their work, and the risk of what follows."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dperm_pipeline.figures import style

# Selection -> name, colour, marker, what Table 2 says of n, and that law in words.
LOOKS = {
    "exp_mech": ("Exp-mech", "#0072B2", "o", lambda p, s: s**3 * math.log(p), "s³ log p"),
    "samp_agg": ("Samp-Agg", "#D55E00", "s", lambda p, s: s**2 * math.log(p) ** 2, "s² log² p"),
    "lasso": ("lasso, not private", "#009E73", "^", lambda p, s: s * math.log(p), "s log p"),
}
_GREY = "#777777"
# Samp-Agg with Algorithm 6, line 4 as printed.
_PRINTED = {"color": "#D55E00", "marker": "s", "mfc": "white", "ls": (0, (3, 1.5))}
_ARMS = ((-0.12, "exp_mech", "part"), (0.0, "samp_agg", "part"), (0.12, "samp_agg", "row"))
_COMPARED = ("near-copies", "small-signal")
ENOUGH = 0.9
_RESAMPLES = 2000
# Probabilities are kept this far from 0 and 1 where their logit is taken.
_LEAST = 1e-12


def table2(rows: pd.DataFrame) -> Figure:
    """Draw what Table 2 states: records needed, work, and the risk along the records.

    - rows: of the experiment kifer2012-table2; parts that were not run leave their panels out.
    """
    risks = bool(len(rows[rows["row"] == "consistency"]))
    figure = Figure(figsize=(7.0, 5.0 if risks else 3.1))
    axes = figure.subplots(2 if risks else 1, 3, squeeze=False)
    needed = _needed(rows)
    _recovery(axes[0, 0], rows)
    for axis, support in zip(axes[0, 1:], ("exp_mech", "samp_agg"), strict=True):
        _laws(axis, needed[needed["support"] == support], support)
    if risks:
        _work(axes[1, 0], needed)
        _risk(axes[1, 1], rows)
        _compared(axes[1, 2], rows)
    handles = [
        Line2D([], [], color=colour, marker=marker, label=name)
        for support, (name, colour, marker, *_) in LOOKS.items()
        if risks or support != "lasso"
    ]
    handles.append(Line2D([], [], color=_GREY, lw=1.0, ls=(0, (1, 1.2)), label="law of Table 2 (through the first)"))
    if risks:
        handles.append(Line2D([], [], **_PRINTED, label="Samp-Agg, line 4 as printed"))
    first = rows[rows["metric"] == "right"].iloc[0]
    repeats = int(rows["repeat"].max()) + 1
    lines = [
        f"Random signs, least |θ*| 1, noise sd {style.number(first['noise'])}; {style.equals('ε', first['epsilon'])}, "
        f"{style.equals('δ', first['delta'])}, half of ε for each stage; printed constants; {repeats} data sets at a "
        "point. P(right support) given the data is exact. n90: least n at which its mean is 0.9 (logit interpolated "
        "in log n).",
        *_beyond(needed),
    ]
    if risks:
        lines.append(
            "Risk: excess over the best s-sparse θ (lasso: on new records). Over n: at the largest p that was run, "
            f"{_largest_words(rows)}. Algorithm 6, line 4 as printed divides records by their whole norm (erratum "
            "K14), else by that of their s largest entries. Intervals: 95 %."
        )
    style.footer(figure, handles, columns=4, lines=[*lines, *_failed(rows)])
    return figure


def table2_table(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tabulate n90, the same in units of Table 2's laws, and the work there.

    - rows: of the experiment kifer2012-table2.
    - plain: numbers; n90 is missing where it is outside the grid.
    - words: the same for people.
    """
    needed = _needed(rows)
    plain = pd.DataFrame(
        {
            "selection": [LOOKS[support][0] for support in needed["support"]],
            "p": needed["p"], "s": needed["s"], "n90": needed["n90"], "low": needed["low"], "high": needed["high"],
            "law": [LOOKS[support][4] for support in needed["support"]],
            "n90 / law": needed["n90"] / needed["law"],
            "work": needed["work"],
        }
    )  # fmt: skip
    words = pd.DataFrame(
        {
            "selection": plain["selection"], "p": plain["p"].astype(str), "s": plain["s"].astype(str),
            "n90": [
                f"{line.n90:.4g} [{line.low:.4g}, {line.high:.4g}]" if line.place == "inside"
                else f"{line.place} {line.end:g}"
                for line in needed.itertuples()
            ],
            "n90 / law": [
                "–" if math.isnan(share) else f"{share:.3g} × {law}"
                for share, law in zip(plain["n90 / law"], plain["law"], strict=True)
            ],
            "work": [f"{work:.3g}" + (" subsets" if name == "Exp-mech" else " updates")
                     for work, name in zip(plain["work"], plain["selection"], strict=True)],
        }
    )  # fmt: skip
    return plain, words


def least_size(sizes: np.ndarray, right: np.ndarray) -> float:
    """Return the n at which a probability reaches ENOUGH: its logit interpolated linearly in log n.

    - sizes: shape (m,); rising.
    - right: shape (m,); in [0, 1].
    - Returns:
        -inf if it is enough at the first size, inf if it is at none.
    """
    enough = np.flatnonzero(right >= ENOUGH)
    if not len(enough):
        return math.inf
    k = int(enough[0])
    if k == 0:
        return -math.inf
    kept = np.clip(right[k - 1 : k + 1], _LEAST, 1 - _LEAST)
    logit = np.log(kept / (1 - kept))
    share = (math.log(ENOUGH / (1 - ENOUGH)) - logit[0]) / (logit[1] - logit[0])
    return float(sizes[k - 1] * (sizes[k] / sizes[k - 1]) ** share)


def _plain(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that succeeded, categories as text: they would group by what is not there."""
    rows = rows[rows["status"] == "ok"]
    return rows.astype({key: object for key in rows if isinstance(rows[key].dtype, pd.CategoricalDtype)})


def _needed(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a line for each selection, p and s: n90 with its interval, where it lies, and the work at that n."""
    rows = _plain(rows)
    found = []
    for (support, p, s), group in rows[rows["metric"] == "right"].groupby(["support", "p", "s"], sort=True):
        table = group.pivot(index="repeat", columns="n", values="value")
        sizes, values = table.columns.to_numpy(dtype=float), table.to_numpy()
        n90 = least_size(sizes, np.nanmean(values, axis=0))
        rng = np.random.default_rng(0)
        draws = rng.integers(len(values), size=(_RESAMPLES, len(values)))
        sample = np.sort([least_size(sizes, means) for means in np.nanmean(values[draws], axis=1)])
        inside = math.isfinite(n90)
        low, high = (sample[round(share * (_RESAMPLES - 1))] for share in (0.025, 0.975))
        at = sizes[-1] if n90 == math.inf else sizes[sizes >= n90][0]
        work = rows[(rows["metric"] == "work") & (rows["support"] == support) & (rows["p"] == p) & (rows["s"] == s)]
        found.append(
            {
                "support": support, "p": p, "s": s, "n90": n90 if inside else math.nan,
                "low": low if inside and math.isfinite(low) else math.nan,
                "high": high if inside and math.isfinite(high) else math.nan,
                "place": "inside" if inside else "beyond" if n90 > 0 else "at most",
                "end": sizes[-1] if n90 > 0 else sizes[0],
                "law": LOOKS[support][3](p, s), "work": work.loc[work["n"] == at, "value"].mean(),
            }
        )  # fmt: skip
    return pd.DataFrame(found)


def _recovery(axis: Axes, rows: pd.DataFrame) -> None:
    for (support, _, _), group in _lines(rows, "right"):
        means = group.groupby("n")["value"].mean()
        axis.plot(means.index, means, color=LOOKS[support][1], marker=LOOKS[support][2], ms=2.5, lw=0.9)
    axis.axhline(ENOUGH, color=_GREY, lw=0.8)
    sizes = rows.loc[rows["metric"] == "right", "n"]
    _x_axis(axis, sizes.min() / 1.2, sizes.max() * 1.2)
    axis.set_ylim(-0.03, 1.03)
    axis.set_title("P(right support)", size=8)
    axis.set_xlabel("n")


def _lines(rows: pd.DataFrame, metric: str) -> Iterator[tuple[Any, pd.DataFrame]]:
    """Give the rows of one metric by selection, p and s."""
    rows = _plain(rows)
    yield from rows[rows["metric"] == metric].groupby(["support", "p", "s"], sort=True)


def _laws(axis: Axes, needed: pd.DataFrame, support: str) -> None:
    name, colour, marker, _, law = LOOKS[support]
    inside = needed[needed["place"] == "inside"].sort_values("law")
    shown = inside["n90"]
    if len(inside):
        x, y = inside["law"].to_numpy(), inside["n90"].to_numpy()
        ends = np.array([x[0] / 1.3, x[-1] * 1.3])
        axis.plot(ends, y[0] * ends / x[0], color=_GREY, lw=1.2, ls=(0, (1, 1.2)))
        # The end of an interval that leaves the grid is not drawn.
        error = np.nan_to_num(np.abs(inside[["low", "high"]].to_numpy().T - y))
        axis.errorbar(x, y, yerr=error, color=colour, marker=marker, ls="", ms=4, lw=0.8)
        for s, group in inside.groupby("s"):
            axis.plot(group["law"], group["n90"], color=colour, lw=0.6)
            axis.annotate(f"s = {s}", (group["law"].iloc[-1], group["n90"].iloc[-1]), xytext=(5, -9),
                          textcoords="offset points", size=6.5, ha="center", color=colour)  # fmt: skip
        shown = np.concatenate([y / 1.3, y * 1.2, y[0] * ends / x[0]])
        style.value_axis(axis.yaxis, shown.min(), shown.max())
        _x_axis(axis, *ends)
    else:
        axis.text(0.5, 0.5, "outside the grid", transform=axis.transAxes, ha="center", color=_GREY)
    axis.set_title(f"{name}: n90 against its law", size=8)
    axis.set_ylabel("n90")
    axis.set_xlabel(law)


def _x_axis(axis: Axes, low: float, high: float) -> None:
    """Make a logarithmic x-axis over [low, high] with at least two ticks in plain numbers."""
    axis.set_xscale("log")
    for digits in ((1,), (1, 3), (1, 2, 5), range(1, 10)):
        ticks = [digit * 10.0**k for k in range(-2, 9) for digit in digits]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) >= 2:
            break
    axis.set_xticks(ticks, [style.number(tick) for tick in ticks])
    axis.minorticks_off()
    axis.set_xlim(low, high)


def _work(axis: Axes, needed: pd.DataFrame) -> None:
    for (support, s), line in needed.sort_values("p").groupby(["support", "s"], sort=True):
        _, colour, marker, *_ = LOOKS[support]
        axis.plot(line["p"], line["work"], color=colour, marker=marker, ms=4)
        # Neighbouring lines may end close to each other: smaller s is written lower.
        axis.annotate(f"s = {s}", (line["p"].iloc[-1], line["work"].iloc[-1]), xytext=(5, 4 * (s - 4)),
                      textcoords="offset points", size=6.5, color=colour)  # fmt: skip
    axis.set_xscale("log")
    values = sorted(needed["p"].unique())
    axis.set_xticks(values, [style.number(value) for value in values])
    axis.minorticks_off()
    axis.set_xlim(min(values) / 1.4, max(values) * 2.1)
    style.value_axis(axis.yaxis, needed["work"].min() / 2, needed["work"].max() * 1.5)
    axis.set_title("work at n90: subsets, updates", size=8)
    axis.set_xlabel("p")


def _largest(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the risks along n at each selection's largest p."""
    rows = _plain(rows)
    rows = rows[(rows["row"] == "consistency") & (rows["metric"] == "excess_risk")]
    return rows[rows["p"] == rows.groupby("support")["p"].transform("max")]


def _largest_words(rows: pd.DataFrame) -> str:
    most = _largest(rows).groupby("support")["p"].first()
    return ", ".join(f"{p} ({LOOKS[support][0].split(',')[0]})" for support, p in most.items())


def _risk(axis: Axes, rows: pd.DataFrame) -> None:
    shown, ends = [], []
    for (support, s, divisor, magnitude), group in _largest(rows).groupby(["support", "s", "divisor", "magnitude"]):
        # Mended and inside F is like mended at its corner.
        if divisor == "part" and magnitude != 1:
            continue
        means = group.groupby("ratio")["value"].mean()
        shown += list(means)
        _, colour, marker, *_ = LOOKS[support]
        look = _PRINTED if divisor == "row" else {"color": colour, "marker": marker}
        axis.plot(means.index, means, ms=2.5, lw=0.9, **look)
        words = f"|θ*| = {style.number(magnitude)}" if divisor == "row" else f"s = {s}"
        ends.append((means.index[-1], means.iloc[-1], words, colour))
    ratios = _largest(rows)["ratio"]
    _x_axis(axis, ratios.min() / 1.3, ratios.max() * 6)
    style.value_axis(axis.yaxis, min(shown), max(shown))
    last = {}
    for x, y, words, colour in sorted(ends):
        # Ends that are closer than a line of text: the higher one is written higher.
        close = x in last and math.log10(y / last[x]) < 0.6
        axis.annotate(words, (x, y), xytext=(4, 1 if close else -4), textcoords="offset points", size=6, color=colour)
        last[x] = y
    axis.set_title("risk over n / law", size=8)
    axis.set_ylabel("excess risk")
    axis.set_xlabel("n / law of Table 2 (lasso: s log p)")


def _compared(axis: Axes, rows: pd.DataFrame) -> None:
    rows = _plain(rows)
    rows = rows[rows["row"].isin(_COMPARED) & (rows["metric"] == "excess_risk")]
    shown = []
    for place, row in enumerate(_COMPARED):
        for shift, support, divisor in _ARMS:
            here = rows[(rows["row"] == row) & (rows["support"] == support) & (rows["divisor"] == divisor)]
            mean, low, high = style.mean_interval(here["value"].to_numpy())
            _, colour, marker, *_ = LOOKS[support]
            look = _PRINTED if divisor == "row" else {"color": colour, "marker": marker}
            axis.errorbar(place + shift, mean, yerr=[[mean - low], [high - mean]], ms=4.5, **look)
            shown += [mean]
    axis.set_xticks(range(len(_COMPARED)), [row.replace("-", " ") for row in _COMPARED])
    axis.set_xlim(-0.5, len(_COMPARED) - 0.5)
    style.value_axis(axis.yaxis, min(shown) / 1.5, max(shown) * 1.5)
    axis.set_title("risk where assumptions differ", size=8)
    axis.set_ylabel("excess risk")


def _beyond(needed: pd.DataFrame) -> list[str]:
    """Say where n90 is outside the sizes that were run."""
    found = [
        f"{LOOKS[line.support][0]} p = {line.p}, s = {line.s}: {line.place} {style.number(line.end)}"
        for line in needed[needed["place"] != "inside"].itertuples()
    ]
    return [f"n90 outside the sizes run: {'; '.join(found)}."] if found else []


def _failed(rows: pd.DataFrame) -> list[str]:
    failed = int((rows["status"] == "failed").sum())
    return [f"{failed} values of runs that did not converge are left out."] if failed else []
