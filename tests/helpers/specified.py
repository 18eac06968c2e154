"""What the tests of the figures' engine draw: rows of two mechanisms, a panel of their lines, and a figure's words."""

import numpy as np
import pandas as pd

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
