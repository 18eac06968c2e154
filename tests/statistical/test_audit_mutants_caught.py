"""Every mutant is caught with 40,000 draws a side, and no correct twin is.

Level: a mutant's p-value is below 1e-3, a twin's is not. A correct twin alarms with probability 1e-3 at most at any one
seed: 34 twins and 11 tests of their noise make 4 false alarms at most in 100 changes of the seed, and far fewer still,
as few twins spend all that they claim. Seeds were fixed before the first run.

One mutant, printed-as-replace, is weak: constants for add/remove under replace-one spend at most log(3/2) more than
epsilon = 1, on a thin event; 40,000 draws give p < 1e-3 in 12 of 20 runs and p < 0.05 in all 20. Gaussian noise at
delta = 1e-6 is caught by the test of its noise: 40,000 draws seldom reach the event that matters there (100,000 a side
just do).
"""

import pytest

from dperm.audit import mutants

pytestmark = pytest.mark.slow

DRAWS = 40_000
LEVEL = 1e-3
BY_ITS_NOISE = ("half-gaussian-noise",)


@pytest.fixture(scope="module")
def found():
    jobs = [{"group": group, "draws": DRAWS, "confidence": 0.95, "seed": 1} for group in mutants.GROUPS]
    return {row["name"]: row for job in jobs for row in mutants.run(job)}


def caught(row):
    return row["white_box_p" if row["name"] in BY_ITS_NOISE else "mutant_p"] < LEVEL


def test_every_mutant_is_caught(found):
    assert [name for name, row in found.items() if not caught(row)] == []
    by_noise = [name for name, row in found.items() if row["caught_by"] == "white-box noise test"]
    # With this many draws the bound shows it at some seeds, and misses it at others.
    assert set(by_noise) <= set(BY_ITS_NOISE)


def test_no_twin_is(found):
    p = {name: (row["twin_p"], row["twin_white_box_p"]) for name, row in found.items()}
    assert [name for name, values in p.items() if any(v is not None and v < LEVEL for v in values)] == []


def test_bounds_show_the_size_of_the_mistake(found):
    """What each mutant spends by its closed form (unit tests) is almost reached, and never exceeded."""
    spent = {
        "intercept-outside-the-bound": 5**0.5,
        "scale-upside-down": 1.0,
        "printed-sgd": 2.0,
        "half-noise": 2.0,
        "exponential-votes": 2.0,
        "weight-upside-down": 8.0 * (1 + 1e-9),
        "weight-doubled": 2.0 * (1 + 1e-9),
        "half-noise-top": 2.0,
        "epsilon-for-each-stage": 2.0,
        "curvature-for-the-whole": 0.6555,
    }
    for name, most in spent.items():
        assert 0.7 * most < found[name]["mutant_bound"] <= most, name
