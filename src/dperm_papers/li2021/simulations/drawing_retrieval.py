"""Figures 7 and S.3 of li2021: the retrieved share of (1 - r) epsilon along the path of Lambda."""

from functools import partial

import pandas as pd
from matplotlib.figure import Figure

from dperm_papers.li2021.shared import drawing_panels as panels
from dperm_pipeline.figures import style

# Metric -> what the titles of the panels that show it say.
_OPTIONS = {"share_exceeding": ", over J", "share_without_two": ", no 2"}
METRICS = tuple(f"{name}_{word}" for name in ("share", *_OPTIONS) for word in ("mean", "half"))
_MODELS = ("linear", "poisson", "logistic")


def _draw(rows: pd.DataFrame, *, pure: bool, corrected: bool) -> Figure:
    """Draw a panel for each design and epsilon, and of the last linear design one for each option of Equation 13.

    - rows: of the experiment li2021-simulations: `METRICS` and `runs`.
    - pure: delta = 0.
    - corrected: ridge, for which retrieval is sound, instead of the published mechanisms.
    """
    curves = (panels.RIDGE,) if corrected else panels.PUBLISHED
    rows = panels.plain(rows)
    delta = panels.of_delta(rows, pure)
    designs = panels.ordered(list(rows["dataset"].unique()), _MODELS)
    shown = [(design, "share") for design in designs]
    if not corrected:
        linear = [design for design in designs if design.startswith("linear")] or designs
        shown += [(linear[-1], option) for option in _OPTIONS]
    words = [_OPTIONS.get(metric, "") for _, metric in shown]
    figure, places = panels.grid(rows, [design for design, _ in shown], notes=1.4, words=words)
    for axis, design, epsilon, i, j in places:
        metric = shown[i][1]
        here = rows[(rows["dataset"] == design) & (rows["epsilon"] == epsilon)]
        for curve in reversed(curves):
            own = here[here["delta"] == delta] if curve.of_delta else here
            panels.along(axis, panels.read(own, curve, METRICS), curve, metric)
        panels.strengths_axis(axis, last=i == len(shown) - 1)
        axis.set_ylim(-0.04, 1.04)
        axis.set_yticks([0, 0.5, 1], ["0", "½", "1"] if j == 0 else [""] * 3)
        if j == 0:
            axis.set_ylabel("retrieved", size=6.8, labelpad=1)
    lines = [f"{panels.setting(rows, pure)} Share of (1 − r)ε: Equation 13 with a maximum and the factor 2 (N5), over "
             "all j; in the last two rows over J (N13), and without the 2. Bands: 95 % intervals."]  # fmt: skip
    if corrected:
        share = style.equals("r", float(rows["budget_share"].iloc[0]))
        lines = [
            "Retrieval costs what it claims for ridge alone, whose modulus is public: the share depends on Λ and "
            f"{share}, not on the data, the variant or δ. It is the choice of another r, known before any record is "
            "seen."
        ]
    return panels.finish(figure, curves, lines, columns=3)


fig7 = partial(_draw, pure=False, corrected=False)
fig7_corrected = partial(_draw, pure=False, corrected=True)
figs3 = partial(_draw, pure=True, corrected=False)
figs3_corrected = partial(_draw, pure=True, corrected=True)
