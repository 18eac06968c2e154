"""Figure 2b of jain2013 from rows to errors: splits, the choice of n lambda, and every method against its own law."""

import dataclasses
import math

import cells
import numpy as np
import pytest
from chosen_rows import of
from scipy import sparse
from sklearn.linear_model import Ridge

from dperm import seeds
from dperm.domain import Domain
from dperm.errors import CorruptFile, DataError, SolverError
from dperm.mechanisms.kernel import tddl
from dperm_papers.jain2013.kdd import experiment as kdd
from dperm_papers.jain2013.kdd import kdd_dimension
from dperm_papers.jain2013.kdd.settings import Settings
from dperm_papers.jain2013.shared import kdd_data
from dperm_pipeline import experiments, tables
from dperm_pipeline.datasets import overlap, prepared
from dperm_pipeline.experiments import Cell

SETTINGS = {
    "repeats": 2, "draws": 200, "records": 200, "pool_rows": 60, "public_points": 25, "test_rows": 80,
    "tuning_rows": 100, "columns": 1500, "epsilons": [0.5, 5.0], "totals": [2.0, 50.0], "features": [360, 4000],
    "side_repeats": 2, "delta": 1e-6, "huber_knee": 1.0, "tolerance": 1e-3,
}  # fmt: skip


def cell(name="kdd-like", **settings):
    return cells.cell("jain2013-kdd", SETTINGS | settings, seed=3, point={"dataset": name})


def made(name="kdd-like", data="", **settings):
    settings = Settings(**{**SETTINGS, **settings})
    return Cell("jain2013", "jain2013-kdd", 3, {"dataset": name}, settings, files={"data": data})


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """The rows of a baseline and of a run."""
    path = tmp_path_factory.mktemp("kdd") / "baseline.parquet"
    levels = experiments.run_baseline(cell(), data="")
    tables.write(levels, path, metadata={})
    return levels, experiments.run(cell(), data="", baseline=str(path))


def value(frame, **where):
    """The values under some conditions, by repeat."""
    return of(frame, **where).sort_values("repeat")["value"].to_numpy()


def fetched(path, test=90):
    """A set with a test file, whose only column tells which row is which."""
    n = 400 + test
    X = sparse.csr_array(np.hstack([np.arange(1, n + 1)[:, None] / n, np.zeros((n, 30))]))
    split = np.repeat(["train", "test"], [400, test])
    data = prepared.Dataset(
        X, np.arange(n) % 2.0, Domain(x_norm=1.0, y_bound=1.0), "toy", {}, "regression", split=split
    )
    prepared.write(data, path)
    return str(path)


def test_a_baseline_that_was_given_up_is_no_broken_file(tmp_path, monkeypatch, caplog):
    """Its one row has no column of the experiment's own."""

    def gives_up(*_, **__):
        raise SolverError("certified to 0.5 only")

    monkeypatch.setattr(kdd, "baseline", gives_up)
    path = tmp_path / "baseline.parquet"
    tables.write(experiments.run_baseline(cell(), data=""), path, metadata={})
    (row,) = experiments.run(cell(), data="", baseline=str(path)).to_dict("records")
    assert row["metric"] == tables.GIVEN_UP and "baseline.parquet: the non-private fits, which choose" in caplog.text


def test_parts_of_a_fetched_set_are_disjoint(tmp_path):
    data = fetched(tmp_path / "toy.parquet")
    public, _ = kdd_data.tuning(made("toy", data))
    seen = []
    for split in kdd_data.splits(made("toy", data)):
        parts = [set((rows.toarray()[:, 0] * 490).round().astype(int)) for rows in (public, split.X, split.Z, split.Q)]
        assert [len(part) for part in parts] == [100, 200, 25, 80]
        assert len(set.union(*parts)) == 405 and split.features == 31
        assert min(parts[3]) > 400 and max(set.union(*parts[:3])) <= 400
        np.testing.assert_array_equal(split.y, (split.X.toarray()[:, 0] * 490).round() % 2 == 0)
        seen.append(parts[1])
    assert len(seen) == 2 and seen[0] != seen[1]
    with pytest.raises(DataError, match="records=500"):
        next(kdd_data.splits(made("toy", data, records=500)))
    with pytest.raises(DataError, match=r"public_points: T=61 is above the 60 public points .* lower public_points"):
        next(kdd_data.splits(made(public_points=61)))
    with pytest.raises(DataError, match="90 test rows"):
        next(kdd_data.splits(made("toy", data, test_rows=91)))


def test_splits_of_a_formula_are_draws_of_their_own():
    first, second = kdd_data.splits(made())
    assert first.features == 1500 and first.X.shape[1] == first.Q.shape[1] == first.Z.shape[1] <= 1500
    assert all((rows.sum(axis=0) > 0).sum() for rows in (first.X, first.Z, first.Q))
    touched = sparse.vstack([first.X, first.Z, first.Q])
    assert (touched.sum(axis=0) > 0).all() and touched.multiply(touched).sum(axis=1) == pytest.approx(1.0)
    assert set(first.y) == {0.0, 1.0}
    assert not np.array_equal(first.y, second.y)


def test_errors_without_privacy_are_scikit_learn_s(found):
    levels, _ = found
    for repeat, split in enumerate(kdd_data.splits(made())):
        own = levels[(levels["repeat"] == repeat) & (levels["metric"] == "error")]
        rms = {
            name: math.sqrt(np.mean((split.target - level) ** 2))
            for name, level in (("zero", 0), ("mean", split.y.mean()))
        }
        for name, error in rms.items():
            assert value(own, variant=name) == pytest.approx([error])
        for total in SETTINGS["totals"]:
            fit = Ridge(alpha=total, fit_intercept=False, solver="cholesky").fit(split.X.toarray(), split.y)
            error = math.sqrt(np.mean((fit.predict(split.Q.toarray()) - split.target) ** 2))
            # |error - error*| <= ||w - w*|| <= Delta_w/20.
            for name in ("least_squares", "huber"):  # residuals stay within the knee
                assert value(own, variant=name, total=total) == pytest.approx([error], abs=2 / total / 20)


def test_the_headline_is_what_cross_validation_chooses(found):
    levels, rows = found
    X, y = kdd_data.tuning(made())
    fold = seeds.generator(3, "jain2013-kdd", "kdd-like", "folds").permutation(len(y)) % 5
    errors = {}
    for total in SETTINGS["totals"]:
        residual = np.empty(len(y))
        for k in range(5):
            own = fold != k
            fit = Ridge(alpha=total * own.mean(), fit_intercept=False, solver="cholesky").fit(X[own].toarray(), y[own])
            residual[~own] = fit.predict(X[~own].toarray()) - y[~own]
        errors[total] = math.sqrt(np.mean(residual**2))
        assert value(levels, metric="cv_error", total=total) == pytest.approx([errors[total]], abs=2 / total / 20)
    chosen = min(errors, key=errors.get)
    for frame in (levels, rows[rows["metric"] == "error"]):
        assert set(frame.loc[frame["headline"], "total"]) == {chosen}


def test_a_baseline_without_a_headline_is_refused(found, tmp_path):
    tables.write(found[0].assign(headline=False), tmp_path / "none.parquet", metadata={})
    with pytest.raises(CorruptFile, match="0 totals"):
        experiments.run(cell(repeats=1, draws=1), data="", baseline=str(tmp_path / "none.parquet"))


@pytest.mark.parametrize("epsilon", SETTINGS["epsilons"])
@pytest.mark.parametrize("total", SETTINGS["totals"])
def test_gaussian_output_adds_its_variance_to_every_prediction(found, epsilon, total):
    """E ||Qw + noise - y||^2/q = error^2 + sigma^2 for unit rows: of 200 draws the mean of the root is near that."""
    levels, rows = found
    setting = tddl.Setting(lipschitz=1.0, feature_norm=1.0, total=total, slack=2 / total / 20)
    size = tddl.sigma(setting, tddl.Budget(epsilon, 1e-6))
    bare = value(levels, variant="huber", total=total)
    private = value(rows, mechanism="explicit_output", total=total, epsilon=epsilon)
    assert private == pytest.approx(np.sqrt(bare**2 + size**2), rel=0.06)


def test_cms11_errs_by_the_norm_of_its_noise(found):
    """At total 50, epsilon 0.5: b's norm is about d/beta, a prediction's noise ||b||/(sqrt(d) total) before shrinking.

    There w = -(b + X'alpha)/total with |alpha| <= 1: the error is at least the noise's less the most that X'alpha moves
    a prediction, n/total.
    """
    _, rows = found
    beta = (0.5 - 2 * math.log1p(1 / 50)) / 2
    noise = 1500 / beta / math.sqrt(1500) / 50
    private = value(rows, mechanism="cms11", total=50.0, epsilon=0.5)
    assert ((noise - 200 / 50 - 1 < private) & (private < 1.1 * noise + 1)).all() and noise > 3
    # More budget, less noise; and the pure tilt is far above the Gaussian one.
    assert (value(rows, mechanism="cms11", total=50.0, epsilon=5.0) < 0.3 * private).all()
    assert (value(rows, mechanism="objective", total=50.0, epsilon=0.5) < 0.5 * private).all()


def test_tddl_s_noise_by_calibration(found):
    """Tight noise is below the others', and what covers the solver's slack is a tenth more."""
    _, rows = found
    for epsilon in SETTINGS["epsilons"]:
        error = {
            name: value(rows, mechanism="tddl", calibration=name, total=50.0, epsilon=epsilon).mean()
            for name in ("paper", "corrected", "tight")
        }
        assert error["tight"] < error["paper"] < 1.02 * error["corrected"]


def test_rows_say_what_was_spent(found):
    levels, rows = found
    errors = rows[rows["metric"] == "error"]
    assert len(errors) == 2 * 2 * 2 * 6 and (errors["status"] == "ok").all()
    assert set(errors["features"]) == {1500} and set(errors["neighbours"]) == {"replace"}
    told = {(row.mechanism, row.calibration, row.delta, row.guarantee) for row in errors.itertuples()}
    assert told == {
        ("tddl", "paper", 1e-6, "proved_exact"), ("tddl", "corrected", 1e-6, "proved"),
        ("tddl", "tight", 1e-6, "proved"), ("cms11", "paper", 0.0, "proved_exact"),
        ("objective", "tight", 1e-6, "proved_exact"), ("explicit_output", "tight", 1e-6, "proved"),
    }  # fmt: skip
    assert set(levels["mechanism"]) == {"nonprivate"} and set(levels["guarantee"]) == {"none"}


def test_what_grows_with_the_dimension(found):
    _, rows = found
    side = rows[rows["metric"] != "error"]
    assert set(side["features"]) == {360, 4000} and not side["headline"].any()
    beta = (1 - 2 * math.log1p(1 / 1000)) / 2
    for d in (360, 4000):
        norm = value(side, metric="noise_norm", mechanism="cms11", features=d)
        # Gamma(d, 1/beta): sd sqrt(d)/beta.
        assert norm == pytest.approx([d / beta] * 2, abs=5 * math.sqrt(d) / beta)
        assert len(value(side, metric="prediction_noise", mechanism="tddl", calibration="tight", features=d)) == 2
    assert not [line for line in rows["dataset"] if line != "kdd-like"] and kdd_dimension.DATASETS == ("kdd-like",)


def test_a_fit_that_missed_its_target_is_a_failed_row(monkeypatch, tmp_path, found):
    tables.write(found[0], tmp_path / "baseline.parquet", metadata={})
    exact = kdd.cms11.release

    def short(*rows, **fixed):
        made = exact(*rows, **fixed)
        return type(made)(**{**vars(made), "converged": np.zeros(len(made.theta), bool)})

    monkeypatch.setattr(kdd.cms11, "release", short)
    small = cell(repeats=1, draws=2, totals=[2.0], epsilons=[1.0], side_repeats=1, features=[360])
    rows = experiments.run(small, data="", baseline=str(tmp_path / "baseline.parquet"))
    failed = rows[rows["status"] == "failed"]
    assert set(zip(failed["mechanism"], failed["metric"], strict=True)) == {
        ("cms11", "error"), ("cms11", "prediction_noise"),
    }  # fmt: skip
    assert failed["value"].isna().all()


def test_public_points_do_not_depend_on_the_training_rows(monkeypatch):
    """Every row of the pool but one in three is made a training row."""
    drawn = kdd_data.formula

    def doubled(cell, count, *use):
        made = drawn(cell, count, *use)
        order = np.arange(count)
        pool = order[200:260]
        order[200:260] = np.where(np.arange(60) % 3 > 0, np.arange(60), pool)
        return dataclasses.replace(made, X=made.X[order])

    plain = next(kdd_data.splits(made(public_points=20)))
    monkeypatch.setattr(kdd_data, "formula", doubled)
    split = next(kdd_data.splits(made(public_points=20)))
    assert (plain.equal_rows, split.equal_rows, split.Z.shape[0]) == (0, 40, 20)
    assert overlap.overlapping(split.Z, split.X).sum() == 13
    with pytest.raises(DataError, match=r"above the 60 public points .*pool_rows=60"):
        next(kdd_data.splits(made(public_points=61)))
