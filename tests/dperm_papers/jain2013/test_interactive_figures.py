"""The figures of jain2013-stability, -thm3 and -queries: what they draw is in the rows."""

import fake_jain2013
import fake_rows
import numpy as np
import pytest

from dperm_papers.jain2013.queries import figures as queries
from dperm_papers.jain2013.stability import figures as stability
from dperm_papers.jain2013.thm3 import figures as thm3
from dperm_pipeline import figures
from dperm_pipeline.figures import style


def lines(axis):
    return [(np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)) for line in axis.get_lines()]


def drawn(axis, x, y):
    """Whether one of the lines is this one."""
    return any(len(a) == len(x) and np.allclose(a, x) and np.allclose(b, y) for a, b in lines(axis))


def test_errors_are_means_and_bounds_are_theorem_3():
    rows = fake_jain2013.thm3()
    with style.applied():
        figure = thm3.thm3(rows)
    high, total = figure.axes[1], figure.axes[2]
    part = rows[(rows["metric"] == "error") & (rows["mechanism"] == "pinp") & (rows["calibration"] == "tight")]
    part = part[(part["radius"] == 1) & (part["fixed"] == "lambda")]
    over_queries = part[part["total"] == 1e8].groupby("queries")["value"].mean()
    assert drawn(high, over_queries.index, over_queries)
    over_total = part[part["queries"] == 10_000].groupby("total")["value"].mean()
    assert drawn(total, over_total.index, over_total)
    bound = part[part["queries"] == 10_000].groupby("total")["bound"].first()
    assert drawn(total, bound.index, bound)
    text = " ".join(text.get_text() for text in figure.texts)
    assert "C = 0.1" in text.replace("\N{NO-BREAK SPACE}", " ") and "halts" in text
    for axis in figure.axes:
        low, top = axis.get_ylim()
        assert all(low <= y.min() and y.max() <= top for _, y in lines(axis) if len(y))


def test_vacuous_points_are_hollow():
    rows = fake_jain2013.thm3()
    with style.applied():
        figure = thm3.thm3(rows)
    own = rows[(rows["metric"] == "threshold") & (rows["calibration"] == "paper") & (rows["radius"] == 1)]
    own = own[(own["queries"] == 10_000) & (own["fixed"] == "lambda")].sort_values("total")
    faces = figure.axes[5].collections[0].get_facecolors()
    np.testing.assert_array_equal((faces[:, :3] == 1).all(axis=1), own["vacuous"] == 1)
    assert set(own["vacuous"]) == {0, 1}


def test_numbers_of_queries():
    rows = fake_jain2013.queries()
    with style.applied():
        figure = queries.queries(rows)
    assert len(figure.axes) == 3
    for axis, curvature in zip(figure.axes, (1.0, 1000.0), strict=False):
        for variant in ("", "fresh"):
            part = rows[(rows["metric"] == "error") & (rows["mechanism"] == "rkhs_gaussian")]
            part = part[(part["variant"] == variant) & (part["curvature"] == curvature)]
            means = part.groupby("n")["value"].mean()
            assert drawn(axis, means.index, means)
    promised = rows[(rows["metric"] == "log_queries") & (rows["calibration"] == "paper")].sort_values("total")
    assert drawn(figure.axes[2], promised["total"], promised["value"])


def test_stability_draws_the_largest_of_the_random_pairs():
    rows = fake_jain2013.stability()
    with style.applied():
        figure = stability.stability(rows)
    part = rows[(rows["metric"] == "excess") & (rows["row"] == "weights") & (rows["form"] == "random")]
    part = part[(part["kernel"] == "cubic") & (part["loss"] == "logistic") & (part["curvature"] == 0.1)]
    top = 1 + part.groupby("n")["value"].max()
    assert drawn(figure.axes[1], top.index, top)
    assert all(drawn(axis, [0, 1], [1, 1]) for axis in figure.axes)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["jain2013-stability", "jain2013-thm3", "jain2013-queries"])
def test_from_a_file_and_the_same_bytes(name, tmp_path):
    path = fake_rows.write(fake_rows.of_figure(name), tmp_path / "rows.parquet")
    for k in range(2):
        figures.draw(name, path, svg=tmp_path / f"{k}.svg", png=tmp_path / f"{k}.png")
    assert (tmp_path / "0.svg").read_bytes() == (tmp_path / "1.svg").read_bytes()
