"""dwork2018-generalization: how much larger the loss on a fresh sample is, in its moments and in its tail."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dperm_pipeline.figures import style

# Mechanism -> name, marker; colours tell k.
_MECHANISMS = {"member": ("membership mechanism (worst)", "D"), "exppw": ("ExpPW", "o")}
_COLOURS = {1: "#0072B2", 2: "#009E73", 3: "#D55E00"}
_GREY = "#666666"
_PRINTED, _MENDED = ("#333333", (0, (5, 1.5))), ("#333333", (0, (1, 1.2)))


def generalization(rows: pd.DataFrame) -> Figure:
    """Draw the ratio of the k-th moments over epsilon, and quantiles of the loss over beta, beside Lemmas 6.4 and 6.5.

    - rows: of the experiment dwork2018-generalization.
    - Returns: bands are 95 % intervals of the quantiles by order statistics.
    """
    rows = rows.astype({key: object for key in rows if isinstance(rows[key].dtype, pd.CategoricalDtype)})
    figure = Figure(figsize=(7.0, 3.75))
    first, second = figure.subplots(1, 2)
    _moments(first, rows[(rows["metric"] == "log_ratio")])
    tail = rows[rows["series"] == "tail"]
    # The largest epsilon at which samples were drawn too.
    epsilon = tail.loc[tail["mechanism"] == "exppw", "epsilon"].max()
    tail = tail[tail["epsilon"] == epsilon]
    _tail(second, tail, epsilon)
    handles = [Line2D([], [], color=colour, lw=3, label=f"k = {k}") for k, colour in _COLOURS.items()]
    handles += [Line2D([], [], color=_GREY, marker=mark, ls="", label=name) for name, mark in _MECHANISMS.values()]
    handles += [
        Line2D([], [], color=_GREY, lw=0.8, label="exp(kε): DP of the model"),
        Line2D([], [], color=_PRINTED[0], ls=_PRINTED[1], label="as printed: exp(k²ε); Lemma 6.5"),
        Line2D([], [], color=_MENDED[0], ls=_MENDED[1], label="Lemma 6.5, integer k (D13)"),
    ]
    drawn = _drawn(tail)
    small = rows.loc[(rows["metric"] == "log_ratio") & (rows["mechanism"] == "exppw"), "n"]
    lines = [
        f"Left: exact; ExpPW with all labels enumerated, the largest ratio over three laws, two T and n from "
        f"{int(small.min())} to {int(small.max())}. Right: {style.number(drawn['repeat'].nunique())} samples of "
        f"{style.equals('n', drawn['n'].max())}, threshold without noise; α the largest empirical loss; band: 95 % "
        "interval. The membership mechanism is above the printed bound where β > exp(−ε/4) (D14)."
    ]
    style.footer(figure, handles, columns=3, lines=lines)
    return figure


def _moments(axis: Axes, rows: pd.DataFrame) -> None:
    epsilons = np.array(sorted(rows["epsilon"].unique()))
    fine = np.geomspace(epsilons.min(), epsilons.max(), 100)
    lowest = rows.groupby(["mechanism", "k", "epsilon"])["value"].max().min()
    for k, colour in _COLOURS.items():
        axis.plot(fine, k**2 * fine, color=colour, ls=_PRINTED[1], lw=1.0)
        axis.plot(fine, k * fine, color=colour, lw=0.8)
        for mechanism, (_, marker) in _MECHANISMS.items():
            own = rows[(rows["k"] == k) & (rows["mechanism"] == mechanism)].groupby("epsilon")["value"].max()
            axis.plot(own.index, own, color=colour, marker=marker, ls="")
    axis.set_title("k-th moment on a fresh sample over that on S", size=8)
    axis.set_xlabel("ε")
    axis.set_ylabel("logarithm of the ratio")
    style.epsilon_axis(axis.xaxis, list(epsilons))
    style.value_axis(axis.yaxis, lowest, 9 * epsilons.max())


def _tail(axis: Axes, rows: pd.DataFrame, epsilon: float) -> None:
    factors = rows[rows["metric"] == "factor"]
    for form, (colour, line) in (("printed", _PRINTED), ("mended", _MENDED)):
        own = factors[factors["variant"] == form].sort_values("gamma")
        axis.plot(own["gamma"], own["value"], color=colour, ls=line, lw=1.0)
    betas = np.array(sorted(factors["gamma"].unique()))
    level = rows[(rows["mechanism"] == "member") & (rows["metric"] == "ratio")]["value"].iloc[0]
    axis.plot(betas, np.full(len(betas), level), color=_GREY, marker=_MECHANISMS["member"][1], lw=0.8)
    values = np.sort(_drawn(rows)["value"].to_numpy())
    quantiles = np.array([_quantile(values, beta) for beta in betas])
    axis.fill_between(betas, quantiles[:, 1], quantiles[:, 2], color=_GREY, alpha=0.3, lw=0)
    axis.plot(betas, quantiles[:, 0], color=_GREY, marker=_MECHANISMS["exppw"][1], lw=0.8)
    axis.set_xscale("logit")
    axis.set_title(f"loss exceeded with probability β, {style.equals('ε', epsilon)}", size=8)
    axis.set_xlabel("β")
    axis.set_ylabel("loss on a fresh sample over α")
    shown = [beta for beta in (0.001, 0.01, 0.1, 0.5, 0.9, 0.99) if betas.min() <= beta <= betas.max()]
    axis.set_xticks(shown, [style.number(beta) for beta in shown])
    axis.minorticks_off()
    style.value_axis(axis.yaxis, quantiles[:, 1].min(), max(factors["value"].max(), level))


def _drawn(rows: pd.DataFrame) -> pd.DataFrame:
    """The losses of the samples of most records: what is drawn on the right."""
    rows = rows[(rows["mechanism"] == "exppw") & (rows["metric"] == "ratio")]
    return rows[rows["n"] == rows["n"].max()]


def _quantile(ordered: np.ndarray, beta: float) -> tuple[float, float, float]:
    """Return the (1 - beta)-quantile of a sorted sample and its 95 % interval by order statistics."""
    n = len(ordered)
    spread = 1.96 * np.sqrt(n * beta * (1 - beta))
    ranks = np.clip([n * (1 - beta), n * (1 - beta) - spread, n * (1 - beta) + spread], 0, n - 1)
    return tuple(ordered[np.round(ranks).astype(int)])
