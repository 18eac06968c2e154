"""Attacks on NAPP's iterations: what steps, recycling and returning spend, by closed forms and by its own draws."""

import math

import numpy as np
import pytest

from dperm.audit import napp
from dperm.audit.napp import cases, iterated
from dperm.audit.napp import problem as line
from dperm.domain import Budget

PURE, APPROXIMATE = Budget(1.0), Budget(1.0, 1e-4)
BUDGETS = pytest.mark.parametrize("budget", [PURE, APPROXIMATE], ids=["spherical", "gaussian"])


# Steps, recycling, returning.


@pytest.mark.parametrize("moor", [False, True])
@pytest.mark.parametrize("number", [1, 2, 80])
def test_steps_are_those_of_the_mechanism(number, moor):
    made = iterated.steps(cases.wide(PURE, "paper", moor=moor), number)
    b = np.linspace(-7.03, 7.01, 40)[:, None]
    theta = made.draw(made.problem, *napp.CURVED.expanded(), b)[:, 0]
    assert np.abs(theta) == pytest.approx(made.of(made.problem, 1.0, np.abs(b[:, 0])), abs=1e-5)


@pytest.mark.parametrize("number", [1, 2, 80, 400])
def test_steps_without_curvature_have_a_closed_form(number):
    """u <= 2 Lambda: (u/2 Lambda0)(u/2 Lambda)^(T-1); beyond: u/2 Lambda0."""
    made = iterated.steps(cases.wide(PURE, "paper", moor=True), number)
    u = np.array([1.5, 1.9, 1.99, 2.0, 2.5, 10.0])
    closed = np.where(u <= 2, u / 2 * (u / 2) ** (number - 1), u / 2)
    assert made.of(made.problem, 0.0, u) == pytest.approx(closed, rel=1e-9)
    assert made.reach(0.0, closed[:3]) == pytest.approx(u[:3], rel=1e-12)


@BUDGETS
def test_recycling_is_that_of_the_mechanism(budget):
    made = iterated.recycled(cases.wide(budget, "paper", moor=True))
    b = np.linspace(-7.03, 7.01, 60)[:, None]
    theta = made.draw(made.problem, *napp.CURVED.expanded(), b)[:, 0]
    of = made.of(made.problem, 1.0, np.abs(b[:, 0]))
    assert np.abs(theta) == pytest.approx(of, abs=1e-6)
    assert (np.diff(made.of(made.problem, 1.0, np.linspace(0, 9, 2_000))) >= 0).all()
    # Some of it lies in the gap, where the data without the record never is.
    assert ((of > 0) & (of < 1)).any()
    without = made.of(made.problem, 0.0, np.linspace(0, 9, 2_000))
    assert not ((without > 0) & (without < 1)).any()


def test_iterations_need_accounting():
    """T = 1 is a ridge's release and holds; with T the bound grows as log T, as its closed form says."""
    spent = {
        number: iterated.attack(iterated.steps(cases.wide(PURE, "paper", moor=True), number), delta=0.0)["exact_bound"]
        for number in (1, 80, 400)
    }
    assert spent[1] <= math.log(1.5) + 1e-9
    # At theta near Lambda/Lambda0 = 1: T theta/(2 Lambda) times e^{-1/4}: the noise lies 1 further out with the record.
    for number in (80, 400):
        assert spent[number] == pytest.approx(math.log(number / 2) - 0.25, abs=0.15) and spent[number] > 3


def test_what_is_returned_is_not_free():
    """The claim epsilon - Delta epsilon: refuted as published, kept by ridge."""
    (pair, found), *_ = iterated.returned(1.0, 0.0, "paper", moor=False)
    assert found["exact_bound"] > 1.1 and pair.problem.budget.epsilon == pytest.approx(1 / 0.505)
    # At the edge: Lambda0/(Lambda/theta + Lambda0) is 0.01.
    made = pair.problem
    assert made.floor / (made.strength / cases.EDGE + made.floor) == pytest.approx(0.01)
    ((pair, found),) = iterated.returned(1.0, 0.0, "corrected", moor=False, ridge=True)
    made = pair.problem
    charge = made.bounds.zeta12 / line.symmetric(made).scale + math.log1p(1 / (2 * made.strength))
    assert 0.98 * charge < found["exact_bound"] <= charge <= 1.0
