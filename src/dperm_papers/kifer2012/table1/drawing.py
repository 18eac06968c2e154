"""Table 1 of kifer2012: measured excess risks, the slopes that the table states, and the bounds behind it."""

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dperm_pipeline.figures import style

# Row of the table -> title, and the exponents of p and of n that the paper states.
ROWS = {
    "theorem-4.1": ("Theorem 4.1, gamma noise", 3.0, -1.0),
    "theorem-4.2": ("Theorem 4.2, Gaussian noise", 2.5, -1.0),
    "theorem-5": ("Theorem 5, Gaussian noise", 2.0, -1.0),
}
# Design -> colour, line, and a marker for the calibration "paper" and for "tight"; the last one, drawn records, lies on
# the line of the Hadamard design, so its markers let that show through.
_DESIGNS = {
    "extremal": ("#0072B2", "-", ("o", "o")),
    "hadamard": ("#D55E00", (0, (4, 1.6)), ("s", "s")),
    "rademacher": ("#000000", (0, (1, 2.5)), ("x", "+")),
}
_GREY = "#777777"
# The row of Assumption 1, which the Hadamard design meets and the extremal one does not. Its theorem is decided over p
# at n = 100 p^2, where p^2/n is constant. The other rows are attained by the extremal design, and decided at one n.
_NICE, _TIED = "theorem-5", "100 p^2"
# The bound that is drawn: half of all repeats may lie above it.
_GAMMA = 0.5
# The stated slope starts this far above the measured line, which would cover it.
_ABOVE = 4.0


def table1(rows: pd.DataFrame) -> Figure:
    """Draw the excess risk over p and over n, a column for each row of Table 1.

    - rows: of the experiment kifer2012-table1.
    - Returns: above over p, at the smallest n (third column: at n = 100 p^2, without the design that breaks Assumption
      1), below over n at the largest p. Lines: means over repeats; their 95 % intervals are narrower than the markers.
      Dotted: the slopes of Table 1, drawn above the line of the design that decides the row; dashed: its bound.
    """
    points = _points(rows)
    figure = Figure(figsize=(7.0, 5.3))
    axes = figure.subplots(2, len(ROWS), squeeze=False)
    shared = _sizes(rows)
    n, p = shared[0], max(points["p"])
    for column, (row, (title, *slopes)) in enumerate(ROWS.items()):
        here = points[points["row"] == row]
        fixed, tied = here[here["sizing"] == "fixed"], here[here["sizing"] == _TIED]
        nice = row == _NICE
        if nice:
            fixed, tied = (part[part["dataset"] != "extremal"] for part in (fixed, tied))
        decides = "hadamard" if nice else "extremal"
        axes[0, column].set_title(title, size=8)
        # Where the exponent of p^2/n is 2, that at n = 100 p^2 is 0.
        stated = slopes[0] + 2 * slopes[1] if nice else slopes[0]
        _panel(axes[0, column], tied if nice else fixed[fixed["n"] == n], "p", stated, decides)
        _panel(axes[1, column], fixed[fixed["p"] == p], "n", slopes[1], decides)
        axes[0, column].set_xlabel("p, at n = 100 p²" if nice else f"p, at n = {style.number(n)}")
        axes[1, column].set_xlabel(f"n, at p = {style.number(p)}")
    for axis in axes[:, 0]:
        axis.set_ylabel("excess risk")
    handles = [
        Line2D([], [], **_look(design, calibration), label=f"{design}, {calibration}")
        for calibration in ("paper", "tight")
        for design in _DESIGNS
        if design in set(points["dataset"])
    ]
    handles += [
        Line2D([], [], color=_GREY, lw=1.0, ls=(0, (1, 1.2)), label="slope in Table 1 (shifted up)"),
        Line2D([], [], color=_GREY, lw=1.0, ls=(0, (6, 2)), label=f"bound, γ = {_GAMMA}"),
    ]
    first = rows.iloc[0]
    deltas = style.equals("δ", max(rows["delta"]))
    lines = [
        "Excess empirical risk of private linear regression (squared loss on the ball of radius √p); means over "
        f"{int(points['ok'].max())} repeats. {style.equals('ε', first['epsilon'])}; Gaussian noise: {deltas}. The "
        "extremal design attains Theorem 4: slope and bound of the first two columns are drawn for it; the Hadamard "
        "design is benign, and falls below. It meets Assumption 1, which the extremal one does not: slope and bound "
        "(of Theorem 31) of the third column are drawn for it, over p at n = 100 p², where Theorem 5's p²/n is "
        "constant. Over n that design falls faster than stated: slack of an upper bound. Rademacher: records that are "
        f"really drawn, at {style.equals('n', n)}.",
        *_failed(rows),
    ]
    style.footer(figure, handles, columns=len(set(points["dataset"])), lines=lines)
    return figure


def table1_table(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tabulate the slopes of the mean excess risk beside those that Table 1 states.

    - rows: of the experiment kifer2012-table1.
    - plain: numbers.
    - words: the same for people.
    """
    points = _points(rows)
    shared = _sizes(rows)
    found = []
    for (row, design, calibration), group in _by(points, ["row", "dataset", "calibration"]):
        title, in_p, in_n = ROWS[row]
        fixed, tied = (group[group["sizing"] == sizing] for sizing in ("fixed", _TIED))
        at_n, at_p = fixed[fixed["n"] == shared[0]], fixed[fixed["p"] == group["p"].max()]
        found.append(
            {
                "row": title, "design": design, "calibration": calibration,
                "stated slope in p": in_p, "slope in p": _slope(at_n["p"], at_n["mean"]),
                "slope in p at n = 100 p^2": _slope(tied["p"], tied["mean"]),
                "stated slope in n": in_n, "slope in n": _slope(at_p["n"], at_p["mean"]),
            }
        )  # fmt: skip
    plain = pd.DataFrame(found)
    words = plain.map(lambda value: value if isinstance(value, str) else "–" if math.isnan(value) else f"{value:.3g}")
    return plain, words


def _by(frame: pd.DataFrame, keys: list[str]):
    frame = frame.astype({key: object for key in keys if isinstance(frame[key].dtype, pd.CategoricalDtype)})
    return frame.groupby(keys, sort=True)


def _sizes(rows: pd.DataFrame) -> list[int]:
    """Return the n that were run at every p, ascending."""
    return sorted(int(n) for n in rows.loc[rows["sizing"] == "fixed", "n"].unique())


def _points(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a line for each row of the table, design, calibration, p and n: mean risk, its bound, repeats."""
    keys = ["row", "dataset", "calibration", "p", "n", "sizing"]
    ok = rows[(rows["metric"] == "excess_risk") & (rows["status"] == "ok")]
    means = _by(ok, keys)["value"].agg(mean="mean", ok="size")
    bounds = rows[(rows["metric"] == "bound") & (rows["gamma"] == _GAMMA)]
    return means.join(_by(bounds, keys)["value"].first().rename("bound")).reset_index()


def _panel(axis: Axes, points: pd.DataFrame, over: str, slope: float, decides: str) -> None:
    """Draw a line for each design and calibration; slope and bound for the design that decides the row."""
    axis.set_xscale("log")
    for (design, calibration), line in _by(points, ["dataset", "calibration"]):
        line = line.sort_values(over)
        axis.plot(line[over], line["mean"], **_look(design, calibration), zorder=4 if design == "rademacher" else 3)
        if (design, calibration) == (decides, "paper"):
            x = line[over].to_numpy(dtype=float)
            stated = _ABOVE * line["mean"].iloc[0] * (x / x[0]) ** slope
            axis.plot(x, stated, color=_GREY, lw=1.2, ls=(0, (1, 1.2)), zorder=2)
            axis.plot(x, line["bound"], color=_GREY, lw=1.0, ls=(0, (6, 2)), zorder=2)
    values = sorted(points[over].unique())
    axis.set_xticks(values, [style.number(value) for value in values])
    axis.minorticks_off()
    shown = np.concatenate([points["mean"], points.loc[points["dataset"] == decides, "bound"].dropna()])
    style.value_axis(axis.yaxis, shown.min(), shown.max())


def _look(design: str, calibration: str) -> dict[str, object]:
    colour, line, (paper, tight) = _DESIGNS[design]
    marker, face = (paper, colour) if calibration == "paper" else (tight, "white")
    return {"color": colour, "marker": marker, "ls": line, "mfc": face, "ms": 4}


def _slope(x: pd.Series, y: pd.Series) -> float:
    if len(x) < 2:
        return math.nan
    return float(np.polyfit(np.log(x.to_numpy(dtype=float)), np.log(y.to_numpy()), 1)[0])


def _failed(rows: pd.DataFrame) -> list[str]:
    failed = int(((rows["metric"] == "excess_risk") & (rows["status"] == "failed")).sum())
    return [f"{failed} repeats did not converge and are left out."] if failed else []
