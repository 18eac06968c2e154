"""The experiment's own bookkeeping: what is public stays public, and the risk is the risk."""

import numpy as np
import pytest

from dperm import losses
from dperm.datasets import prepared
from dperm.domain import Domain
from dperm.errors import DataError
from dperm.experiments.kifer2012 import output

SETTINGS = {
    "repeats": 4, "tuning_repeats": 3, "deltas": [0.0, 1e-6], "ridge_multiples": [2.0, 20.0], "ridge": 0.01,
    "public_share": 0.2, "test_share": 0.25, "huber_knee": 0.5,
}  # fmt: skip


def cell(**settings):
    return {
        "experiment": "kifer2012-output", "paper": "kifer2012", "seed": 3, "mechanism": "objective",
        "calibration": "tight", "neighbours": "add_remove", "point": {"dataset": "toy", "epsilon": 1.0},
        "baseline": "toy", "settings": {**SETTINGS, **settings},
    }  # fmt: skip


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
def rows(toy, tmp_path):
    baseline = output.baseline(cell(), data=str(toy))
    from dperm import tables

    tables.write(baseline, tmp_path / "baseline.parquet", metadata={})
    return output.run(cell(), data=str(toy), baseline=str(tmp_path / "baseline.parquet")), baseline


def test_the_split_is_a_partition_of_the_sizes_asked_for(toy):
    problem = output._problem(cell(), str(toy))
    parts = [problem.private, problem.public, problem.test]
    assert [len(y) for _, y in parts] == [120, 30, 50]
    together = np.sort(np.concatenate([X for X, _ in parts]), axis=0)
    np.testing.assert_array_equal(together, np.sort(prepared.read(toy).X / np.sqrt(3.0), axis=0))


def test_tuning_sees_no_private_and_no_test_row_not_even_their_number(toy):
    """Whatever the private and test rows are, the rows that choose the ridge multiple are the same, bit for bit."""
    problem = output._problem(cell(), str(toy))
    stand_in, held_out = output._public_halves(cell(), problem.public)
    public = {row.tobytes() for row in problem.public[0]}
    assert {row.tobytes() for row in stand_in[0]} | {row.tobytes() for row in held_out[0]} <= public
    assert not {row.tobytes() for row in stand_in[0]} & {row.tobytes() for row in held_out[0]}
    # As many as the private rows, by the public shares alone.
    assert len(stand_in[1]) == 120
    assert list(output._public_halves.__annotations__) == ["cell", "public", "return"]


def test_excess_risk_is_the_risk_above_its_minimum(toy, rows):
    """Recomputed from scipy's own minimiser of J on the private rows."""
    from scipy import optimize

    problem = output._problem(cell(), str(toy))
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


def test_a_split_without_rows_is_an_error_in_words(toy):
    with pytest.raises(DataError, match=r"toy: 1 public rows of 200 are too few; raise public_share=0\.005"):
        output._problem(cell(public_share=0.005), str(toy))
