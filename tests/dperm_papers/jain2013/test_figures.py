"""The figures and the table of jain2013 draw what their rows say, and tell of stand-ins, failures, vacuous points."""

import functools
import math

import fake_jain2013
import fake_rows
import numpy as np
import pandas as pd
import pytest
from specified import words

from dperm_papers.jain2013.constants.drawing import constants_table
from dperm_papers.jain2013.constants.drawing_fig1 import MODELS, fig1
from dperm_papers.jain2013.constants.figures import noise
from dperm_papers.jain2013.covertype.figures import fig2a
from dperm_papers.jain2013.kdd.figures import fig2b
from dperm_papers.jain2013.queries.figures import queries
from dperm_papers.jain2013.shared.drawing_looks import look
from dperm_papers.jain2013.stability.figures import stability
from dperm_papers.jain2013.thm3.figures import thm3
from dperm_papers.jain2013.thm5.figures import thm5
from dperm_papers.jain2013.thm8.figures import thm8
from dperm_papers.jain2013.thm12.figures import thm12
from dperm_papers.jain2013.url.figures import url
from dperm_pipeline.figures import style
from dperm_pipeline.figures.points import select

pytestmark = pytest.mark.slow


@functools.cache
def plain(draw, made_up):
    """Draw made-up rows as they come, once for all tests that look at the figure; they change nothing in it."""
    return draw(made_up())


def means(rows, over, **where):
    return select(rows, where).groupby(over)["value"].mean()


def drawn(axis, points, **look):
    """Whether one of the lines is this one, of this look if one is given."""
    return any(
        len(line.get_xdata()) == len(points)
        and np.allclose(np.asarray(line.get_xdata(), float), np.asarray(points.index, float))
        and np.allclose(line.get_ydata(), points)
        and all(getattr(line, f"get_{name}")() == value for name, value in look.items())
        for line in axis.lines
    )


def coloured(mechanism, calibration, variant=""):
    return {"color": look(mechanism, calibration, variant).colour}


# Figure 2a and URL Reputation.

ACCURACY = [("tddl", "paper", ""), ("tddl", "corrected", ""), ("tddl", "tight", ""), ("tddl", "paper", "bare"),
            ("rkhs_gaussian", "tight", ""), ("explicit_output", "tight", "")]  # fmt: skip
KEYS = ("mechanism", "calibration", "variant")


# Printed and proved: one of each in `make test`.
@pytest.mark.parametrize("key", ACCURACY)
def test_accuracy_is_the_mean_over_splits(key):
    rows = fake_jain2013.covertype()
    figure, where = plain(fig2a, fake_jain2013.covertype), {**dict(zip(KEYS, key, strict=True)), "metric": "accuracy"}
    for axis, penalty in zip(figure.axes, ("C", "nC"), strict=False):
        points = means(rows, "epsilon", **where, queries=(0, 300), penalty=penalty)
        assert drawn(axis, points, **coloured(*key))


def test_accuracy_over_queries_and_by_scaling():
    rows = fake_jain2013.covertype()
    figure = plain(fig2a, fake_jain2013.covertype)
    where = {"mechanism": "tddl", "calibration": "tight", "penalty": "C", "metric": "accuracy", "epsilon": 0.1}
    assert drawn(figure.axes[2], means(rows, "queries", **where))
    names = [label.get_text() for label in figure.axes[4].get_yticklabels()]
    assert names == ["raw+unit", "min-max+unit", "min-max"]
    # LibSVM ran at the penalty of the first panel alone.
    levels = [[one.get_ydata()[0] for one in axis.lines if one.get_linestyle() == "--"] for axis in figure.axes[:2]]
    assert 0.69 in levels[0] and 0.69 not in levels[1]
    marked = [text.get_text() for text in figure.legends[0].get_texts() if "not private" in text.get_text()]
    assert len(marked) == 3 and any(label.startswith("bare") for label in marked)


def test_a_data_set_that_stands_in_is_named():
    rows = fake_jain2013.covertype()
    said = words(plain(fig2a, fake_jain2013.covertype))
    assert "Data: covertype-16pct" in said
    assert "covertype-16pct stands in for it, and no number of its is Covertype's" in said
    assert "stands in" not in words(fig2a(fake_jain2013.covertype(dataset="covertype")))
    both = pd.concat([rows, rows.assign(dataset="covertype", value=0.6)], ignore_index=True)
    assert "Data: covertype." in words(fig2a(both))
    said = words(plain(url, fake_jain2013.url))
    assert "Data: url-5700" in said and "it is not a utility figure" in said
    assert "not a utility figure" not in words(url(fake_jain2013.url(dataset="url")))


def test_url_has_a_row_over_epsilon_and_one_over_queries_at_each_of_two_epsilons():
    rows = fake_jain2013.url()
    figure = plain(url, fake_jain2013.url)
    tight = {"mechanism": "tddl", "calibration": "tight", "metric": "accuracy", "total": 100}
    assert len(figure.axes) == 3 * 2
    assert drawn(figure.axes[1], means(rows, "epsilon", **tight, queries=300))
    for epsilon, axis in zip((0.1, 1.0), figure.axes[3::2], strict=True):
        assert drawn(axis, means(rows, "queries", **tight, epsilon=epsilon))
    low, high = figure.axes[0].get_ylim()
    every = rows.groupby([*KEYS, "epsilon", "total"])["value"].mean()
    assert every.between(low, high).all()


# Figure 2b.


def test_errors_are_means_over_splits_and_ratios_are_paired():
    rows = fake_jain2013.kdd()
    figure, own = plain(fig2b, fake_jain2013.kdd), rows[rows["dataset"] == "kdd-algebra"]
    for axis, ratio, total in zip(figure.axes[:2], figure.axes[2:], (1.0, 100.0), strict=True):
        private = own[(own["mechanism"] != "nonprivate") & (own["total"] == total)]
        least = own[(own["variant"] == "least_squares") & (own["total"] == total)].set_index("repeat")["value"]
        relative = private.assign(value=private["value"] / private["repeat"].map(least))
        for (mechanism, calibration), part in private.groupby(["mechanism", "calibration"]):
            assert drawn(axis, means(part, "epsilon"), **coloured(mechanism, calibration))
            assert drawn(ratio, means(relative.loc[part.index], "epsilon"), **coloured(mechanism, calibration))
        flat = [line.get_ydata()[0] for line in axis.lines if len(line.get_xdata()) == 2]
        assert sorted(flat) == [pytest.approx(least.mean()), 0.4, 0.9]
        assert ratio.get_ylim() == (0.9, 2.0)


def test_the_headline_is_marked_and_the_data_named():
    rows = fake_jain2013.kdd()
    figure = plain(fig2b, fake_jain2013.kdd)
    titles = [axis.get_title().replace("\N{NO-BREAK SPACE}", " ") for axis in figure.axes[:2]]
    assert titles == ["kdd-algebra, nλ = 1 *", "kdd-algebra, nλ = 100"]
    assert "stands in" not in words(figure) and "4 splits" in words(figure)
    stand_in = fig2b(rows[(rows["dataset"] == "kdd-like") & (rows["repeat"] == 0)])
    assert stand_in.axes[0].get_title().startswith("kdd-like, ")
    assert "kdd-algebra is not among the rows: kdd-like, a formula, stands in for it" in words(stand_in)
    assert "1 splits" not in words(stand_in)


def test_failures_are_counted_and_left_out():
    rows = fake_jain2013.kdd()
    gone = (rows["mechanism"] == "cms11") & (rows["repeat"] == 0)
    figure = fig2b(fake_rows.fail(rows, gone & (rows["dataset"] == "kdd-algebra")))
    # Two n lambda, three epsilons; of six methods on four splits.
    assert "6 of 144 values did not converge" in words(figure)
    assert "converge" not in words(plain(fig2b, fake_jain2013.kdd))
    left = means(rows[~gone], "epsilon", dataset="kdd-algebra", total=1.0, mechanism="cms11")
    assert drawn(figure.axes[0], left)


# Constants: noise, the three models, the table.


def test_lines_are_formulas_and_markers_are_what_was_drawn():
    rows = fake_jain2013.constants()
    figure = noise(rows)
    own = select(rows, {"series": "noise", "mechanism": "tddl", "calibration": "corrected", "epsilon": 0.1})
    assert drawn(figure.axes[0], means(own, "queries", metric="sd"), color="#E69F00", linestyle="-")
    for name, face in (("orthogonal", "#E69F00"), ("sphere-10", "white")):
        assert drawn(figure.axes[0], means(own, "queries", dataset=name), markerfacecolor=face, linestyle="None")
    assert "No data set" in words(figure) and "as printed everywhere" in words(figure)
    assert any("not private" in text.get_text() for text in figure.legends[0].get_texts())


def test_the_three_models_quote_the_rows():
    rows = fake_jain2013.constants()
    figure = fig1(rows)
    assert [axis.get_title() for axis in figure.axes] == [model[0] for model in MODELS]
    said = [" ".join(text.get_text() for text in axis.texts) for axis in figure.axes]
    here = rows[(rows["calibration"] == "paper") & (rows["total"] == 1e7)]
    updates = select(here, {"series": "pinp", "queries": 10_000, "metric": "rounds"})["value"].item()
    assert f"B = {updates:,.3g} updates" in said[0]
    own = select(here, {"series": "tddl", "metric": "own_queries"})["value"].iloc[0]
    assert f"T = {own:,.0f}" in said[1]
    digits = select(here, {"series": "tdil", "d": 10, "metric": "net_digits"})["value"].item()
    assert f"{style.number(10.0 ** round(digits))} centres" in said[2] and "vacuous" not in " ".join(said)
    vacuous = rows.assign(vacuous=rows["vacuous"].mask(rows["series"] == "pinp", 1))
    assert "vacuous" in " ".join(text.get_text() for text in fig1(vacuous).axes[0].texts)


def test_the_table_of_constants():
    rows = fake_jain2013.constants()
    numbers, told = constants_table(rows)
    # n lambda by T, by Theorem 5's T beside them, by d.
    assert len(told) == 2 * (3 + 4 + 2) + 6 and len(numbers) == 3 * 2 * (3 + 4 + 2) + 3 * 3 + 3
    line = select(numbers, {"algorithm": "1, PINP", "nλ": 1000, "T": 100})
    assert set(line["vacuous"]) == {1} and line["log10 |S|"].isna().all()
    sigma = select(rows, {"series": "pinp", "total": 1000, "queries": 100, "metric": "threshold"})
    sigma = sigma.set_index("calibration")["value"]
    np.testing.assert_allclose(line.set_index("calibration")["σ"], sigma[["paper", "corrected", "tight"]])
    first = select(told, {"algorithm": "1, PINP", "nλ": "1000", "T": "100"}).iloc[0]
    assert first["vacuous"] == "printed, corrected, tight"
    assert first["σ: printed, corrected, tight"].split(" / ")[0] == f"{sigma['paper']:.3g}"
    assert not any(isinstance(value, float) and math.isnan(value) for value in told.to_numpy().ravel())


def test_the_checks_below_the_constants():
    rows = fake_jain2013.constants()
    numbers = constants_table(rows)[0]
    checks = numbers[numbers["algorithm"].str.startswith("check")]
    assert (checks["holds"] == 1).all()
    excess = checks.set_index([checks["algorithm"].str.extract(r"check ([\w-]+)", expand=False), "calibration"])[
        "excess"
    ]
    work = select(rows, {"series": "work-n", "metric": "evaluations", "calibration": "tight"}).sort_values("n")
    # Twice the records: the slope in log-log is log2 of the ratio of the last to the first.
    slopes = [math.log2(part.iloc[-1] / part.iloc[0]) for _, part in work.groupby("mechanism")["value"]]
    assert excess["J-c06a", "tight"] == pytest.approx(max(slopes) - 1)
    assert excess["J-c24", "paper"] == rows.loc[rows["series"] == "composition", "value"].max()
    broken = rows.copy()
    broken.loc[(rows["series"] == "translation") & (rows["variant"] == "cubic"), "value"] = 1e-6
    broken.loc[(rows["series"] == "exponential") & (rows["calibration"] == "tight"), "value"] = 1e-6
    said = constants_table(broken)[1].set_index("algorithm")["holds"]
    assert said["check J-c33: cubic kernel under translation"] == "no"
    assert said["check J-c31: tail of the exponential mechanism"] == "yes / yes / no"


# Theorems.


def test_errors_of_theorem_3_are_means_beside_its_bound():
    rows = fake_jain2013.thm3()
    figure = plain(thm3, fake_jain2013.thm3)
    part = select(
        rows, {"metric": "error", "mechanism": "pinp", "calibration": "tight", "radius": 1, "fixed": "lambda"}
    )
    assert drawn(figure.axes[1], means(part, "queries", total=1e8))
    assert drawn(figure.axes[2], means(part, "total", queries=10_000))
    assert drawn(figure.axes[2], select(part, {"queries": 10_000}).groupby("total")["bound"].first())
    assert "C = 0.1" in words(figure) and "halts" in words(figure)
    for axis in figure.axes:
        low, top = axis.get_ylim()
        assert all(low <= min(line.get_ydata()) and max(line.get_ydata()) <= top for line in axis.lines)


def test_vacuous_constants_of_theorem_3_are_hollow():
    rows = fake_jain2013.thm3()
    own = {"metric": "threshold", "calibration": "paper", "radius": 1, "queries": 10_000, "fixed": "lambda"}
    vacuous = select(rows, own).sort_values("total")["vacuous"]
    faces = plain(thm3, fake_jain2013.thm3).axes[5].collections[0].get_facecolors()
    np.testing.assert_array_equal((faces[:, :3] == 1).all(axis=1), vacuous == 1)
    assert set(vacuous) == {0, 1}


def test_numbers_of_queries():
    rows = fake_jain2013.queries()
    figure, path = queries(rows), {"metric": "error", "mechanism": "rkhs_gaussian"}
    assert len(figure.axes) == 3
    for axis, curvature in zip(figure.axes, (1.0, 1000.0), strict=False):
        for variant in ("", "fresh"):
            assert drawn(axis, means(rows, "n", **path, variant=variant, curvature=curvature))
    assert drawn(figure.axes[2], means(rows, "total", metric="log_queries", calibration="paper"))


def test_stability_draws_the_largest_of_the_random_pairs():
    rows = fake_jain2013.stability()
    figure = stability(rows)
    where = {"metric": "excess", "row": "weights", "form": "random", "kernel": "cubic", "loss": "logistic"}
    assert drawn(figure.axes[1], 1 + select(rows, {**where, "curvature": 0.1}).groupby("n")["value"].max())
    assert all(drawn(axis, pd.Series([1, 1], [0, 1])) for axis in figure.axes)


@pytest.mark.parametrize(("law", "dashes"), [("ten-directions", "-"), ("decaying", "--")])
def test_theorem_5(law, dashes):
    rows = fake_jain2013.thm5()
    figure, error = plain(thm5, fake_jain2013.thm5), {"metric": "error", "dataset": law}
    for place, series, over in ((0, "total", "total"), (2, "queries", "queries"), (3, "features", "d")):
        for mechanism, calibration in (("tddl", "paper"), ("tddl", "tight"), ("explicit_output", "tight")):
            own = {**error, "series": series, "radius": 1.0, "variant": "", "mechanism": mechanism}
            points = means(rows, over, **own, calibration=calibration)
            assert drawn(figure.axes[place], points, **coloured(mechanism, calibration), linestyle=dashes)
    assert drawn(figure.axes[3], means(rows, "d", **error, series="features", radius=1.0, mechanism="cms11"))
    own = select(rows, {**error, "mechanism": "tddl", "variant": "", "calibration": "paper", "vacuous": 0})
    for axis, series, over in ((figure.axes[4], "total", "total"), (figure.axes[6], "queries", "queries")):
        part = own[own["series"] == series]
        constant = (part["value"] / part["bound"]).groupby(part[over]).quantile(0.95)
        assert drawn(axis, constant, linestyle=dashes)


def test_vacuous_answers_of_pinp_are_not_drawn():
    rows = fake_jain2013.thm5()
    assert any(line.get_markerfacecolor() == "white" for line in plain(thm5, fake_jain2013.thm5).axes[5].lines)
    vacuous = rows.assign(vacuous=rows["vacuous"].mask(rows["series"] == "exchange", 1))
    assert not thm5(vacuous).axes[5].lines


def test_theorem_8():
    rows = fake_jain2013.thm8()
    figure, grid = thm8(rows), select(rows, {"series": "grid", "metric": "error", "d": 2})
    for key in (("tdil", "paper"), ("tdil", "tight"), ("cms11", "paper")):
        points = means(grid, "total", mechanism=key[0], calibration=key[1])
        assert drawn(figure.axes[0], points, **coloured(*key), linestyle="-")
    printed = select(grid, {"mechanism": "tdil", "calibration": "paper"})
    hollow = [line for line in figure.axes[0].lines if line.get_markerfacecolor() == "white"]
    hollow = [line for line in hollow if line.get_color() == look("tdil", "paper").colour]
    assert {x for line in hollow for x in line.get_xdata()} == set(printed.loc[printed["vacuous"] == 1, "total"])
    assert drawn(figure.axes[5], means(rows, "d", metric="net_digits", total=100_000))
    assert drawn(figure.axes[6], means(rows, "d", metric="proposals"))
    assert "nothing crosses" in thm8(rows[rows["metric"] != "crossing"]).axes[3].texts[0].get_text()


def test_the_deviation_is_drawn_by_its_quantile_below_the_bound():
    rows = fake_jain2013.thm12()
    figure = thm12(rows)
    disc = rows[rows["dataset"] == "disc"].groupby("queries")["value"].quantile(0.95)
    assert drawn(figure.axes[0], disc)
    # beta = 0.05: sqrt(log 20/T).
    assert drawn(figure.axes[0], np.sqrt(math.log(20) / pd.Series(disc.index, disc.index)), linestyle="--")
