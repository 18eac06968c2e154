"""Figure 2a of jain2013 from rows to accuracies: splits, TDDL in explicit features, and the laws of both Gaussians."""

import dataclasses
import math

import cells
import numpy as np
import pytest
from scipy import optimize, sparse
from sklearn.preprocessing import PolynomialFeatures
from sklearn.svm import SVC

from dperm import kernels
from dperm.domain import Budget, Domain
from dperm.errors import DataError
from dperm.mechanisms.kernel import tddl
from dperm_papers.jain2013.covertype import experiment as covertype
from dperm_papers.jain2013.covertype.settings import Settings
from dperm_papers.jain2013.shared import accuracy
from dperm_pipeline import experiments
from dperm_pipeline.datasets import prepared, scaling, synthetic
from dperm_pipeline.experiments import Cell

SETTINGS = {
    "row_splits": {"covertype-like": [250, 30, 120]}, "repeats": 2, "draws": 3,
    "epsilons": [1.0, 20.0], "queries": [10, 25], "public_points": 25, "query_epsilons": [20.0], "large_queries": 10,
    "large_splits": 1, "path_rows": 15, "libsvm_rows": 100, "libsvm_splits": 1, "scaling_splits": 1, "delta": 1e-6,
}  # fmt: skip


SMALL = {"queries": [8], "public_points": 8, "row_splits": {"toy": [20, 8, 12]}}


def cell(name="covertype-like", **settings):
    return cells.cell("jain2013-covertype", SETTINGS | settings, seed=3, point={"dataset": name})


def made(name="covertype-like", **settings):
    return Cell("jain2013", "jain2013-covertype", 3, {"dataset": name}, Settings(**{**SETTINGS, **settings}))


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    where = tmp_path_factory.mktemp("covertype") / "data.parquet"
    prepared.write(synthetic.covertype_like(400, 1), where)
    return str(where)


@pytest.fixture(scope="module")
def rows(path):
    return experiments.run(cell(), data=path, baseline="")


def toy(n=40):
    """Rows that tell their own number."""
    X = sparse.csr_array(np.arange(1, n + 1)[:, None] / n)
    return prepared.Dataset(
        X, np.where(np.arange(n) % 2, 1.0, -1.0), Domain(x_norm=1.0, y_bound=1.0), "toy", {}, "binary"
    )


def test_parts_of_a_split_are_disjoint():
    seen = []
    for split in accuracy.splits(made("toy", **SMALL), toy(), 3):
        parts = [set((part.toarray()[:, 0] * 40).round().astype(int)) for part in (split.X, split.Z, split.Q)]
        assert [len(part) for part in parts] == [20, 8, 12] and len(set.union(*parts)) == 40
        np.testing.assert_array_equal(split.y > 0, (split.X.toarray()[:, 0] * 40).round() % 2 == 0)
        np.testing.assert_array_equal(split.target > 0, (split.Q.toarray()[:, 0] * 40).round() % 2 == 0)
        seen.append(parts[0])
    assert seen[0] != seen[1] != seen[2]
    with pytest.raises(DataError, match="row_splits asks for 40"):
        next(accuracy.splits(made("toy", **SMALL), toy(39), 1))


def test_a_data_set_without_a_split_is_refused():
    with pytest.raises(DataError, match=r"row_splits: 'toy' is missing .*; add toy: "):
        next(accuracy.splits(made("toy", **{**SMALL, "row_splits": {"tos": [1, 9, 1]}}), toy(), 1))


def test_public_points_do_not_depend_on_the_training_rows():
    """Rows of the pool that equal a training row are counted, and stay."""
    X = toy().X.toarray()
    # Every row stands there twice.
    X[20:] = X[:20]
    data = dataclasses.replace(toy(), X=sparse.csr_array(X))
    for split in accuracy.splits(made("toy", **SMALL), data, 3):
        train, Z = split.X.toarray()[:, 0], split.Z.toarray()[:, 0]
        assert len(Z) == 8 and split.equal_rows == np.isin(Z, train).sum() > 0


def test_totals():
    assert covertype.totals(80_000) == {"C": 1000.0, "nC": 160.0}
    assert covertype.totals(500_000) == {"C": 1000.0, "nC": 1000.0}


@pytest.mark.slow
def test_a_scaling_is_run_on_its_own_rows_with_its_own_radius(path, rows):
    """Under min-max rows are up to sqrt(12) long, so R^2 = (12 + 1)^3, and the noise grows with it."""
    scaled = scaling.rescale(prepared.read(path), "min-max")
    split = next(accuracy.splits(made(), scaled, 1))
    model = covertype.fit_machine(split, 1000.0, scaled.bounds.x_norm)
    assert model.setting.feature_norm == pytest.approx(13**1.5)
    own = rows[(rows["variant"] == "svm") & (rows["scaling"] == "min-max") & (rows["metric"] == "accuracy")]
    assert own["value"].item() == accuracy.agreement(model.predict(split.Q), split.target)


@pytest.mark.parametrize(("n_over_c", "names"), [(1000.0, ["C"]), (999.0, ["C", "nC"])])
def test_two_penalties_of_one_total_are_one_measurement(path, monkeypatch, n_over_c, names):
    """As at the printed number of rows."""
    monkeypatch.setattr(covertype, "totals", lambda n: {"C": 1000.0, "nC": n_over_c})
    split = next(accuracy.splits(made(), prepared.read(path), 1))
    assert [penalty for penalty, _ in covertype.fits_by_penalty(split)] == names


def test_no_guarantee_covers_means_of_all_rows(rows):
    looked = rows["scaling"] == "z-score+unit"
    assert set(rows.loc[looked, "guarantee"]) == {"none"}
    assert rows.loc[looked, "reason"].str.contains("mean and standard deviation of all rows").all()
    others = rows[~looked & (rows["mechanism"] != "nonprivate")]
    assert set(others.loc[others["calibration"] == "tight", "guarantee"]) == {"proved"}
    assert (others["reason"] == "").all()


def features(X):
    """Explicit features of (<x, v> + 1)^3, by scikit-learn's monomials of (1, x) and multinomial weights."""
    made = PolynomialFeatures(3)
    phi = made.fit_transform(X.toarray())
    degrees = np.column_stack([3 - made.powers_.sum(axis=1), made.powers_])
    return phi * np.sqrt([math.factorial(3) / math.prod(map(math.factorial, row)) for row in degrees])


def within_ball(A, target, radius):
    """Least squares over a ball: the shortest one, or the ridge whose norm is the radius."""
    w = np.linalg.lstsq(A, target, rcond=None)[0]
    if np.linalg.norm(w) <= radius:
        return w
    G = A @ A.T

    def ridge(power):
        return A.T @ np.linalg.solve(G + math.exp(power) * np.eye(len(A)), target)

    return ridge(optimize.brentq(lambda power: np.linalg.norm(ridge(power)) - radius, -25, 25, xtol=1e-12))


@pytest.mark.parametrize("calibration", ["paper", "tight"])
def test_tddl_in_explicit_features(path, rows, calibration):
    """T = 25, epsilon = 20, the first split: features, least squares and noise written out, the draws the same."""
    split = next(accuracy.splits(made(), prepared.read(path), 1))
    model = covertype.fit_machine(split, 1000.0)
    setting, R = model.setting, math.sqrt(8)
    assert setting.shift == pytest.approx(2 * R / 1000) and setting.slack == pytest.approx(setting.shift / 20)
    assert setting.radius == pytest.approx(min(math.sqrt(2 * 250 / 1000), 250 * R / 1000))
    Z, Q, T = features(split.Z[:25]), features(split.Q), 25
    np.testing.assert_allclose(Z @ Z.T, kernels.polynomial()(split.Z[:25], split.Z[:25]), rtol=1e-10)
    at = tddl.spectrum(kernels.polynomial()(split.Z[:25], split.Z[:25]))
    rng = accuracy.generator(made(), "noise", "tddl", 1000.0, T, 0)
    drawn = {}
    for epsilon in SETTINGS["epsilons"]:
        for name, bare in accuracy.CALIBRATIONS:
            # A Laplace variable as the difference of two exponential ones.
            drawn[epsilon, name, bare] = (
                rng.standard_normal((3, T))
                if name == "tight"
                else -np.diff(rng.standard_exponential((2, 3, T)), axis=0)[0]
            )
    scale, _ = tddl.scale(setting, Budget(20.0, 1e-6), T, calibration)
    noise = scale * drawn[20.0, calibration, False]
    if calibration == "tight":
        noise = noise @ (at.vectors * at.roots(8**0.5)) @ at.vectors.T
    f = model.predict(split.Z[:25])
    hits = [(Q @ within_ball(Z, f + b, setting.radius) > 0) == (split.target > 0) for b in noise]
    own = rows[
        (rows["mechanism"] == "tddl") & (rows["calibration"] == calibration) & (rows["variant"] == "")
        & (rows["epsilon"] == 20) & (rows["queries"] == 25) & (rows["repeat"] == 0) & (rows["penalty"] == "C")
        & (rows["scaling"] == scaling.STORED)
    ].set_index("metric")["value"]  # fmt: skip
    # A prediction within rounding of 0 may fall on either side.
    assert own["accuracy"] == pytest.approx(np.mean(hits), abs=1.5 / (3 * 120))
    assert own["accuracy_one"] == pytest.approx(np.mean(hits[0]), abs=1.5 / 120)


def test_both_gaussians_have_the_kernel_as_covariance(path):
    split = next(accuracy.splits(made(), prepared.read(path), 1))
    model, near = covertype.fit_machine(split, 1000.0), split.Q[:5]
    K = kernels.polynomial()(near, near)
    rng = np.random.default_rng(0)
    output = model.noise(near, rng, 1000)
    np.testing.assert_allclose(output.T @ output / 1000, K, atol=1.6)
    at = tddl.spectrum(K)
    path_noise = accuracy.rkhs.release(at, np.zeros(5), model.setting, Budget(1.0, 1e-6), rng=rng, repeats=1000)
    scaled = path_noise.answers / path_noise.scale
    np.testing.assert_allclose(scaled.T @ scaled / 1000, K, atol=1.6)


def test_the_grid_of_a_split(rows):
    tddl_rows = rows[(rows["mechanism"] == "tddl") & (rows["metric"] == "accuracy")]
    # T = 25 at both epsilons on the first split (it is large), T = 10 at one epsilon on both; two penalties.
    stored = tddl_rows["scaling"] == scaling.STORED
    counts = tddl_rows[stored].groupby(["repeat", "queries", "epsilon"]).size().to_dict()
    assert counts == {(0, 10, 20.0): 8, (0, 25, 1.0): 8, (0, 25, 20.0): 8, (1, 10, 20.0): 8}
    assert set(rows.loc[rows["variant"] == "bare", "guarantee"]) == {"none"}
    assert (rows.loc[rows["metric"] == "equal_rows", "value"] == 0).all() and (
        rows["metric"] == "equal_rows"
    ).sum() == 4 + 4
    # Under each other scaling: one split, T = 25 at both epsilons, the printed C.
    others = tddl_rows[~stored].groupby(["scaling", "penalty", "repeat", "queries", "epsilon"]).size().to_dict()
    names = [name for name in scaling.SCALINGS if name != scaling.STORED]
    assert others == {(name, "C", 0, 25, epsilon): 4 for name in names for epsilon in (1.0, 20.0)}
    assert rows["value"].between(0, 1).all()
    totals = rows.groupby("penalty")["total"].unique()
    assert list(totals["C"]) == [1000.0] and list(totals["nC"]) == [0.5]


def test_levels_without_privacy(path, rows):
    found = experiments.run_baseline(cell(), data=path)
    split = next(accuracy.splits(made(), prepared.read(path), 1))
    majority = (split.target == (1.0 if split.y.mean() > 0 else -1.0)).mean()
    own = found[found["repeat"] == 0].set_index(["variant", "scaling"])["value"]
    assert own["majority", ""] == pytest.approx(majority)
    machine = SVC(C=0.001 * 250 / 100, kernel="poly", degree=3, gamma=1.0, coef0=1.0)
    machine.fit(split.X[:100], split.y[:100])
    assert own["libsvm", ""] == pytest.approx(machine.score(split.Q, split.target))
    assert set(rows.loc[rows["variant"] == "svm", "scaling"]) == set(scaling.SCALINGS)
    # With the rows of `run`, one value for each repeat.
    both = [*found.columns.intersection(["variant", "scaling", "penalty", "repeat", "queries", "metric"])]
    joined = [
        tuple(row) for frame in (found, rows[rows["mechanism"] == "nonprivate"]) for row in frame[both].to_numpy()
    ]
    assert len(set(joined)) == len(joined)


def test_equal_cells_give_equal_rows(path, rows):
    again = experiments.run(cell(), data=path, baseline="")
    assert again["value"].equals(rows["value"])
