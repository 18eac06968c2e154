"""Algorithm 1 of li2021 to the letter: rows appended, unpenalised fits, and what it converges to."""

import numpy as np
import pytest
import together
from designs import of_a_generalised_model
from sklearn.linear_model import LogisticRegression, PoissonRegressor

from dperm.domain import Domain
from dperm.errors import SolverError
from dperm.mechanisms.napp import limit, losses
from dperm.mechanisms.napp.literal import augmented_rows, augmented_targets, literal, settled, unpenalised
from dperm.mechanisms.napp.scheme import Scheme

LOSSES = ("squared", "logistic", "poisson", "smoothed_hinge")
LASSO = Scheme("lasso", 2.0, True)


def data_of(loss):
    return of_a_generalised_model(loss, 120, 3, steepest=1.5)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_appended_rows_make_the_tilt_and_nothing_else_of_first_order(loss):
    """Eq 3 and Eq 5: the rows' e~ sum to 0, and the gradient of their losses at 0 is b."""
    b, w = np.array([0.7, -2.0, 0.0]), np.array([2.0, 5.0, 40.0])
    targets, force, curvature = augmented_targets(loss, 4000)
    rows = augmented_rows(b, w, 4000, force=force, curvature=curvature, rng=np.random.default_rng(0))
    np.testing.assert_allclose(rows.sum(axis=0), b / force, atol=1e-11)
    model = losses.make(loss)
    np.testing.assert_allclose(rows.T @ model.derivative(np.zeros(4000), targets), b, atol=1e-11)
    # The Hessian at 0 is diag(2 w), but for the e~'s own sampling; the hinge's is the mean of both sides.
    second = sum(model.second(side * 2.0**-40, targets) for side in (-1, 1)) / 2
    np.testing.assert_allclose(rows.T @ (second[:, None] * rows), np.diag(2 * w), atol=0.1 * w.max())


@together.over("loss", LOSSES)
def test_the_printed_targets_cannot_be_run(loss):
    """Erratum N7: l'(0) is 0, or cancels."""
    X, y = data_of(loss)
    with pytest.raises(ValueError, match=f"target_values='printed' cannot be run with loss='{loss}'.*'repaired'"):
        literal(
            loss, X, y, np.ones(3), LASSO, 1.0, variant="erm", target_values="printed", rng=np.random.default_rng(0)
        )


def test_the_repaired_targets():
    assert [augmented_targets(loss, 2)[0].tolist() for loss in LOSSES] == [[1, 1], [-1, -1], [0, 0], [-1, -1]]
    assert [augmented_targets(loss, 2)[1] for loss in LOSSES] == [-1.0, 0.5, 1.0, 1.0]
    assert [augmented_targets(loss, 2)[2] for loss in LOSSES] == pytest.approx([1.0, 0.25, 1.0, 0.5], rel=1e-15)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("variant", ["erm", "vs"])
def test_it_converges_to_the_limit_as_rows_are_added(loss, variant):
    """Proposition 1: every iterate of the literal way, against the reweighting with exact weights."""
    X, y = data_of(loss)
    b = np.array([1.0, -2.0, 0.5])
    problems = limit.problems(loss, X[None], y[None])
    exact = limit.reweighted(problems, b[None], LASSO, np.array([1.5]), variant=variant, steps=3).theta[0, 0]

    def distance(rows):
        traces = [
            literal(loss, X, y, b, LASSO, 1.5, variant=variant, rows=rows, steps=3, rng=np.random.default_rng(seed))
            for seed in range(4)
        ]
        return np.sqrt(np.mean([((trace[-1] - exact) ** 2).sum() for trace in traces]))

    coarse, fine = distance(200), distance(20_000)
    assert fine < 0.35 * coarse
    assert fine < 0.05


@pytest.mark.parametrize("variant", ["erm", "vs", "vs_plus"])
def test_signs_are_adjusted_from_the_second_iteration_on(variant):
    """Squared loss with X'X = I: every iterate in closed form, up to e~'s sampling."""
    b, strength = np.array([0.5, 0.5]), 0.1
    X, y = np.eye(2), np.array([2.0, -2.0])
    scheme = Scheme("ridge", 1.0, True)
    trace = literal("squared", X, y, b, scheme, strength, variant=variant, rows=40_000, steps=2, rng=_rng())
    first = (y - b) / 3
    second = (y - (b if variant == "erm" else b * np.sign(first))) / 3
    np.testing.assert_allclose(trace, [first, second], atol=0.03)


def test_a_coefficient_that_is_exactly_0_stays_0_and_the_others_are_fitted_without_it(monkeypatch):
    X, y = data_of("squared")
    seen = []

    def fitted(model, rows, targets, start):
        seen.append(rows.shape[1])
        return np.array([0.0, 1.0, 2.0]) if len(seen) == 1 else unpenalised(model, rows, targets, start)

    monkeypatch.setattr("dperm.mechanisms.napp.literal.unpenalised", fitted)
    trace = literal("squared", X, y, np.zeros(3), LASSO, 1.0, variant="erm", rows=100, steps=3, rng=_rng())
    assert seen == [3, 2, 2] and (trace[:, 0] == 0).all() and (trace[:, 1:] != 0).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_the_unpenalised_fit_is_a_stationary_point(loss):
    X, y = data_of(loss)
    theta = unpenalised(losses.make(loss), X, y, np.zeros(3))
    gradient = X.T @ losses.make(loss).derivative(X @ theta, y)
    assert np.linalg.norm(gradient) < 1e-9


def test_the_unpenalised_fits_are_those_of_scikit_learn():
    X, y = data_of("squared")
    ours = unpenalised(losses.make("squared"), X, y, np.zeros(3))
    np.testing.assert_allclose(ours, np.linalg.lstsq(X, y, rcond=None)[0], rtol=1e-10)
    X, y = data_of("logistic")
    ours = unpenalised(losses.make("logistic"), X, y, np.zeros(3))
    peer = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(ours, peer.coef_[0], atol=1e-6)
    X, y = data_of("poisson")
    ours = unpenalised(losses.make("poisson"), X, y, np.zeros(3))
    peer = PoissonRegressor(alpha=0, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(ours, peer.coef_, atol=1e-6)


@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
def test_software_for_linear_models_solves_the_augmented_problem(loss):
    """N-c04: an unpenalised GLM without intercept, on the data and the noise rows."""
    sm = pytest.importorskip("statsmodels.api")
    X, y = data_of(loss)
    targets, force, curvature = augmented_targets(loss, 500)
    b, w = np.array([0.7, -2.0, 0.1]), np.array([2.0, 5.0, 40.0])
    rows = np.concatenate([X, augmented_rows(b, w, 500, force=force, curvature=curvature, rng=_rng())])
    labels = np.concatenate([y, targets])
    ours = unpenalised(losses.make(loss), rows, labels, np.zeros(3))
    family = {"squared": sm.families.Gaussian, "logistic": sm.families.Binomial, "poisson": sm.families.Poisson}[loss]()
    labels = (labels + 1) / 2 if loss == "logistic" else labels
    peer = sm.GLM(labels, rows, family=family).fit(tol=1e-14, maxiter=200).params
    np.testing.assert_allclose(ours, peer, atol=1e-6)


@together.over("loss", LOSSES)
def test_a_fit_that_the_rows_do_not_determine_is_an_error(loss):
    with pytest.raises(SolverError, match=r"an unpenalised fit did not converge in 100 steps; raise rows \(n_e\)"):
        unpenalised(losses.make(loss), np.zeros((2, 1)), np.ones(2), np.zeros(1))


def test_the_same_generator_gives_the_same_bytes():
    X, y = data_of("logistic")
    fixed = {"variant": "vs", "rows": 400, "steps": 4}
    runs = [literal("logistic", X, y, np.ones(3), LASSO, 1.0, **fixed, rng=_rng()).tobytes() for _ in range(2)]
    assert runs[0] == runs[1]


def test_the_zero_rule():
    """Mean |theta_j| < 1e-3, or three sign changes, within the last ten iterations."""
    trace = np.ones((30, 6))
    trace[:, 0] = 9e-4
    trace[:, 1] = 1.1e-3
    trace[-4:, 2] = [-1, 1, -1, -1]  # three changes
    trace[-4:, 3] = [-1, -1, 1, 1]  # two
    trace[:20, 4] = np.resize([1.0, -1.0], 20)  # long ago
    trace[-1, 5] = -1.0
    assert settled(trace).tolist() == [0, 1.1e-3, 0, 1, 1, -1]


@together.over(
    "given, words",
    [
        ({"rows": 3}, "rows=3 must be even"),
        ({"rows": 0}, "rows=0.0 must be a number in .*it is n_e"),
        ({"steps": 0}, "steps=0.0 must be a number in .*it is T"),
        ({"variant": "vs+"}, "variant='vs\\+' is not one of"),
        ({"target_values": "mended"}, "target_values='mended' is not one of"),
    ],
)
def test_what_is_wrong_is_named(given, words):
    X, y = data_of("squared")
    with pytest.raises(ValueError, match=words):
        literal("squared", X, y, np.ones(3), LASSO, 1.0, **{"variant": "erm", "rng": _rng(), **given})


def _rng():
    return np.random.default_rng(5)


class TestLosses:
    """The paper's hinge, and the linear continuation."""

    def test_the_smoothed_hinge_is_that_of_section_6(self):
        hinge = losses.make("smoothed_hinge")
        t = np.array([-3.0, -0.5, 0.0, 0.25, 1.0, 1.5])
        for y in (-1.0, 1.0):
            np.testing.assert_allclose(hinge.value(y * t, y), [3.5, 1.0, 0.5, 0.28125, 0.0, 0.0], atol=1e-15)
            np.testing.assert_allclose(y * hinge.derivative(y * t, y), [-1, -1, -1, -0.75, 0, 0], atol=1e-15)
        assert hinge.second(np.array([-1e-9, 1e-9]), 1.0).tolist() == [0, 1]  # erratum N17: it jumps at eta = 0

    @pytest.mark.parametrize("name", LOSSES)
    def test_beyond_the_bound_the_loss_goes_on_linearly(self, name):
        own, continued = losses.make(name), losses.make(name, 0.8)
        y = 1.0
        inside, beyond = np.linspace(-0.8, 0.8, 9), np.array([-5.0, -1.0, 1.3, 700.0])
        for part in ("value", "derivative", "second"):
            np.testing.assert_array_equal(getattr(continued, part)(inside, y), getattr(own, part)(inside, y))
        edge = np.clip(beyond, -0.8, 0.8)
        line = own.value(edge, y) + own.derivative(edge, y) * (beyond - edge)
        np.testing.assert_allclose(continued.value(beyond, y), line)
        np.testing.assert_array_equal(continued.second(beyond, y), 0.0)

    def test_bounds_hold_everywhere_and_are_met(self):
        u, counts = np.linspace(-50, 50, 100_001), np.array([0.0, 1.0, 20.0])
        loss = losses.make("poisson", 2.0)
        found = losses.bounds(loss, Domain(0.5, 20.0))
        slopes = [np.abs(loss.derivative(u, y)).max() for y in counts]
        assert (found.zeta1, found.zeta2) == (0.5, pytest.approx(max(slopes)))
        assert found.zeta3 == pytest.approx(0.25 * loss.second(u, 1.0).max(), rel=1e-3)
