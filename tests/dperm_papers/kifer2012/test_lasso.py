"""The private lasso on real data, from public bounds to metrics, against cvxpy and the theorems' own formulas."""

import math

import cells
import cvxpy
import numpy as np
import pandas as pd
import pytest

from dperm import seeds
from dperm.domain import Domain
from dperm.errors import CorruptFile, SolverError
from dperm_papers.kifer2012.lasso import experiment as lasso
from dperm_papers.kifer2012.shared import real_data
from dperm_pipeline import experiments, tables
from dperm_pipeline.datasets import prepared

SETTINGS = {
    "repeats": 3, "epsilons": [1.0, 30.0], "deltas": [0.0, 1e-6], "l1_shares": [0.001, 0.05], "box": 1.5,
    "ridge": 0.01, "public_share": 0.2, "test_share": 0.25,
}  # fmt: skip
P, N = 4, 192  # private rows: 320 * 0.75 * 0.8


def cell(calibration="paper", **settings):
    return cells.cell("kifer2012-lasso", SETTINGS | settings, seed=3, point={"dataset": "toy"}, calibration=calibration)


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """320 records, the last two features without effect; |y| <= 2, ||x|| <= 3."""
    rng, path = np.random.default_rng(0), tmp_path_factory.mktemp("toy") / "toy.parquet"
    X = rng.uniform(-1.5, 1.5, size=(320, P))
    y = np.clip(X @ np.array([0.9, -0.4, 0.0, 0.0]) + 0.1 * rng.standard_normal(320), -2, 2)
    data = prepared.Dataset(
        X=X, y=y, bounds=Domain(x_norm=3.0, y_bound=2.0), name="toy", provenance={}, task="regression"
    )
    prepared.write(data, path)
    return str(path)


@pytest.fixture(scope="module")
def level(toy, tmp_path_factory):
    path = tmp_path_factory.mktemp("level") / "baseline.parquet"
    tables.write(experiments.run_baseline(cell(), data=toy), path, metadata={})
    return str(path)


def parts(toy):
    rng = seeds.generator(3, "kifer2012-lasso", "toy", "split")
    return real_data.three_parts(prepared.read(toy), public_share=0.2, test_share=0.25, rng=rng)


def by_cvxpy(toy, share, ridge=0.01, tilt=None):
    """Minimise over the records themselves, with means nowhere and n' = 192 in the place of n."""
    (X, y), _, _ = parts(toy)
    theta = cvxpy.Variable(P)
    J = 0.5 * cvxpy.sum_squares(y - X @ theta) + share * 192 * cvxpy.norm1(theta)
    J += ridge / 2 * cvxpy.sum_squares(theta) + (0 if tilt is None else tilt @ theta)
    problem = cvxpy.Problem(cvxpy.Minimize(J), [cvxpy.norm_inf(theta) <= 1.5])
    problem.solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    return theta.value


def relative_error(toy, theta):
    X, y = parts(toy)[2]
    return np.sum((y - X @ theta) ** 2) / np.sum((y - y.mean()) ** 2)


def test_the_records_are_the_ones_declared(toy):
    (X, y), public, test = parts(toy)
    assert (len(y), len(public[1]), len(test[1])) == (N, 48, 80)
    assert real_data.private_size(public, 0.2) == 192
    assert np.linalg.norm(X, axis=1).max() <= 1 and np.abs(y).max() <= 2


def test_a_level_that_was_given_up_is_no_broken_file(toy, tmp_path, monkeypatch, caplog):
    """Its one row has no column of the experiment's own."""

    def gives_up(*_, **__):
        raise SolverError("certified to 0.5 only")

    monkeypatch.setattr(lasso, "baseline", gives_up)
    path = tmp_path / "baseline.parquet"
    tables.write(experiments.run_baseline(cell(), data=toy), path, metadata={})
    with caplog.at_level("WARNING"):
        found = experiments.run(cell(), data=toy, baseline=str(path))
    assert found["metric"].tolist() == [tables.GIVEN_UP]
    assert "baseline.parquet: the non-private lasso did not converge" in caplog.text


@pytest.mark.parametrize("share", [0.001, 0.05])
def test_the_level_is_the_lasso_in_the_box(toy, share):
    rows = experiments.run_baseline(cell(), data=toy)
    rows = rows[rows["l1_share"] == share]
    exact = by_cvxpy(toy, share)
    found = rows[rows["metric"] == "coefficient"].sort_values("feature")["value"].to_numpy()
    np.testing.assert_allclose(found, exact, atol=1e-6)
    assert rows.loc[rows["metric"] == "relative_error", "value"].item() == pytest.approx(relative_error(toy, exact))
    assert rows.loc[rows["metric"] == "support", "value"].item() == (np.abs(exact) > 1e-5).sum() == (found != 0).sum()
    assert set(rows["status"]) == {"ok"}
    # The box binds and the penalty empties: both are there to be tested.
    assert share != 0.001 or np.abs(exact).max() == pytest.approx(1.5)
    assert share != 0.05 or (found == 0).any()


@pytest.mark.parametrize("epsilon", [1.0, 30.0])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_each_repeat_is_algorithm_1_with_theorem_4_s_curvature(toy, level, delta, epsilon):
    """The printed constants from the public bounds, the tilt drawn anew, the minimiser by cvxpy, metrics counted."""
    found = experiments.run(cell(), data=toy, baseline=level)
    assert set(found["guarantee"]) == {"proved_exact"} and set(found["status"]) == {"ok"}
    radius = 1.5 * math.sqrt(P)
    zeta = radius + 2.0
    if delta == 0:
        curvature = zeta * P * math.log(P) / (epsilon * radius)
    else:
        curvature = zeta * math.sqrt(P * math.log(1 / delta)) / (epsilon * radius)
    for share in SETTINGS["l1_shares"]:
        names = ("kifer2012-lasso", "toy", "objective", "paper", "add_remove", epsilon, delta, share, "noise")
        rng = seeds.generator(3, *names)
        if delta == 0:
            direction = rng.standard_normal((3, P))
            lengths = rng.gamma(P, 2 * zeta / epsilon, (3, 1))
            tilts = lengths * direction / np.linalg.norm(direction, axis=1, keepdims=True)
        else:
            tilts = zeta * math.sqrt(8 * math.log(2 / delta) + 4 * epsilon) / epsilon * rng.standard_normal((3, P))
        here = found[(found["l1_share"] == share) & (found["epsilon"] == epsilon) & (found["delta"] == delta)]
        here = here.pivot(index="repeat", columns="metric", values="value")
        plain = np.abs(by_cvxpy(toy, share)) > 1e-5
        for r, tilt in enumerate(tilts):
            exact = by_cvxpy(toy, share, ridge=curvature, tilt=tilt)
            support = np.abs(exact) > 1e-5
            assert here["relative_error"][r] == pytest.approx(relative_error(toy, exact), abs=1e-4)
            assert here["support"][r] == support.sum()
            joint = len(set(np.flatnonzero(support)) | set(np.flatnonzero(plain)))
            common = len(set(np.flatnonzero(support)) & set(np.flatnonzero(plain)))
            assert here["overlap"][r] == pytest.approx(common / joint if joint else 1.0)


def test_delta_is_never_below_what_algorithm_1_needs(toy, level):
    """In a wide box Theorem 4's Delta would be below 2 lambda/epsilon, which Algorithm 1 refuses."""
    found = experiments.run(cell(box=1000.0, deltas=[1e-1]), data=toy, baseline=level)
    assert set(found["guarantee"]) == {"proved_exact"}


@pytest.mark.parametrize("calibration", ["paper", "tight"])
def test_without_noise_it_is_the_lasso(toy, level, calibration):
    found = experiments.run(cell(calibration, epsilons=[1e9], deltas=[0.0]), data=toy, baseline=level)
    plain = experiments.run_baseline(cell(), data=toy)
    for share in SETTINGS["l1_shares"]:
        for metric in ("relative_error", "support"):
            here = found[(found["metric"] == metric) & (found["l1_share"] == share)]["value"]
            there = plain[(plain["metric"] == metric) & (plain["l1_share"] == share)]["value"].item()
            assert here.to_numpy() == pytest.approx(there, rel=1e-5)
    assert (found.loc[found["metric"] == "overlap", "value"] == 1).all()


def test_tight_noise_is_smaller(toy, level):
    """Means over both laws and both strengths, at the epsilon where noise rules."""
    errors = {}
    for calibration in ("paper", "tight"):
        found = experiments.run(cell(calibration, epsilons=[3.0], repeats=200), data=toy, baseline=level)
        errors[calibration] = found.loc[found["metric"] == "relative_error", "value"].mean()
    assert errors["tight"] < 0.9 * errors["paper"]


def test_overlap_of_empty_supports_is_whole():
    found = np.array([[False, False], [True, False]])
    assert lasso.overlap(found, np.array([False, False])).tolist() == [1.0, 0.0]
    assert lasso.overlap(found, np.array([True, True])).tolist() == [0.0, 0.5]


def test_a_baseline_without_the_lasso_is_refused(toy, level, tmp_path, caplog):
    """A lost row makes a file corrupt; a fit that did not converge makes the cell one that was given up."""
    rows = tables.read(level)
    lacking = rows[(rows["l1_share"] != 0.05) | (rows["metric"] != "coefficient")]
    failed = rows.assign(status="failed", value=np.nan)
    for name, frame in (("lacking", lacking), ("failed", failed)):
        text = frame.select_dtypes("category").columns
        tables.write(frame.astype(dict.fromkeys(text, str)), tmp_path / f"{name}.parquet", metadata={})
    with pytest.raises(CorruptFile, match=r"l1_shares=\[.*0\.05\]; delete it and run again"):
        experiments.run(cell(), data=toy, baseline=str(tmp_path / "lacking.parquet"))
    with caplog.at_level("WARNING"):
        found = experiments.run(cell(), data=toy, baseline=str(tmp_path / "failed.parquet"))
    assert found["metric"].tolist() == [tables.GIVEN_UP] and "l1_shares=[0.001, 0.05]" in caplog.text


def test_the_same_seed_gives_the_same_rows_and_no_two_points_share_noise(toy, level):
    one, other = (experiments.run(cell(), data=toy, baseline=level) for _ in range(2))
    pd.testing.assert_frame_equal(one, other)
    assert not one.loc[one["metric"] == "relative_error", "value"].duplicated().any()
