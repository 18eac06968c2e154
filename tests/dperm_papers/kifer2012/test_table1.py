"""Table 1's experiment: its algebra against records that are really there, and its bounds as the paper prints them."""

import math

import cells
import numpy as np
import pytest
from chosen_rows import of
from scipy.linalg import hadamard

from dperm import losses, seeds
from dperm.domain import Budget, Domain
from dperm.errors import ConfigError
from dperm.feasible import Region
from dperm.mechanisms import objective
from dperm_papers.kifer2012.shared import designs
from dperm_pipeline import experiments

P, EPSILON, DELTA = 8, 1.0, 1e-6
SETTINGS = {
    "repeats": 5, "epsilon": EPSILON, "delta": DELTA, "sizes": [4096], "gammas": [0.1, 0.5],
    "designs": ["extremal", "hadamard"],
}  # fmt: skip


def cell(**settings):
    return cells.cell("kifer2012-table1", SETTINGS | settings, seed=3, point={"p": float(P)})


@pytest.fixture(scope="module")
def rows():
    return experiments.run(cell())


# Delta of each row by hand: zeta = 2 p^1.5, lambda = p, T = sqrt(p)/2.
CURVATURES = {
    "theorem-4.1": 4 * P * P * math.log(P) / EPSILON,
    "theorem-4.2": 4 * P**1.5 * math.sqrt(math.log(1 / DELTA)) / EPSILON,
    "theorem-5": 2 * P / EPSILON,
}


@pytest.mark.parametrize("row", CURVATURES)
@pytest.mark.parametrize("design", ["extremal", "hadamard"])
def test_the_excess_is_that_of_a_release_from_records(rows, row, design):
    """n records are made, Algorithm 1 runs on them with the same noise, and the loss is summed record by record."""
    n, curvature = 4096, CURVATURES[row]
    if design == "hadamard":
        X = np.tile(hadamard(P).astype(float), (n // P, 1))
    else:
        # Rows of length sqrt(p) along the axes, the last of each shorter, until X'X = Delta I; the others are 0.
        X = np.zeros((n, P))
        whole, rest = divmod(curvature, P)
        for j in range(P):
            at = j * (int(whole) + 1)
            X[at : at + int(whole), j] = math.sqrt(P)
            X[at + int(whole), j] = math.sqrt(rest)
    assert (np.linalg.norm(X, axis=1) <= math.sqrt(P) + 1e-12).all()
    y = X @ np.full(P, 0.5)
    assert np.abs(y).max() <= P
    delta = 0.0 if row == "theorem-4.1" else DELTA
    released = objective.release(
        X, y, losses.squared(), domain=Domain(x_norm=math.sqrt(P), y_bound=float(P)),
        region=Region(radius=math.sqrt(P)), budget=Budget(EPSILON, delta), neighbours="add_remove",
        calibration="paper", curvature=curvature, repeats=5,
        rng=seeds.generator(3, "kifer2012-table1", "paper", "add_remove", P, row, design, n),
    )  # fmt: skip
    by_hand = [np.mean(0.5 * (y - X @ theta) ** 2) for theta in released.theta]
    found = of(rows, row=row, dataset=design, metric="excess_risk", sizing="fixed")
    np.testing.assert_allclose(found["value"], by_hand, rtol=1e-8)
    assert (found["status"] == "ok").all() and set(found["n"]) == {n}


@pytest.mark.parametrize("row", CURVATURES)
def test_bounds_are_the_printed_ones(rows, row):
    n, gamma, curvature, zeta, length = 4096, 0.1, CURVATURES[row], 2 * P**1.5, math.sqrt(P) / 2
    bias = curvature * length**2 / (2 * n)
    if row == "theorem-4.1":
        spread = 8 * zeta**2 * P**2 * math.log(P / gamma) ** 2 / (n * EPSILON**2 * curvature)
    else:
        eta = n if row == "theorem-5" else 0.0
        spread = 4 * P * zeta**2 * (8 * math.log(2 / DELTA) + 4 * EPSILON) * math.log(1 / gamma)
        spread /= n * EPSILON**2 * (curvature + eta)
    here = of(rows, row=row, dataset="hadamard", sizing="fixed")
    (bound,) = of(here, metric="bound", gamma=gamma)["value"]
    assert bound == pytest.approx(spread + bias, rel=1e-12)
    excess = of(here, metric="excess_risk")["value"].to_numpy()
    np.testing.assert_array_equal(of(here, metric="violated", gamma=gamma)["value"], excess > bound)


def test_theorem_5_is_run_at_a_hundred_p_squared_too(rows):
    tied = of(rows, sizing="100 p^2", metric="excess_risk")
    assert set(tied["row"]) == {"theorem-5"} and set(tied["n"]) == {100 * P * P}


def test_the_drawn_design_is_scored_record_by_record():
    """The same records are drawn again, whole; the minimiser over F is SciPy's, the loss is summed record by record."""
    n, gamma = 4096, 0.5
    rows = of(experiments.run(cell(designs=["rademacher"], gammas=[gamma])), dataset="rademacher")
    assert set(rows["n"]) == {n} and set(rows["sizing"]) == {"fixed"}
    rng = seeds.generator(3, "kifer2012-table1", "data", P, "rademacher", n)
    X, y, truth = designs.rademacher(n, P, P // 4, rng, clip=False)
    y = np.clip(y, -P, P)
    theta_hat = np.linalg.lstsq(X, y, rcond=None)[0]
    assert np.linalg.norm(truth) == math.sqrt(P) / 2 and np.linalg.norm(theta_hat) < math.sqrt(P)
    least = np.mean(0.5 * (y - X @ theta_hat) ** 2)
    here = of(rows, row="theorem-4.2")
    released = objective.release(
        X, y, losses.squared(), domain=Domain(x_norm=math.sqrt(P), y_bound=float(P)),
        region=Region(radius=math.sqrt(P)), budget=Budget(EPSILON, DELTA), neighbours="add_remove",
        calibration="paper", curvature=CURVATURES["theorem-4.2"], repeats=5,
        rng=seeds.generator(3, "kifer2012-table1", "paper", "add_remove", P, "theorem-4.2", "rademacher", n),
    )  # fmt: skip
    by_hand = [np.mean(0.5 * (y - X @ theta) ** 2) - least for theta in released.theta]
    np.testing.assert_allclose(of(here, metric="excess_risk")["value"], by_hand, rtol=1e-8)
    beta = 2 * P**1.5 * math.sqrt(8 * math.log(2 / DELTA) + 4 * EPSILON) / EPSILON
    length = np.linalg.norm(theta_hat)
    curvature = CURVATURES["theorem-5"] + np.linalg.eigvalsh(X.T @ X)[0]
    expected = 4 * P * beta**2 * math.log(1 / gamma) / (n * curvature) + CURVATURES["theorem-5"] * length**2 / (2 * n)
    (bound,) = of(rows, row="theorem-5", metric="bound")["value"]
    assert bound == pytest.approx(expected, rel=1e-9)


def test_drawn_records_are_those_of_the_point_not_of_the_calibration():
    small = cell(designs=["rademacher"], sizes=[5000])
    first = experiments.run(small)
    other = experiments.run({**small, "calibration": "tight"})
    where = {"row": "theorem-5", "metric": "bound", "gamma": 0.1}
    assert of(first, **where)["value"].tolist() == of(other, **where)["value"].tolist()


def test_the_noise_depends_on_the_point_and_the_seed_alone(rows):
    again = experiments.run(cell(designs=["hadamard"], gammas=[0.5]))
    where = {"row": "theorem-4.2", "dataset": "hadamard", "metric": "excess_risk"}
    np.testing.assert_array_equal(of(again, **where)["value"], of(rows, **where)["value"])


def test_too_few_records_are_refused():
    with pytest.raises(ConfigError, match=r"sizes: n=100 is below Delta=532.* take larger sizes or smaller p"):
        experiments.run(cell(sizes=[100]))
