"""The experiment's own bookkeeping: what is public stays public, and the risk is the risk."""

import dataclasses
import math

import cells
import gaussian_curve
import numpy as np
import pandas as pd
import pytest
from scipy import optimize

from dperm import losses, seeds
from dperm.domain import Domain
from dperm.errors import ConfigError, DataError
from dperm_papers.kifer2012.output import experiment as output
from dperm_papers.kifer2012.output.settings import Settings
from dperm_pipeline import experiments, tables
from dperm_pipeline.datasets import prepared
from dperm_pipeline.experiments import Cell

SETTINGS = {
    "repeats": 4, "small_repeats": 7, "small_rows": 10, "tuning_repeats": 3, "deltas": [0.0, 1e-6],
    "ridge_multiples": [2.0, 20.0], "ridge": 0.01,
    "gradient_steps": [3.0, 10.0], "clips": [0.2, 1.0], "momentum": 0.9,
    "public_share": 0.2, "test_share": 0.25, "huber_knee": 0.5,
}  # fmt: skip
METHODS = {
    "objective": "tight", "output": "tight", "cms11": "paper", "approximate_minima": "paper", "gradient": "tight",
}  # fmt: skip


def cell(mechanism="objective", **settings):
    return cells.cell(
        "kifer2012-output",
        SETTINGS | settings,
        seed=3,
        point={"dataset": "toy", "epsilon": 1.0},
        mechanism=mechanism,
        calibration=METHODS[mechanism],
    )


def cell_of(toy, **settings):
    """The cell as the experiment itself is given it."""
    point, settings = {"dataset": "toy", "epsilon": 1.0}, Settings(**{**SETTINGS, **settings})
    return Cell("kifer2012", "kifer2012-output", 3, point, settings, files={"data": str(toy)})


@pytest.fixture
def toy(tmp_path):
    """200 binary records; the path of the prepared file."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(200, 3))
    data = prepared.Dataset(
        X=X, y=np.where(X[:, 0] > 0, 1.0, -1.0), bounds=Domain(x_norm=np.sqrt(3.0), y_bound=1.0), name="toy",
        provenance={}, task="binary",
    )  # fmt: skip
    prepared.write(data, tmp_path / "toy.parquet")
    return tmp_path / "toy.parquet"


@pytest.fixture
def level(toy, tmp_path):
    """The path of the baseline's rows."""
    tables.write(experiments.run_baseline(cell(), data=str(toy)), tmp_path / "baseline.parquet", metadata={})
    return str(tmp_path / "baseline.parquet")


@pytest.fixture
def rows(toy, level):
    return experiments.run(cell(), data=str(toy), baseline=level), experiments.run_baseline(cell(), data=str(toy))


def test_the_split_is_a_partition_of_the_sizes_asked_for(toy):
    problem = output.cut(cell_of(toy))
    parts = [problem.private, problem.public, problem.test]
    assert [len(y) for _, y in parts] == [120, 30, 50]
    together = np.sort(np.concatenate([X for X, _ in parts]), axis=0)
    np.testing.assert_array_equal(together, np.sort(prepared.read(toy).X / np.sqrt(3.0), axis=0))


def test_tuning_sees_no_private_and_no_test_row_not_even_their_number(toy):
    """Whatever the private and test rows are, the rows that choose the ridge multiple are the same, bit for bit."""
    problem = output.cut(cell_of(toy))
    stand_in, held_out = output.public_halves(cell_of(toy), problem.public)
    public = {row.tobytes() for row in problem.public[0]}
    assert {row.tobytes() for row in stand_in[0]} | {row.tobytes() for row in held_out[0]} <= public
    assert not {row.tobytes() for row in stand_in[0]} & {row.tobytes() for row in held_out[0]}
    # As many as the private rows, by the public shares alone.
    assert len(stand_in[1]) == 120
    assert list(output.public_halves.__annotations__) == ["cell", "public", "return"]


def test_excess_risk_is_the_risk_above_its_minimum(toy, rows):
    """Recomputed from scipy's own minimiser of J on the private rows."""
    problem = output.cut(cell_of(toy))
    X, y = problem.private
    loss = losses.logistic()

    def risk(theta):
        return (loss.value(X @ theta, y).sum() + 0.005 * theta @ theta) / len(y)

    best = optimize.minimize(risk, np.zeros(3), method="BFGS", options={"gtol": 1e-9}).fun
    mechanism, baseline = rows
    assert baseline.loc[baseline["metric"] == "risk", "value"].item() == pytest.approx(best, abs=1e-9)
    excess = mechanism.loc[mechanism["metric"] == "excess_risk", "value"]
    assert len(excess) == 2 * 2 * 4
    assert (excess > 0).all()


def test_one_multiple_is_chosen_for_each_delta_by_least_mean_tuning_loss(rows):
    mechanism, _ = rows
    tuning = mechanism[mechanism["metric"] == "tuning_loss"].groupby(["delta", "ridge_multiple"])["value"].mean()
    chosen = mechanism[mechanism["chosen"]].groupby("delta")["ridge_multiple"].unique()
    for delta in SETTINGS["deltas"]:
        assert chosen[delta].tolist() == [tuning[delta].idxmin()]


def test_a_small_data_set_has_repeats_of_its_own(toy, level):
    # 120 private rows.
    for small_rows, repeats in ((120, 4), (121, 7)):
        rows = experiments.run(cell(small_rows=small_rows), data=str(toy), baseline=level)
        assert rows[rows["metric"] == "excess_risk"].groupby(["delta", "ridge_multiple"]).size().unique() == [repeats]


def test_a_split_without_rows_is_an_error_in_words(toy):
    with pytest.raises(DataError, match=r"toy: 1 public rows of 200 are too few; raise public_share=0\.005"):
        output.cut(cell_of(toy, public_share=0.005))


# -- the comparators -------------------------------------------------------------------------------------------------


def measured(rows, problem, theta):
    """Hold a candidate's rows against released parameters, shape (repeats, 3)."""
    X, y = problem.test
    expected = np.log1p(np.exp(-y[:, None] * (X @ theta.T))).mean(axis=0)
    assert rows.loc[rows["metric"] == "test_loss", "value"].to_numpy() == pytest.approx(expected, abs=1e-5)
    assert (rows["status"] == "ok").all() and len(expected) == SETTINGS["repeats"]


def noise_of(method, key, delta):
    names = ("kifer2012-output", "toy", method, METHODS[method], "add_remove", 1.0, delta, *key, "noise")
    return seeds.generator(3, *names)


def minimiser(problem, curvature, tilt):
    X, y = problem.private

    def tilted(theta):
        return np.log1p(np.exp(-y * (X @ theta))).sum() + curvature / 2 * theta @ theta + tilt @ theta

    return optimize.minimize(tilted, np.zeros(3), method="BFGS", options={"gtol": 1e-8}).x


@pytest.mark.parametrize(("candidate", "key"), [("own default", 2.0), ("multiple 20", 20.0)])
def test_cms11_stands_with_its_own_constants_for_one_gradient(toy, level, candidate, key):
    """Algorithm 2 by hand, c = 1/4, beta = epsilon' for epsilon'/2: one record's gradient moves the tilt."""
    found = experiments.run(cell("cms11"), data=str(toy), baseline=level)
    assert set(found["delta"]) == {0.0} and set(found["guarantee"]) == {"proved_exact"}
    problem, found = output.cut(cell_of(toy)), found[found["candidate"] == candidate]
    # 2 lambda/epsilon is below the method's own 1/4/(e^{1/4} - 1), at which half of epsilon is left.
    curvature = 0.25 / math.expm1(0.25) if key == 2.0 else 20 * 0.25
    rest = 1.0 - math.log(1 + 2 * 0.25 / curvature + (0.25 / curvature) ** 2)
    assert found["ridge_multiple"].unique() == pytest.approx([curvature / 0.25])
    rng = noise_of("cms11", (key,), 0.0)
    direction = rng.standard_normal((4, 3))
    tilts = rng.gamma(3, 1 / rest, (4, 1)) * direction / np.linalg.norm(direction, axis=1, keepdims=True)
    measured(found, problem, np.array([minimiser(problem, curvature, b) for b in tilts]))


@pytest.mark.parametrize(("candidate", "key"), [("own default", 2.0), ("multiple 200", 200.0)])
def test_approximate_minima_stand_with_the_authors_shares(toy, level, candidate, key):
    found = experiments.run(
        cell("approximate_minima", ridge_multiples=[2.0, 20.0, 200.0]), data=str(toy), baseline=level
    )
    assert set(found["delta"]) == {1e-6} and set(found["guarantee"]) == {"proved"}
    # Both 2 and 20 are below what Algorithm 1 allows: its own default is run once in their place.
    assert [*dict.fromkeys(found["candidate"])] == ["own default", "multiple 200"]
    problem, found = output.cut(cell_of(toy)), found[found["candidate"] == candidate]
    share = 0.887 + 0.019 / 0.99**0.373
    curvature = 2 * 0.25 / (0.99 * (1 - share)) if key == 2.0 else 200 * 0.25
    assert found["ridge_multiple"].unique() == pytest.approx([curvature / 0.25])
    rng = noise_of("approximate_minima", (key,), 1e-6)
    tilts = (1 + math.sqrt(2 * math.log(1 / 0.99e-6))) / (0.99 * share) * rng.standard_normal((4, 3))
    # The solver's target is zeta/n' with n' = 120 by the public shares, and the output noise is made for it.
    tau = (1 / 120) / curvature
    covers = tau * (1 + math.sqrt(2 * math.log(1 / 1e-8))) / 0.01 * rng.standard_normal((4, 3))
    exact = np.array([minimiser(problem, curvature, b) for b in tilts])
    loss = found.loc[found["metric"] == "test_loss", "value"].to_numpy()
    X, y = problem.test
    expected = np.log1p(np.exp(-y[:, None] * (X @ (exact + covers).T))).mean(axis=0)
    assert np.abs(loss - expected).max() <= tau


@pytest.mark.parametrize(("steps", "clip"), [(10, 1.0), (10, 0.2), (3, 0.2)])
def test_descent_stands_with_public_steps_and_clips(toy, level, steps, clip):
    """One record, one repeat and one step at a time, by the module's text; a/sigma composed over steps as in GDP."""
    found = experiments.run(cell("gradient"), data=str(toy), baseline=level)
    assert set(found["delta"]) == {1e-6} and set(found["guarantee"]) == {"proved"}
    assert len(found["candidate"].unique()) == 4 and set(found["steps"]) == {3, 10}
    problem, found = output.cut(cell_of(toy)), found[(found["steps"] == steps) & (found["clip"] == clip)]
    X, y = problem.private
    mu = gaussian_curve.ratio(1.0, 1e-6)
    rng, theta, velocity = noise_of("gradient", (steps, clip), 1e-6), np.zeros((4, 3)), np.zeros((4, 3))
    for _ in range(steps):
        noise = math.sqrt(steps) * clip / mu * rng.standard_normal((4, 3))
        for r in range(4):
            gradient = noise[r] + 0.01 * theta[r]
            for row, label in zip(X, y, strict=True):
                one = -label / (1 + math.exp(label * row @ theta[r])) * row
                gradient = gradient + one * min(1.0, clip / np.linalg.norm(one))
            velocity[r] = 0.9 * velocity[r] + gradient
        theta = theta - velocity / (120 * 0.25 + 0.01)
    measured(found, problem, theta)


@pytest.mark.parametrize("method", METHODS)
def test_private_and_test_rows_decide_no_setting(method, toy, level, tmp_path):
    """Turn every private and test label round: not a bit of the tuning changes, nor what is chosen; the results do."""
    problem, data = output.cut(cell_of(toy)), prepared.read(toy)
    public = {row.tobytes() for row in problem.public[0]}
    hidden = np.array([(row / np.sqrt(3.0)).tobytes() not in public for row in data.X])
    assert hidden.sum() == 170
    turned = dataclasses.replace(data, y=np.where(hidden, -data.y, data.y))
    prepared.write(turned, tmp_path / "turned.parquet")
    one, other = (
        experiments.run(cell(method), data=str(path), baseline=level) for path in (toy, tmp_path / "turned.parquet")
    )
    tuning = one["metric"] == "tuning_loss"
    pd.testing.assert_frame_equal(one[tuning], other[tuning])
    assert one["chosen"].equals(other["chosen"]) and one.loc[one["chosen"], "candidate"].nunique() <= 2
    changed = one["metric"] == "test_loss"
    assert (one.loc[changed, "value"] != other.loc[changed, "value"]).all()


def test_every_method_and_setting_meets_its_own_noise(toy, level):
    """No two candidates, deltas or uses share a stream."""
    found = pd.concat([experiments.run(cell(method), data=str(toy), baseline=level) for method in METHODS])
    assert not found.loc[found["metric"].isin(["test_loss", "tuning_loss"]), "value"].duplicated().any()


def test_deltas_that_a_method_does_not_serve_are_an_error_in_words(toy, level):
    with pytest.raises(ConfigError, match=r"deltas: gradient runs at none of \[0\.0\]"):
        experiments.run(cell("gradient", deltas=[0.0]), data=str(toy), baseline=level)
