"""The figures of averaging and of what lies beyond it show the numbers of their rows."""

import fake_dwork2018
import numpy as np
import pytest

from dperm_papers.dwork2018.averaging.figures import averaging
from dperm_papers.dwork2018.beyond.figures import beyond
from dperm_pipeline.figures import style


def lines(axis):
    return [(np.round(line.get_xdata(), 9).tolist(), line.get_ydata().tolist()) for line in axis.get_lines()]


def test_averaging():
    rows = fake_dwork2018.averaging()
    with style.applied():
        figure = averaging(rows)
    assert len(figure.axes) == 4
    split = rows[(rows["metric"] == "mean_excess") & (rows["epsilon"] == 0.1)]
    noised = split[(split["series"] == "noised") & (split["calibration"] == "paper")]["value"].tolist()
    assert ([2, 20], noised) in lines(figure.axes[0])
    own = rows[(rows["metric"] == "promised") & (rows["epsilon"] == 1.0) & (rows["variant"] == "mended")]
    own = own.set_index("alpha")["value"]
    # A smaller alpha lies to the right.
    assert ([5, 10], [own[0.2], own[0.1]]) in lines(figure.axes[3])
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert len(words) == len(set(words)) == 7 and any("not private" in word for word in words)


def test_beyond():
    rows = fake_dwork2018.beyond()
    with style.applied():
        figure = beyond(rows)
    assert len(figure.axes) == 4
    needed = rows[rows["metric"] == "needed"]
    over_alpha = needed[(needed["form"] == "alpha") & (needed["epsilon"] == 1.0) & (needed["variant"] == "tight")]
    for mechanism in ("exppw", "averaged"):
        own = over_alpha[over_alpha["mechanism"] == mechanism].set_index("alpha")["value"]
        assert ([5, 10], [own[0.2], own[0.1]]) in lines(figure.axes[1])
    learner = needed[(needed["form"] == "domain") & (needed["mechanism"] == "exp_mech")]["value"].tolist()
    assert ([4, 20], learner) in lines(figure.axes[2])
    ends = needed[(needed["form"] == "ends") & (needed["flip"] == 0.2)]["value"].tolist()
    assert ([1, 3], ends) in lines(figure.axes[3])
    assert any("private model" in text.get_text() for text in figure.legends[0].get_texts())


@pytest.mark.parametrize("draw", [averaging, beyond])
def test_equal_rows_give_equal_labels(draw):
    rows = {averaging: fake_dwork2018.averaging, beyond: fake_dwork2018.beyond}[draw]()
    shuffled = rows.sample(frac=1, random_state=0)
    with style.applied():
        first, second = draw(rows), draw(shuffled)
    assert [lines(axis) for axis in first.axes] == [lines(axis) for axis in second.axes]
