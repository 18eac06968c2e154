"""jain2013-noise, jain2013-fig1 and the table jain2013-constants say what their rows say."""

import math

import fake_jain2013
import numpy as np
import pytest

from dperm_papers.jain2013.constants import drawing as constants
from dperm_papers.jain2013.constants import drawing_fig1 as fig1
from dperm_papers.jain2013.constants import drawing_noise as noise
from dperm_pipeline.figures import style


@pytest.fixture(scope="module")
def rows():
    return fake_jain2013.constants()


def words(figure):
    return " ".join(text.get_text().replace("\n", " ") for text in figure.texts)


def test_lines_are_formulas_and_markers_are_drawn(rows):
    figure = noise.noise(rows)
    own = rows[(rows["series"] == "noise") & (rows["mechanism"] == "tddl") & (rows["calibration"] == "corrected")]
    own = own[own["epsilon"] == 0.1].sort_values("queries")
    lines = [one for one in figure.axes[0].lines if one.get_color() == "#E69F00" and one.get_linestyle() == "-"]
    np.testing.assert_allclose(lines[0].get_ydata(), own.loc[own["metric"] == "sd", "value"])
    marks = [one for one in figure.axes[0].lines if one.get_markeredgecolor() == "#E69F00" and one.get_marker() == "D"]
    shown = np.concatenate([one.get_ydata() for one in marks])
    for name in ("orthogonal", "sphere-10"):
        assert np.isin(own.loc[own["dataset"] == name, "value"], shown).all()
    assert "No data set" in words(figure) and "as printed everywhere" in words(figure)
    assert any("not private" in text.get_text() for text in figure.legends[0].get_texts())


def test_schematics_quote_the_rows(rows):
    figure = fig1.fig1(rows)
    assert [axis.get_title() for axis in figure.axes] == [model[0] for model in fig1._MODELS]
    said = [" ".join(text.get_text() for text in axis.texts) for axis in figure.axes]
    here = rows[(rows["calibration"] == "paper") & (rows["total"] == 1e7)]
    updates = here[(here["series"] == "pinp") & (here["queries"] == 10_000) & (here["metric"] == "rounds")]["value"]
    assert f"B = {updates.item():,.3g} updates" in said[0]
    own = here[(here["series"] == "tddl") & (here["metric"] == "own_queries")]["value"].iloc[0]
    assert f"T = {own:,.0f}" in said[1]
    digits = here[(here["series"] == "tdil") & (here["d"] == 10) & (here["metric"] == "net_digits")]["value"]
    assert f"{style.number(10.0 ** round(digits.item()))} centres" in said[2] and "vacuous" not in " ".join(said)
    idle = rows.copy()
    idle.loc[idle["series"] == "pinp", "vacuous"] = 1
    assert "vacuous" in " ".join(text.get_text() for text in fig1.fig1(idle).axes[0].texts)


def test_the_table(rows):
    plain, told = constants.constants_table(rows)
    # n lambda by T, by Theorem 5's T beside them, by d.
    assert len(told) == 2 * (3 + 4 + 2) + 6 and len(plain) == 3 * 2 * (3 + 4 + 2) + 3 * 3 + 3
    line = plain[(plain["algorithm"] == "1, PINP") & (plain["nλ"] == 1000) & (plain["T"] == 100)]
    assert set(line["vacuous"]) == {1} and line["log10 |S|"].isna().all()
    here = rows[(rows["series"] == "pinp") & (rows["total"] == 1000) & (rows["queries"] == 100)]
    sigma = here[here["metric"] == "threshold"].set_index("calibration")["value"]
    np.testing.assert_allclose(line.set_index("calibration")["σ"], sigma[["paper", "corrected", "tight"]])
    first = told[(told["algorithm"] == "1, PINP") & (told["nλ"] == "1000") & (told["T"] == "100")].iloc[0]
    assert first["vacuous"] == "printed, corrected, tight"
    assert first["σ: printed, corrected, tight"].split(" / ")[0] == f"{sigma['paper']:.3g}"
    assert not any(isinstance(value, float) and math.isnan(value) for value in told.to_numpy().ravel())


def test_the_table_s_checks(rows):
    plain = constants.constants_table(rows)[0]
    own = plain[plain["algorithm"].str.startswith("check")].set_index(["algorithm", "calibration"])
    own.index = own.index.set_levels([name.split()[1].rstrip(":") for name in own.index.levels[0]], level=0)
    assert (own["holds"] == 1).all()
    work = rows[(rows["series"] == "work-n") & (rows["metric"] == "evaluations") & (rows["calibration"] == "tight")]
    slopes = [
        np.log(group["value"].iloc[-1] / group["value"].iloc[0]) / np.log(2)
        for _, group in work.sort_values("n").groupby("mechanism")
    ]
    assert own.loc[("J-c06a", "tight"), "excess"] == pytest.approx(max(slopes) - 1)
    tail = rows[(rows["series"] == "composition")]["value"].max()
    assert own.loc[("J-c24", "paper"), "excess"] == tail
    broken = rows.copy()
    broken.loc[(rows["series"] == "translation") & (rows["variant"] == "cubic"), "value"] = 1e-6
    broken.loc[(rows["series"] == "exponential") & (rows["calibration"] == "tight"), "value"] = 1e-6
    said = constants.constants_table(broken)[1].set_index("algorithm")["holds"]
    assert said["check J-c33: cubic kernel under translation"] == "no"
    assert said["check J-c31: tail of the exponential mechanism"] == "yes / yes / no"
