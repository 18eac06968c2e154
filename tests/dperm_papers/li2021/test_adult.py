"""Figure 6 of li2021 from records to misclassification, against cvxpy on the objective as it stands in the text."""

import math
from dataclasses import replace

import cvxpy
import numpy as np
import pytest

from dperm import seeds
from dperm.domain import Domain
from dperm_papers.li2021.adult import experiment as adult
from dperm_pipeline.datasets import prepared

SETTINGS = {
    "repeats": 3, "epsilons": [5.0, 50.0], "deltas": [1e-4], "lambdas": [0.1, 3.0], "budget_share": 0.5,
    "tolerance": 1e-9, "test_share": 0.25,
}  # fmt: skip
P, NORM = 4, 2.0


def cell(calibration="paper", name="toy", **settings):
    return {
        "experiment": "li2021-adult", "paper": "li2021", "seed": 3, "mechanism": "napp", "calibration": calibration,
        "neighbours": "add_remove", "point": {"dataset": name}, "baseline": name, "settings": {**SETTINGS, **settings},
    }  # fmt: skip


def records(seed=0, n=240):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(-1, 1, (n, P - 1)), np.ones(n)])
    y = np.where(X @ np.array([2.0, -1.0, 0.0, 0.5]) + rng.logistic(size=n) > 0, 1.0, -1.0)
    return X, y


def write(path, X, y, split=None, name="toy"):
    bounds = Domain(x_norm=NORM, y_bound=1.0)
    prepared.write(prepared.Dataset(X, y, bounds, name, {}, "binary", split=split), path)
    return str(path)


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """240 records whose last 60 are the source's test set."""
    X, y = records()
    return write(tmp_path_factory.mktemp("toy") / "toy.parquet", X, y, np.repeat(["train", "test"], [180, 60]))


def minimised(penalty, tilt=None):
    X, y = (values[:180] for values in records())
    theta = cvxpy.Variable(P)
    loss = cvxpy.sum(cvxpy.logistic(-cvxpy.multiply(y, X @ theta)))
    problem = cvxpy.Problem(cvxpy.Minimize(loss + penalty(theta) + (0 if tilt is None else tilt @ theta)))
    problem.solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-7, tol_gap_rel=1e-7, tol_feas=1e-7)
    return theta.value


def error(theta):
    X, y = (values[180:] for values in records())
    return np.mean(np.where(X @ theta > 0, 1.0, -1.0) != y)


def normals(calibration, epsilon, repeats=3):
    """The standard draws of a cell at one budget."""
    rng = seeds.generator(3, "li2021-adult", "toy", "noise", calibration, "add_remove", epsilon, 1e-4)
    return rng.standard_normal((repeats, P))


@pytest.fixture(scope="module")
def published(toy):
    return adult.run(cell(), data=toy, baseline="")


def values(frame, variant, epsilon, strength):
    here = frame[(frame["variant"] == variant) & (frame["epsilon"] == epsilon) & (frame["strength"] == strength)]
    return here.sort_values("repeat")["value"].to_numpy()


@pytest.mark.parametrize("strength", [0.1, 3.0])
@pytest.mark.parametrize("epsilon", [5.0, 50.0])
def test_published_fits_minimise_the_penalties_of_the_text(published, strength, epsilon):
    """Lambda0 = 1/epsilon; Gaussian b for zeta1 = zeta2 = 1 and half of epsilon; the slope 2 Lambda (N6)."""
    floor, half = 1 / epsilon, epsilon / 2
    sigma = math.sqrt(2 * (half + math.log(1e4))) / half
    knee = strength / floor

    def summed(theta):
        return 2 * strength * cvxpy.norm1(theta) + floor * cvxpy.sum_squares(theta)

    def moor(theta):  # slope 2 max{Lambda, Lambda0 u}
        beyond = cvxpy.pos(cvxpy.abs(theta) - knee)
        return 2 * strength * cvxpy.norm1(theta) + floor * cvxpy.sum_squares(beyond)

    for repeat, z in enumerate(sigma * normals("paper", epsilon)):
        for suffix, penalty in (("", summed), ("-moor", moor)):
            found = values(published, f"erm{suffix}", epsilon, strength)[repeat]
            assert found == pytest.approx(error(minimised(penalty, z)), abs=1e-12)
            plus = minimised(lambda theta, own=penalty, z=z: own(theta) + np.abs(z) @ cvxpy.abs(theta))
            assert values(published, f"vs_plus{suffix}", epsilon, strength)[repeat] == pytest.approx(error(plus))


@pytest.mark.parametrize("strength", [0.1, 3.0])
def test_corrected_fits_minimise_the_lasso_with_noise_for_the_declared_bound(toy, strength):
    """zeta1 = 2, zeta3 = 1: Lambda0 = 1/epsilon here too; VS+ has a lasso of sqrt(2/pi) sigma."""
    epsilon, half = 50.0, 25.0
    frame = adult.run(cell("corrected", epsilons=[epsilon]), data=toy, baseline="")
    assert set(frame["variant"]) == {"erm", "vs_plus"} and set(frame["guarantee"]) == {"proved_exact"}
    sigma = NORM * math.sqrt(2 * (half + math.log(1e4))) / half
    floor = NORM**2 / 4 / epsilon
    for repeat, z in enumerate(sigma * normals("corrected", epsilon)):
        for variant, extra in (("erm", 0.0), ("vs_plus", math.sqrt(2 / math.pi) * sigma)):
            theta = minimised(
                lambda t, extra=extra: (strength + extra) * cvxpy.norm1(t) + floor * cvxpy.sum_squares(t), z
            )
            assert values(frame, variant, epsilon, strength)[repeat] == pytest.approx(error(theta), abs=1e-12)


def test_every_method_epsilon_lambda_and_repeat_has_one_row(published):
    keys = ["variant", "epsilon", "strength", "repeat"]
    assert len(published) == 6 * 2 * 2 * 3 and not published.duplicated(keys).any()
    assert (published["status"] == "ok").all() and set(published["guarantee"]) == {"none"}
    assert set(published["variant"]) == {"erm", "vs", "vs_plus", "erm-moor", "vs-moor", "vs_plus-moor"}


def test_what_did_not_converge_has_failed(toy, monkeypatch):
    path = adult.limit.path

    def second_fails(*args, **keys):
        found = path(*args, **keys)
        return replace(found, converged=found.converged & (np.arange(len(found.theta)) != 1)[:, None])

    monkeypatch.setattr(adult.limit, "path", second_fails)
    frame = adult.run(cell(epsilons=[5.0]), data=toy, baseline="")
    assert ((frame["status"] == "failed") == (frame["repeat"] == 1)).all()
    assert (frame["value"].isna() == (frame["repeat"] == 1)).all()


def test_the_benchmarks_are_the_lasso_with_lambda_and_with_twice_that(toy):
    frame = adult.baseline(cell(), data=toy)
    assert (frame["mechanism"] == "nonprivate").all() and len(frame) == 4
    for name, times in (("lasso", 1), ("lasso-2", 2)):
        for strength in (0.1, 3.0):
            expected = error(minimised(lambda theta, w=times * strength: w * cvxpy.norm1(theta)))
            assert values(frame, name, math.inf, strength) == pytest.approx([expected], abs=1e-12)


def test_records_are_counted_and_held_against_the_paper(tmp_path):
    X, y = records()
    split = np.repeat(["train", "test"], [180, 60])
    path = write(tmp_path / "adult.parquet", X, y, split, name="adult")
    frame = adult.baseline(cell(name="adult"), data=path)
    counts = frame[frame["metric"] == "records"].set_index("row")["value"]
    excess = frame[frame["metric"] == "excess"].set_index("row")["value"]
    assert counts["train, above $50K"] == ((split == "train") & (y > 0)).sum() and counts.sum() == 240
    assert excess["test, at most $50K"] == 11_360 - counts["test, at most $50K"] > 0
    assert sum(adult.COUNTS["adult"].values()) == 30_162 + 15_060


def test_without_a_test_file_a_share_is_set_aside_the_same_for_all(tmp_path):
    path = write(tmp_path / "toy.parquet", *records())
    dataset = prepared.read(path)
    tasks = [adult._task(cell(calibration), dataset) for calibration in ("paper", "tight")]
    assert [len(task.y) for task in tasks] == [60, 60] and tasks[0].train.X.shape == (1, 180, P)
    np.testing.assert_array_equal(tasks[0].X, tasks[1].X)
    everything = np.vstack([tasks[0].X, tasks[0].train.X[0]])
    np.testing.assert_array_equal(np.sort(everything[:, 0]), np.sort(dataset.X[:, 0]))
