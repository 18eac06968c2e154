"""The figures of Theorems 4 and 29, and the table of the gap: lines, crosses and slopes are those of the rows."""

import itertools
import math

import fake_rows
import numpy as np
import pandas as pd
import pytest
from chosen_rows import of
from matplotlib.backends.backend_agg import FigureCanvasAgg
from specified import words

from dperm_papers.kifer2012.theorem4 import figures as theorem4
from dperm_papers.kifer2012.theorem29 import figures as theorem29
from dperm_pipeline.figures import style


@pytest.fixture(scope="module")
def rows():
    return fake_rows.theorem4()


@pytest.fixture(scope="module")
def coins():
    return fake_rows.theorem29(features=(8, 16, 32))


def drawn(axis):
    """Every line of a panel (a vertical one, from 0 to 1, is none) as points, rounded so that they can be compared."""
    lines = [(np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)) for line in axis.lines]
    return [tuple(zip(x, np.round(np.log(y), 9), strict=True)) for x, y in lines if y.min() > 0]


def points(rows, over):
    rows = rows.sort_values(over)
    return tuple(zip(rows[over].astype(float), np.round(np.log(rows["value"]), 9), strict=True))


def test_risks_and_bounds_of_the_printed_calibration_are_lines_over_p_and_n(rows):
    axes = theorem4.theorem4(rows).axes
    fixed = of(rows, calibration="paper", row="theorem-4", sizing="fixed")
    # Least n that both p have; largest p that has both n.
    for axis, over, here in ((axes[0], "p", of(fixed, n=10**6)), (axes[1], "n", of(fixed, p=16))):
        found = drawn(axis)
        for noise in ("gamma", "gaussian"):
            for design in ("extremal", "hadamard"):
                assert points(of(here, metric="excess_risk", variant=noise, dataset=design), over) in found
            # Over n the bounds, over p the stated slopes: six lines, and dashes for what is stated alone.
            bound = points(of(here, metric="bound", variant=noise, dataset="extremal"), over)
            assert (bound in found) == (over == "n")
        assert len(found) == 6 and [line.get_linestyle() for line in axis.lines].count("-") == 4
    assert axes[0].get_title().endswith("n = 10⁶") and axes[1].get_title().endswith("p = 16")
    stated = [line for line in axes[0].lines if line.get_zorder() == 2 and line.get_linewidth() == 1.2]
    slopes = sorted(np.diff(np.log(line.get_ydata()))[0] / math.log(2) for line in stated)
    assert slopes == pytest.approx([2.5, 3 + math.log(math.log(16) / math.log(8)) / math.log(2)])


def test_lengths_are_medians_and_bounds_and_the_quotient_is_drawn(rows):
    axes = theorem4.theorem4(rows).axes
    lengths = of(rows, calibration="paper", dataset="no-data")
    found = drawn(axes[2])
    for noise in ("gamma", "gaussian"):
        assert points(of(lengths, metric="noise_length", variant=noise, quantile=0.5), "p") in found
    for row, gamma in (("lemma-27", 0.001), ("d12-printed", 0.001), ("d12-mended", 0.001), ("d12-printed", 0.9)):
        assert points(of(lengths, metric="length_bound", row=row, gamma=gamma), "p") in found
    assert len(found) == 6 and len(axes[2].collections) == 2
    quotients = of(rows, calibration="paper", row="distort", metric="noise_ratio", p=8)
    assert points(quotients, "gram_multiple") in drawn(axes[3])


def test_the_gap_draws_every_ratio_and_the_runs_with_their_intervals(rows):
    figure = theorem4.gap(rows)
    left, right = figure.axes
    found = drawn(left)
    for calibration in ("paper", "tight"):
        here = of(rows, metric="risk_ratio", dataset="extremal", row="theorem-4", calibration=calibration)
        assert points(here, "p") in found
    assert points(of(rows, metric="risk_ratio", row="theorem-5", calibration="paper"), "p") in found
    for noise, row in (("gaussian", "theorem-4"), ("gamma", "theorem-4"), ("gaussian", "stage-two")):
        here = of(rows, metric="over_nice", variant=noise, row=row, calibration="paper")
        assert points(here, "p") in drawn(right)
    runs = of(rows, metric="run_risk", calibration="tight")
    sides = [of(runs, variant=noise)["value"].to_numpy() for noise in ("gamma", "gaussian")]
    ratio = sides[0].mean() / sides[1].mean()
    crosses = [line for line in left.lines if line.get_marker() == "x"]
    assert sorted(line.get_ydata()[0] for line in crosses)[1] == pytest.approx(ratio)
    text = words(figure)
    assert "20 runs each" in text and "from p = 53 (paper), 11 (tight) on" in text


def test_the_intervals_of_a_ratio_cover_as_often_as_they_say():
    rng, hits = np.random.default_rng(4), 0
    for _ in range(200):
        sides = {"gamma": rng.gamma(4.0, 3.0, 50), "gaussian": rng.gamma(9.0, 0.5, 50)}
        frame = pd.concat(
            pd.DataFrame({"calibration": "paper", "p": 16, "variant": noise, "value": values, "status": "ok"})
            for noise, values in sides.items()
        )
        ((_, _, low, high),) = theorem4.run_ratios(frame.assign(metric="run_risk"))
        hits += low < 12.0 / 4.5 < high
    # 95 % of 200, and five standard deviations of that number.
    assert abs(hits - 190) < 16


def test_failed_runs_are_left_out_of_the_ratio(rows):
    mask = (rows["metric"] == "run_risk") & (rows["repeat"] < 5) & (rows["variant"] == "gamma")
    broken = rows.copy()
    broken.loc[mask, ["value", "status"]] = [np.nan, "failed"]
    runs = of(broken, metric="run_risk", calibration="paper", status="ok")
    (found,) = theorem4.run_ratios(runs)
    whole = of(rows, metric="run_risk", calibration="paper")
    gamma, gauss = (of(whole, variant=noise) for noise in ("gamma", "gaussian"))
    assert found[1] == pytest.approx(gamma.loc[gamma["repeat"] >= 5, "value"].mean() / gauss["value"].mean())
    crosses = [line.get_ydata()[0] for line in theorem4.gap(broken).axes[0].lines if line.get_marker() == "x"]
    assert found[1] in crosses


def test_slopes_of_the_table_are_those_between_the_rows(rows):
    plain, words = theorem4.gap_table(rows)
    line = plain[plain["ratio"] == "gamma/Gaussian, Hadamard (Theorem 5)"].iloc[0]
    first, second = of(rows, metric="risk_ratio", row="theorem-5", calibration="paper").sort_values("p")["value"]
    assert line["slope in p"] == pytest.approx(math.log2(second / first)) == line["least local slope"]
    assert line["stated slope in p"] == 0.5 and line["ratio at the largest p"] == second
    assert len(plain) == len(words) == 6 and list(words["largest p"]) == ["16"] * 6


def test_theorem_29_draws_both_bounds_and_the_ratios(coins):
    left, right = theorem29.theorem29(coins).axes
    for row in ("printed", "mended"):
        for metric in ("excess_risk", "bound"):
            assert points(of(coins, dataset="coin", row=row, metric=metric), "n") in drawn(left)
        for n in (4096, 65_536):
            ratios = points(of(coins, dataset="copies", row=row, metric="private_ratio", n=n), "p")
            assert (ratios in drawn(right)) == (row == "printed")
    # Dashes are left to what is stated, and no n has another's look, nor a row's.
    measured = [line for line in right.lines if line.get_marker() != "None"]
    assert len({(line.get_color(), line.get_marker()) for line in measured}) == len(measured) == 2
    assert all(line.get_linestyle() == "-" and line.get_color() not in ("#D55E00", "#0072B2") for line in measured)
    stated = right.lines[-1]
    np.testing.assert_allclose(stated.get_ydata(), np.sqrt(np.array([8.0, 16.0, 32.0]) / 8))


@pytest.mark.parametrize(
    "draw", [theorem4.theorem4, pytest.param(theorem4.gap, marks=pytest.mark.slow), theorem29.theorem29]
)
def test_no_text_leaves_the_figure_and_tick_labels_do_not_touch(draw, rows, coins):
    with style.applied():
        figure = draw(coins if draw is theorem29.theorem29 else rows)
        style.settle(figure)
        # A legend has its place once it is drawn.
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        renderer = canvas.get_renderer()
        width, height = figure.get_size_inches() * figure.dpi
        for text in [*figure.texts, *figure.legends[0].get_texts(), *(axis.title for axis in figure.axes)]:
            box = text.get_window_extent(renderer)
            assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height, text.get_text()
        for axis in figure.axes:
            low, high = sorted(axis.get_xlim())
            boxes = [
                label.get_window_extent(renderer)
                for tick, label in zip(axis.get_xticks(), axis.get_xticklabels(), strict=True)
                if low <= tick <= high
            ]
            boxes.sort(key=lambda box: box.x0)
            assert len(boxes) >= 2
            assert all(first.x1 < second.x0 for first, second in itertools.pairwise(boxes))
