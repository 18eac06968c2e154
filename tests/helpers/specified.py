"""What the tests of the figures' engine draw: rows of two mechanisms, a panel of their lines, and a figure's words."""

import itertools

import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg

from dperm_pipeline.figures.spec import DASHED, Panel, encoded

LINES = encoded("mechanism", {"ours": ("ours", "#0072B2", "o"), "theirs": ("theirs", "#D55E00", "s", DASHED)})


def made(**changed):
    """Rows of two mechanisms on two data sets at three epsilons, five repeats each."""
    rng = np.random.default_rng(1)
    places = [
        (mechanism, dataset, epsilon, repeat)
        for mechanism in ("ours", "theirs")
        for dataset in ("first", "second")
        for epsilon in (0.1, 1.0, 10.0)
        for repeat in range(5)
    ]
    rows = pd.DataFrame(places, columns=["mechanism", "dataset", "epsilon", "repeat"])
    return rows.assign(value=rng.uniform(1, 2, len(rows)), status="ok", delta=1e-6, **changed)


def panel(**more):
    return Panel(LINES, "epsilon", "error", statistic="mean", **more)


def words(figure):
    return " ".join(" ".join(text.get_text() for text in figure.texts).split())


def assert_nothing_overlaps(figure):
    """Draw it: all lies inside the canvas, the caption under the legend, and the legend under the panels."""
    FigureCanvasAgg(figure).draw()
    panels = [axis.get_tightbbox() for axis in figure.axes]
    caption, legend = figure.texts[0].get_window_extent(), figure.legends[0].get_window_extent()
    for box in (*panels, caption, legend):
        assert figure.bbox.x0 - 1 <= box.x0 and box.x1 <= figure.bbox.x1 + 1
        assert figure.bbox.y0 - 1 <= box.y0 and box.y1 <= figure.bbox.y1 + 1
    assert caption.y1 <= legend.y0 + 1
    assert all(legend.y1 <= panel.y0 + 1 for panel in panels)


def assert_ticks_are_apart(figure):
    for axis in figure.axes:
        ticks = [label.get_window_extent() for label in axis.get_xticklabels() if label.get_visible()]
        assert all(left.x1 <= right.x0 for left, right in itertools.pairwise(ticks))
