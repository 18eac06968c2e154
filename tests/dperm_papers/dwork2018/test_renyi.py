"""dwork2018-renyi: divergences by the definition, and what the rows say."""

import math

import cells
import numpy as np
import pytest

from dperm.accounting import renyi
from dperm_papers.dwork2018.renyi import experiment as paper

SETTINGS = {
    "epsilons": [0.3, 3.0], "orders": [1.5, 64.0], "changes": [1, 3], "counts": [1, 50], "laws": 30, "each": 0.1,
    "delta": 1e-6,
}  # fmt: skip


@pytest.fixture(scope="module")
def found():
    return cells.rows("dwork2018-renyi", SETTINGS, seed=3)


def test_every_series_is_measured_and_holds(found):
    excess = found[found["metric"] == "excess"]
    assert set(excess["series"]) == {"curve", "groups", "processing", "means", "moments", "answers"}
    assert np.isfinite(excess["value"]).all()
    assert excess["value"].max() < 1e-9


def test_bits_of_a_majority_are_those_of_the_law():
    """Two votes of three, one replaced, by the definition of the divergence."""
    epsilon, order = 0.7, 3.0
    one, other = (1 / (1 + math.exp(-epsilon * (2 * count - 3) / 2)) for count in (2, 1))
    moments = one**order * other ** (1 - order) + (1 - one) ** order * (1 - other) ** (1 - order)
    laws = paper.majority(3, epsilon)
    assert paper.between(order, laws[2:3], laws[1:2]) == pytest.approx(math.log(moments) / (order - 1))


def test_totals_are_in_order(found):
    total = found[found["metric"] == "total"].set_index(["form", "queries"])["value"]
    for m in (1, 50):
        assert total["lower", m] <= total["renyi", m] <= min(total["concentrated", m], total["basic", m]) + 1e-9
    assert total["renyi", 50] == pytest.approx(
        renyi.total_epsilon(lambda order: renyi.bounded_range(order, 0.1), 1e-6, 50)
    )
