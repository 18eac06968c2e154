"""The benchmark of auditors: what its mechanisms spend, by other routes, and that ours certifies no more."""

import importlib
import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, stats

from dperm import audit
from dperm.accounting import gaussian

FOLDER = Path(__file__).parents[2] / "bench/auditors"


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("mechanisms")


@pytest.fixture
def spent(bench):
    return {made.name: made.epsilon for made in bench.mechanisms()}


def shared(function):
    """Return the mean of a function of Laplace noise of scale 2, by adaptive quadrature between its kinks."""
    law = stats.laplace(scale=2)
    ends = (-90, -1, 0, 1, 90)
    return sum(integrate.quad(lambda x: function(x) * law.pdf(x), *part)[0] for part in itertools.pairwise(ends))


def test_what_they_spend_by_adaptive_quadrature(spent):
    two, four = stats.laplace(scale=2), stats.laplace(scale=4)
    # All five zeros stay below and all five ones above, against the other way around.
    telling = shared(lambda t: (two.cdf(t) * two.sf(t - 1)) ** 5) / shared(lambda t: (two.cdf(t - 1) * two.sf(t)) ** 5)
    assert spent["sparse vector without cutoff"] == pytest.approx(math.log(telling), abs=1e-6)
    # Stopped at the last query: four zeros below and a one above, against four ones and a zero.
    last = shared(lambda t: four.cdf(t) ** 4 * four.sf(t - 1)) / shared(lambda t: four.cdf(t - 1) ** 4 * four.sf(t))
    assert spent["correct sparse vector"] == pytest.approx(math.log(last), abs=1e-6)
    first = shared(lambda x: two.cdf(x + 1) ** 4) / shared(lambda x: two.cdf(x - 1) ** 4)
    assert spent["noisy maximum, its place"] == pytest.approx(math.log(first), abs=1e-6)


def test_what_they_spend_in_closed_form(spent):
    value = stats.laplace(scale=2)
    ratio = 5 * value.logcdf(-2.0) + value.logpdf(-2.0) - value.logcdf(-2.0)
    other = 5 * value.logcdf(-1.0) + value.logpdf(-1.0) - value.logcdf(-1.0)
    assert spent["noisy maximum, its value"] == pytest.approx(other - ratio)
    normalised = math.log((math.e**6 + 2 * math.e**4) / (2 * math.e**5 + math.e**4))
    assert spent["votes e^(epsilon count)"] == pytest.approx(max(1 - normalised, 1 + normalised))
    assert spent["randomised response, 4 answers"] == pytest.approx(1)
    mu = gaussian.gaussian_ratio(1.0, 0.01)
    assert gaussian.hockey_stick(spent["Gaussian, half noise"], 2 * mu) == pytest.approx(0.01)


def test_ours_certifies_no_more_than_is_spent(bench):
    """At an error of 1e-4 for each of the twelve; and something of each."""
    for made in bench.mechanisms():
        options = {"draws": 2_000, "delta": made.delta, "confidence": 1 - 1e-4, "rng": np.random.default_rng(1)}
        assert 0 <= audit.lower_bound(made.draw, 1, 0, **options).epsilon <= made.epsilon
        assert (
            made.score(made.draw(1, 2_000, np.random.default_rng(2))).mean()
            > made.score(made.draw(0, 2_000, np.random.default_rng(3))).mean()
        )


def test_the_table_is_that_of_the_rows(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    written = importlib.import_module("table")
    assert written.table(written.recorded()) in written.PAGE.read_text(encoding="utf-8")
