"""The figures of li2021-bounds: what they draw is in the rows."""

import fake_rows
import numpy as np
import pytest

from dperm_papers.li2021.bounds import figures as bounds
from dperm_pipeline import figures
from dperm_pipeline.figures import style


@pytest.fixture(scope="module")
def rows():
    return fake_rows.li2021_bounds()


def lines(axis):
    """Return x and y of each line, without those across the panel."""
    return [line.get_data() for line in axis.get_lines() if line.get_transform() == axis.transData]


def test_risk_and_bounds_are_means_over_data_sets(rows):
    with style.applied():
        figure = bounds.bounds(rows)
    first = figure.axes[0]
    assert len(figure.axes) == 6 and len(lines(first)) == 12
    part = rows[(rows["axis"] == "n") & (rows["metric"] == "risk") & (rows["delta"] == 0) & (rows["variant"] == "erm")]
    part = part[part["calibration"] == "paper"]
    x, y = lines(first)[0]
    np.testing.assert_allclose(y, [part.loc[part["n"] == n, "value"].mean() for n in x])
    low, high = first.get_ylim()
    assert all(low <= np.min(y) and np.max(y) <= high for _, y in lines(first))


def test_the_budget_figure_shows_shares_noise_and_determinants(rows):
    with style.applied():
        figure = bounds.budget(rows)
    spent, sigma, jacobian = figure.axes
    shares = [y for x, y in lines(spent)]
    assert len(shares) == 4
    assert all((share > 0).all() and (share < 1).all() for share in shares)
    eq12, short, tight = (y for _, y in lines(sigma))
    assert (tight < eq12).all() and (eq12 < short).all()
    assert len(lines(jacobian)) == 6 and max(np.max(y) for _, y in lines(jacobian)) > 10


@pytest.mark.slow
@pytest.mark.parametrize("name", ["li2021-bounds", "li2021-budget"])
def test_from_a_file_and_the_same_bytes(name, rows, tmp_path):
    path = fake_rows.write(rows, tmp_path / "rows.parquet")
    for k in range(2):
        figures.draw(name, path, svg=tmp_path / f"{k}.svg", png=tmp_path / f"{k}.png")
    assert (tmp_path / "0.svg").read_bytes() == (tmp_path / "1.svg").read_bytes()
