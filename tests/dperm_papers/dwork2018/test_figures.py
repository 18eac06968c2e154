"""The figures of dwork2018 draw what their rows say: points by points, in the look that the legend names."""

import itertools

import fake_dwork2018
import numpy as np
import pandas as pd
import pytest
from chosen_rows import of
from specified import words

from dperm_papers.dwork2018.averaging.figures import averaging
from dperm_papers.dwork2018.beyond.figures import beyond
from dperm_papers.dwork2018.dimension.figures import dimension
from dperm_papers.dwork2018.exppw.figures import exppw
from dperm_papers.dwork2018.free.figures import free
from dperm_papers.dwork2018.generalization.figures import generalization
from dperm_papers.dwork2018.queries.figures import queries
from dperm_papers.dwork2018.realdata.figures import realdata
from dperm_papers.dwork2018.shared.drawing_looks import look
from dperm_papers.dwork2018.softmajority.figures import softmajority
from dperm_papers.dwork2018.stable.figures import stable
from dperm_pipeline.figures import style

pytestmark = pytest.mark.slow

PREDICTIONS = ("soft_majority", "averaged", "stable_erm", "stable_sgd", "exppw")


def means(rows, x):
    return rows.groupby(x)["value"].mean()


def drawn(axis, points):
    """Whether one of the lines goes through these points: a series, whose index is x."""
    points = points.sort_index()
    found = [pd.Series(line.get_ydata(), np.asarray(line.get_xdata(), float)) for line in axis.lines]
    return any(len(line) == len(points) and np.allclose(line.index, points.index) and np.allclose(line, points)
               for line in found)  # fmt: skip


def named(figure, axis, label):
    """Return the y of the lines of a panel that look as the legend says of a label."""
    (entry,) = (
        handle
        for handle, text in zip(figure.legends[0].legend_handles, figure.legends[0].get_texts(), strict=True)
        if text.get_text().replace("\N{NO-BREAK SPACE}", " ") == label
    )
    look = (entry.get_color(), entry.get_marker(), entry.get_linestyle())
    return [
        line.get_ydata() for line in axis.lines if (line.get_color(), line.get_marker(), line.get_linestyle()) == look
    ]


def labels(figure):
    return [text.get_text().replace("\N{NO-BREAK SPACE}", " ") for text in figure.legends[0].get_texts()]


def test_averaging():
    rows = fake_dwork2018.averaging()
    figure = averaging(rows)
    noised = of(rows, metric="mean_excess", epsilon=0.1, series="noised", calibration="paper")
    assert len(figure.axes) == 4 and drawn(figure.axes[0], noised.set_index("r")["value"])
    own = of(rows, metric="promised", epsilon=1.0, variant="mended")
    assert drawn(figure.axes[3], own.set_index(1 / own["alpha"])["value"])
    assert len(labels(figure)) == 7 and any("not private" in label for label in labels(figure))


def test_beyond():
    rows = fake_dwork2018.beyond()
    figure = beyond(rows)
    needed = of(rows, metric="needed")
    for mechanism in ("exppw", "averaged"):
        own = of(needed, form="alpha", epsilon=1.0, variant="tight", mechanism=mechanism)
        assert drawn(figure.axes[1], own.set_index(1 / own["alpha"])["value"])
    assert drawn(figure.axes[2], of(needed, form="domain", mechanism="exp_mech").set_index("log_domain")["value"])
    assert drawn(figure.axes[3], of(needed, form="ends", flip=0.2).set_index("k")["value"])
    assert any("private model" in label for label in labels(figure))


@pytest.mark.parametrize("figure", ["averaging", "beyond"])
def test_the_order_of_rows_does_not_count(figure):
    rows = getattr(fake_dwork2018, figure)()
    draw = {"averaging": averaging, "beyond": beyond}[figure]
    first, second = draw(rows), draw(rows.sample(frac=1, random_state=0))
    lines = [[[line.get_xydata().tolist() for line in axis.lines] for axis in one.axes] for one in (first, second)]
    assert lines[0] == lines[1]


def test_free_has_a_line_of_ratios_for_each_n():
    rows = fake_dwork2018.free()
    figure = free(rows)
    for _, group in of(rows, metric="ratio", dataset="sq").groupby("n"):
        assert drawn(figure.axes[1], group.set_index("scaled")["value"])
    assert figure.axes[2].get_title() == "both parts equal" and "n = 30, 100" in words(figure)
    alone = free(rows[rows["dataset"] != "sq"])
    assert len(alone.axes) == 2 and len(alone.axes[1].lines) == 4


@pytest.mark.parametrize(
    ("series", "calibration", "variant"),
    [
        ("crossing", "paper", "halved"),
        ("crossing", "corrected", ""),
        ("algebra", "paper", ""),
        ("algebra", "corrected", ""),
    ],
)
def test_free_shows_crossings_beside_those_of_the_terms(series, calibration, variant):
    rows = fake_dwork2018.free()
    own = of(rows, metric="crossing", series=series, calibration=calibration, variant=variant)
    for dataset in ("hard", "sq"):
        assert drawn(free(rows).axes[2], of(own, dataset=dataset).set_index("n")["value"])


def test_dimension_shows_sizes_with_intervals_and_promises():
    rows = fake_dwork2018.dimension()
    figure = dimension(rows)
    axis = figure.axes[0]
    own = of(rows, metric="n_star", mechanism="stable_erm", calibration="paper")
    assert drawn(axis, means(own, "p"))
    bars = np.array([path.vertices[:, 1] for bars in axis.collections for path in bars.get_paths()])
    for _, group in own.groupby("p"):
        assert np.isclose(bars, style.mean_interval(group["value"].to_numpy())[1:]).all(axis=1).any()
    for metric in ("n_star", "promised"):
        assert drawn(axis, of(rows, mechanism="objective", delta=0, metric=metric).set_index("p")["value"])
    assert "0.2" in axis.get_ylabel() and axis.get_title() == style.equals("ε", 1.0)
    for _, group in of(rows, dataset="abs").groupby(["mechanism", "calibration"]):
        assert drawn(figure.axes[-1], group.set_index("n")["value"])
    assert len(figure.axes[-1].lines) == 3 and len(labels(figure)) == 10


def test_softmajority_shows_records_over_both_axes():
    rows = fake_dwork2018.softmajority()
    figure = softmajority(rows)
    for (column, epsilon), (row, over) in itertools.product(enumerate((0.5, 1.0)), enumerate(("alpha", "d"))):
        axis, part = (
            figure.axes[2 * row + column],
            of(rows, metric="records", over=over, epsilon=epsilon, dataset="pts"),
        )
        for form, delta in (("promised", 0), ("printed", 0), ("best", 0), ("least", 0), ("least", epsilon / 3)):
            own = of(part, form=form, delta=delta)
            own = own.set_index(own[over] if over == "d" else 1 / own[over])
            assert drawn(axis, own["value"])
        assert drawn(axis, own["bound"]) and "pts" in axis.get_title()
    assert len(figure.axes[4].lines) == 3 and "thr" in figure.axes[4].get_title()


def test_softmajority_shows_every_rule_over_the_margin():
    rows = fake_dwork2018.softmajority()
    axis = softmajority(rows).axes[5]
    part = of(rows, series="margin", epsilon=0.5)
    for form in ("soft", "prose", "laplace", "best"):
        assert drawn(axis, of(part, form=form).set_index("margin")["value"])
    assert axis.get_ylim()[0] <= of(part, form="soft")["value"].min()


def test_softmajority_of_one_epsilon_leaves_the_other_column_empty():
    rows = fake_dwork2018.softmajority()
    figure = softmajority(rows[(rows["epsilon"] != 0.5) | (rows["over"] == "epsilon")])
    assert [axis.axison for axis in figure.axes] == [True, False, True, False, True, True]


@pytest.mark.parametrize("k", [1, 2, 3])
def test_generalization_shows_the_largest_ratio_and_lines_of_slope_k_and_its_square(k):
    rows = fake_dwork2018.generalization()
    axis = generalization(rows).axes[0]
    for mechanism in ("member", "exppw"):
        largest = of(rows, metric="log_ratio", k=k, mechanism=mechanism).groupby("epsilon")["value"].max()
        assert drawn(axis, largest)
    fine = np.geomspace(0.1, 1, 100)
    assert drawn(axis, pd.Series(k * fine, fine)) and drawn(axis, pd.Series(k**2 * fine, fine))


def test_generalization_shows_the_tail_of_most_records_at_the_largest_epsilon():
    rows = fake_dwork2018.generalization()
    # Fewer samples of more records, as at scale paper, whose ordered values are known.
    sampled = of(rows, series="tail", mechanism="exppw", metric="ratio", epsilon=1.0).iloc[:1]
    sampled = pd.concat([sampled.assign(n=500, repeat=k, value=1000.0 - k) for k in range(1000)])
    figure = generalization(pd.concat([rows, sampled], ignore_index=True))
    axis, tail = figure.axes[1], of(rows, series="tail", epsilon=1.0)
    for form in ("printed", "mended"):
        assert drawn(axis, of(tail, metric="factor", variant=form).set_index("gamma")["value"])
    betas = np.array([0.01, 0.1, 0.5, 0.9])
    assert drawn(axis, pd.Series(np.e, betas)) and drawn(axis, pd.Series(1 + 1000 * (1 - betas), betas))
    band = axis.collections[0].get_paths()[0].vertices
    for beta in betas:
        ends = band[band[:, 0] == beta, 1]
        assert ends.max() - ends.min() == pytest.approx(2 * 1.96 * np.sqrt(1000 * beta * (1 - beta)), abs=2)
    assert "1000 samples of n = 500" in words(figure) and "n from 1 to 3" in words(figure)
    assert any("as printed" in label for label in labels(figure)) and any("D13" in label for label in labels(figure))


def test_queries_shows_means_by_accountant():
    rows = fake_dwork2018.queries()
    figure = queries(rows)
    places = (("flip", "accuracy"), ("digits", "accuracy"), ("no-data", "total_epsilon"))
    for accountant in set(rows["accountant"]) - {""}:
        for axis, (dataset, metric) in zip(figure.axes, places, strict=False):
            assert drawn(axis, means(of(rows, accountant=accountant, dataset=dataset, metric=metric), "m"))
    accuracy = of(rows, metric="accuracy")
    assert drawn(figure.axes[0], of(accuracy, series="consensus").set_index("m")["value"])
    for axis, dataset in zip(figure.axes, ("flip", "digits"), strict=False):
        assert drawn(axis, means(of(accuracy, series="student", dataset=dataset), "m"))
    levels = {line.get_ydata()[0] for line in figure.axes[1].lines if line.get_color() == "#999999"}
    assert levels == set(means(of(accuracy, mechanism="nonprivate", dataset="digits"), "variant"))
    assert figure.axes[0].get_title().startswith("flip, n = 60,000")
    assert "consensus, B = 10" in labels(figure) and "not private, all records" in labels(figure)
    assert "δ = 10⁻⁶" in words(figure)


def test_queries_shows_the_attack_below_the_delta_that_is_allowed():
    rows = fake_dwork2018.queries()
    axis = queries(rows).axes[3]
    own = of(rows, series="adaptive", metric="delta", accountant="bounded_range")
    assert drawn(axis, own.set_index("m")["value"]) and axis.get_ylim()[0] > 0
    assert [line.get_ydata()[0] for line in axis.lines if line.get_linestyle() == "--"] == [1e-6]


def test_exppw_shows_largest_ratios_errors_with_ties_and_means_on_fresh_points():
    rows = fake_dwork2018.exppw()
    figure = exppw(rows)
    on_sample, with_ties, *fresh = figure.axes
    for epsilon, kind in itertools.product((0.5, 1.0), ("exhaustive", "realizable", "flipped", "blocks")):
        ratios = of(rows, metric="ratio", variant="", kind=kind, epsilon=epsilon)
        assert drawn(on_sample, ratios.groupby("bound")["value"].max())
    ties = of(rows, series="ties", epsilon=0.5)
    for variant in ("sorted", "", "fresh"):
        assert drawn(with_ties, means(of(ties, metric="error", variant=variant), "domain"))
    assert drawn(with_ties, of(ties, metric="allowed").groupby("domain")["value"].first())
    for (axis, flip), k in itertools.product(zip(fresh, (0.0, 0.2), strict=True), (1, 3)):
        part = of(rows, series="size", flip=flip, k=k, epsilon=1.0)
        assert drawn(axis, means(part, "n"))
        assert drawn(axis, pd.Series((np.e * (flip + 0.1) - flip) / 0.1, [of(part, share=1.0)["n"].iloc[0]]))
    for axis in figure.axes:
        low, high = axis.get_ylim()
        assert all(low <= np.nanmin(line.get_ydata()) and np.nanmax(line.get_ydata()) <= high for line in axis.lines)
    assert "lifted: means over 4 samples" in words(figure) and "Err_P over 4 samples" in words(figure)
    assert "all labellings n = 14 (at ε = 8, where the bound is below their largest error, up to 0." in words(figure)


def test_exppw_has_lines_for_every_epsilon_and_panels_for_every_alpha():
    rows = fake_dwork2018.exppw()
    another = of(rows, epsilon=0.5)
    rows = pd.concat([rows, another.assign(value=1.1 * another["value"], epsilon=0.2)], ignore_index=True)
    sizes = of(rows, series="size")
    rows = pd.concat([rows, sizes.assign(alpha=0.02, value=2 * sizes["value"])], ignore_index=True)
    figure = exppw(rows)
    assert len(figure.axes) == 6
    for (place, alpha), epsilon in itertools.product(((2, 0.1), (4, 0.02)), (0.2, 0.5, 1.0)):
        part = of(rows, series="size", alpha=alpha, epsilon=epsilon, flip=0, k=3)
        assert drawn(figure.axes[place], means(part, "n")) and "α\N{NO-BREAK SPACE}=" in figure.axes[place].get_title()
    assert {"ε = 0.2", "ε = 0.5", "ε = 1"} <= set(labels(figure))


def test_stable_shows_excesses_beside_their_bounds():
    rows = fake_dwork2018.stable()
    figure = stable(rows)
    places = (
        ({"series": "4.10", "dataset": "signs", "curvature": 0.1}, "tight", "", "tight"),
        ({"series": "4.11", "dataset": "abs"}, "paper", "", "printed"),
        ({"series": "4.13", "dataset": "hard"}, "corrected", "", "mended"),
        ({"series": "4.13", "dataset": "sq"}, "corrected", "halved", "tight"),
    )
    for (row, (where, calibration, variant, bound_of)), column in itertools.product(enumerate(places), (0, 1)):
        axis = figure.axes[2 * row + column]
        own = of(rows, **where, metric="excess", calibration=calibration, variant=variant, epsilon=(0.1, 1.0)[column])
        printed = of(own, bound_of="printed").set_index("n")
        assert drawn(axis, printed["value"] + printed["bound"])
        assert drawn(axis, of(own, bound_of=bound_of).set_index("n")["bound"])
    # As printed, gradient descent is not private: grey.
    (grey,) = (line for line in figure.axes[6].lines if line.get_color() == "#777777")
    own = of(rows, series="4.13", dataset="sq", calibration="paper", epsilon=0.1, bound_of="printed").sort_values("n")
    np.testing.assert_allclose(grey.get_ydata(), own["value"] + own["bound"])
    assert not named(figure, figure.axes[6], "as printed (4.13: not private, grey)")


def test_stability_falls_from_twice_the_printed_rate():
    axis = stable(fake_dwork2018.stable()).axes[8]
    at = next(line.get_xdata() for line in axis.lines if len(line.get_xdata()) > 2)
    assert drawn(axis, pd.Series(2 * (1 - at), at)) and drawn(axis, pd.Series(1 - at, at))
    levels = [line.get_ydata()[0] for line in axis.lines if list(line.get_xdata()) == [0, 1]]
    assert {1.0, 2.0} < set(levels) and any(np.isclose(levels, 0.25))


@pytest.mark.parametrize("mechanism", PREDICTIONS)
def test_realdata_shows_means_over_splits(mechanism):
    rows = fake_dwork2018.realdata()
    axes = iter(realdata(rows).axes)
    for dataset, series in itertools.product(("breast-cancer", "digits"), ("epsilon", "queries", "radius")):
        axis, own = next(axes), of(rows, dataset=dataset, mechanism=mechanism, series=series)
        assert own.empty or drawn(axis, means(own, series))


def test_realdata_shows_the_private_model_as_one_level_over_the_queries_and_what_is_not_private():
    rows = fake_dwork2018.realdata()
    figure = realdata(rows)
    level = of(rows, dataset="digits", mechanism="objective", series="queries")["value"].mean()
    assert drawn(figure.axes[4], pd.Series(level, [1, 100]))
    assert sum("not private" in label for label in labels(figure)) == 2 and len(labels(figure)) == 9
    assert "Data: breast-cancer, digits" in words(figure) and "5 random splits (over R: 5)" in words(figure)
    for axis in figure.axes:
        assert drawn(axis, pd.Series(0.05, [0, 1])) and drawn(axis, pd.Series(0.45, [0, 1]))
        low, high = axis.get_ylim()
        assert low < 0.05 and high > 0.5


def test_realdata_counts_splits_by_panel_and_marks_no_number_of_queries_of_one_mechanism_alone():
    rows = fake_dwork2018.realdata()
    between = of(rows, mechanism="soft_majority", series="queries", queries=1)
    fewer = rows[(rows["series"] != "radius") | (rows["repeat"] < 2)]
    figure = realdata(pd.concat([fewer, between.assign(queries=7)], ignore_index=True))
    assert "5 random splits (over R: 2)" in words(figure)
    marked = {line.get_color(): line.get_markevery() for line in figure.axes[1].lines}
    assert marked[look("soft_majority", "tight").colour] == [True, False, True]
    assert all(marked[look(name, "tight").colour] == [True, True] for name in ("averaged", "exppw"))
    assert list(figure.axes[1].get_xticks()) == [1, 100]
