"""At extreme public bounds either no record makes a total `fit` fail, or the bounds are refused for every record."""

import math
from functools import partial

import cvxpy as cp
import numpy as np
import pytest
import together
from designs import on_sphere
from total_fits import LABELS, NUMBERS, P, tame, told

import dperm
from dperm import losses
from dperm.domain import LEAST, MOST
from dperm.solvers import newton


@together.over("x_norm", [1e-30, 1e-6, 1e6, 1e20, 1e30])
@together.over("kind", ["objective", "output"])
def test_extreme_public_bounds_of_linear_models(kind, x_norm):
    """Before, one long row overflowed a product in single precision from x_norm=1e20 on, with a warning."""
    make = {"objective": dperm.ObjectivePerturbation, "output": dperm.OutputPerturbation}[kind]
    X, y = tame(False, 20)
    for number in (0.0, 1e300, 1.7e308, x_norm):
        X[3] = number
        told(make(**LABELS, x_norm=x_norm), X, y)


OPEN = {"neighbours": "add_remove"}
KERNELS = {
    "tddl": lambda **given: dperm.TDDL(n_public=4, **given),
    "rkhs": dperm.RKHSGaussian,
    "pinp": dperm.PINP,
    "tdil": dperm.TDIL,
}


def few_of_all_kinds(n=30):
    """Rows of any size and targets of any size, labels to be had from the sign."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(n, P)), rng.normal(size=n)
    wild, far = X.copy(), 1.7e308 * np.sign(y)
    wild[::2] *= 10.0 ** rng.uniform(-300, 250, (len(X[::2]), 1))
    mixed = np.where(np.arange(n) % 3, y, np.sign(y) * 10.0 ** rng.uniform(-300, 300, n))
    return [(rows, targets) for rows in (X, X * 0, np.repeat(X[:1], n, 0), wild) for targets in (y, far, mixed, 0 * y)]


@pytest.mark.parametrize("loss", ["hinge", "smoothed_hinge", "logistic", "huber"])
@pytest.mark.parametrize(
    ("kernel", "x_norm", "reach"),
    [("linear", 1e-30, 1e-85), ("linear", 1e-6, 1e-15), ("rbf", 1.0, 1e-9), ("poly", 1.0, 1e-7), ("linear", 1e10, 1e12),
     ("rbf", 1.0, 1e4), ("poly", 1e4, 1e12), ("rbf", 1.0, 1e12)],
)  # fmt: skip
def test_extreme_public_bounds_of_kernels(loss, kernel, x_norm, reach):
    """Before, the gap of small R^2 C drowned in rounding, and Huber's far targets in steps of large R^2 C."""
    reach = min(reach, 1e4) if loss == "huber" else reach
    C = reach / {"linear": x_norm**2, "rbf": 1.0, "poly": (x_norm**2 + 1) ** 3}[kernel] * (1 - 1e-9)
    for rows, targets in few_of_all_kinds():
        y = targets if loss == "huber" else np.where(targets > 0, "yes", "no")
        given = NUMBERS if loss == "huber" else LABELS
        told(dperm.RKHSGaussian(**given, loss=loss, C=C, kernel=kernel, x_norm=x_norm), rows * x_norm, y)


@together.over("name", sorted(KERNELS))
@together.over(("loss", "heaviest"), [("hinge", 1e12), ("logistic", 1e12), ("huber", 1e4)])
def test_beyond_the_tested_r2_c_kernels_refuse_before_a_record_is_looked_at(name, loss, heaviest):
    given = {**(NUMBERS if loss == "huber" else LABELS), "loss": loss, "kernel": "linear", "x_norm": 1e3}
    model = KERNELS[name](**given, C=1.001e-6 * heaviest)
    # What is no table of records at all would be refused for that, were it looked at.
    with pytest.raises(dperm.errors.DomainViolation, match=r"C=.* with R=1000 .* lower C, or scale rows down"):
        model.fit(None, None)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "C"), [(24_000, 1e-3), (3_000, 1e3)])
def test_many_equal_rows_with_both_labels(n, C):
    """Before, the first failed by the rounding of long sums, at the defaults, and the second crept for ever."""
    y = np.where(np.arange(n) < n // 2 + 2 + 2 / C, "yes", "no")
    told(dperm.RKHSGaussian(**LABELS, **OPEN, C=C, kernel="linear"), np.ones((n, P)), y)


STABLE = [
    (loss, reach)
    for loss, most in (("hinge", 1e2), ("absolute", 1e2), ("smoothed_hinge", 1e12), ("logistic", 1e12), ("huber", 1e12))
    for reach in (1e-15, 1.0, most)
]


# Each reach of a loss at one size of rows, each size with each reach: total and radius are in units of the rows.
@pytest.mark.parametrize(
    ("loss", "reach", "x_norm"), [(*case, (1e-9, 1.0, 1e7)[(k + k // 3) % 3]) for k, case in enumerate(STABLE)]
)
def test_extreme_public_bounds_of_stable_erm(loss, reach, x_norm):
    """Before, the solvers missed their targets with x_norm=1e20, and with kinks from x_norm^2/total = 10^4 on."""
    numeric = loss in ("huber", "absolute")
    given = {**(NUMBERS if numeric else LABELS), "loss": loss, "x_norm": x_norm, "queries": 3}
    for rows, targets in few_of_all_kinds(200):
        y = targets if numeric else np.where(targets > 0, "yes", "no")
        model = dperm.StableERM(**given, total=x_norm**2 / reach * (1 + 1e-9), radius=10 / x_norm)
        told(model, rows * x_norm, y)


@pytest.mark.parametrize(("loss", "most"), [("hinge", 1e2), ("smoothed_hinge", 1e12)])
def test_beyond_the_tested_range_stable_erm_refuses_before_a_record_is_looked_at(loss, most):
    model = dperm.StableERM(**LABELS, loss=loss, x_norm=100.0, total=0.999e4 / most)
    with pytest.raises(dperm.errors.DomainViolation, match=r"total=.* with rows up to 100.* declare a larger total"):
        model.fit(None, None)
    # Where total follows from n, epsilon and the bounds, so does the refusal.
    model = dperm.StableERM(**LABELS, loss=loss, x_norm=1e10, radius=1e10)
    with pytest.raises(dperm.errors.DomainViolation, match="a smaller radius"):
        model.fit(*tame(False))


def test_numbers_of_numpy_are_numbers():
    """Before, l1 of NumPy's type was a TypeError."""
    X, y = tame(False)
    assert told(dperm.ObjectivePerturbation(**LABELS, l1=np.float64(0.5)), X, y)


OUTSIDE = {
    "lasso of short rows": (dperm.NAPP, {"x_norm": 9e-5}),
    "little epsilon": (dperm.NAPP, {"penalty": "ridge", "epsilon": 9e-4}),
}


@pytest.mark.parametrize("case", OUTSIDE)
def test_constants_beyond_the_tested_range_are_refused_before_a_record_is_looked_at(case):
    """Before, all but the last failed on every record or on most, and the last on some, with a SolverError."""
    make, given = OUTSIDE[case]
    with pytest.raises(ValueError, match=r"(x_norm|epsilon)=.* must be a number in .* may miss its target"):
        make(**LABELS, **given).fit(None, None)


@pytest.mark.parametrize("x_norm", [1e-4, 1e20])
def test_extreme_public_bounds_of_napp(x_norm):
    for rows, targets in few_of_all_kinds()[::4]:
        told(dperm.NAPP(**LABELS, x_norm=x_norm), rows * x_norm, np.where(targets > 0, "yes", "no"))


IN_A_BALL = {
    "squared": {"loss": "squared", "y_bound": 1.0, "radius": 4.0},
    "squared, small": {"loss": "squared", "y_bound": 1e-3, "radius": 0.01},
    "poisson": {"loss": "poisson", "y_bound": 5.0, "radius": 0.05},
    "huber": {"loss": "huber", "radius": 1e3},
}


@pytest.mark.parametrize("pieces", [{"l1": 0.5}, {"l1": 1e4, "low": 0.0}, {"low": -1e-3, "high": 0.5}])
@pytest.mark.parametrize(("x_norm", "epsilon"), [(70.0, 0.05), (1e-4, 2.0), (1.0, 0.01)])
@pytest.mark.parametrize("case", IN_A_BALL)
def test_an_l1_norm_or_a_box_within_a_ball(case, x_norm, epsilon, pieces):
    """Before, cvxpy solved it, and with the squared loss at x_norm=70, epsilon=.05 most fits were a SolverError."""
    for rows, targets in few_of_all_kinds(20)[::3]:
        given = {**NUMBERS, **IN_A_BALL[case], **pieces}
        told(dperm.ObjectivePerturbation(**given, x_norm=x_norm, epsilon=epsilon), rows * x_norm, targets)


STEEP = {dperm.ObjectivePerturbation: 100, dperm.OutputPerturbation: 1e3}


@pytest.mark.parametrize("estimator", STEEP)
@pytest.mark.parametrize(("loss", "lam"), [("smoothed_hinge", 1.0), ("logistic", 0.25), ("huber", 1.0)])
def test_a_small_curvature_fails_for_no_record_or_is_refused(estimator, loss, lam):
    """Before, Newton's method gave up after 100 steps on ordinary records, and not on those of a neighbour."""
    least = lam / STEEP[estimator]
    given = {**(NUMBERS if loss == "huber" else LABELS), "loss": loss, "epsilon": 9.0}
    for k, (rows, targets) in enumerate(few_of_all_kinds(100)):
        y = np.clip(targets, -1, 1) * 10.0 ** (k % 9) if loss == "huber" else np.where(targets > 0, "yes", "no")
        told(estimator(**given, curvature=least * (1 + 1e-9)), rows, y)
    with pytest.raises(
        dperm.errors.InvalidBudget, match=r"curvature=.* with clip=True no record .* raise curvature to"
    ):
        estimator(**given, curvature=0.999 * least).fit(rows, y)


@pytest.mark.parametrize("seed", range(5))
def test_newton_takes_the_steps_that_a_kink_asks_for(seed):
    """Up to 300 of them; 100 was the most."""
    rng = np.random.default_rng(seed)
    X = on_sphere(rng, 100, 4)
    y, tilt = np.where(X[:, 0] > 0, 1.0, -1.0), rng.normal(size=(100, 4))
    found = newton.minimise(losses.smoothed_hinge(), X, y, ridge=1e-4, tilt=tilt, tolerance=1e-6)
    assert (found.gradient_norm <= 1e-6).all() and found.iterations.max() > 50


UNITS = {
    "squared": lambda s: {"loss": "squared", "radius": s, "y_bound": s},
    "huber": lambda s: {"loss": "huber", "loss_parameters": {"knee": s}},
    "squared, lasso in a ball": lambda s: {"loss": "squared", "radius": s, "y_bound": s, "l1": 0.1 * s},
    "squared, box": lambda s: {"loss": "squared", "y_bound": s, "low": 0.0, "high": s},
}


@pytest.mark.parametrize("case", UNITS)
@pytest.mark.parametrize("s", [1e-20, 1e-8, 1e-5, 1e8])
def test_another_unit_of_y_is_another_unit_of_theta_and_no_more(case, s):
    """Before, the bound on rounding had a unit of its own: 100 records of s=1e-8 failed, and 20 did not."""
    X = on_sphere(np.random.default_rng(0), 3000, 3)
    for n in (0, 20, 3000):
        one, other = (
            dperm.ObjectivePerturbation(**NUMBERS, **UNITS[case](t)).fit(X[:n], t * X[:n, 0]) for t in (1.0, s)
        )
        np.testing.assert_allclose(other.coef_ / s, one.coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("given", [{}, {"l1": 0.5, "radius": 1.0}, {"low": -0.5, "high": 0.2, "radius": 0.6}])
@pytest.mark.parametrize("epsilon", [3e-8, 1e-5])
def test_a_small_epsilon_fails_for_no_record_or_is_refused(given, epsilon):
    """Before, the target was below the rounding of so long a noise."""
    for rows, targets in few_of_all_kinds(20)[::3]:
        told(dperm.ObjectivePerturbation(**LABELS, **given, epsilon=epsilon), rows, np.where(targets > 0, "yes", "no"))
    with pytest.raises(dperm.errors.InvalidBudget, match=r"makes the noise .* raise epsilon.* of epsilon=1e-12 "):
        dperm.ObjectivePerturbation(**LABELS, **given, epsilon=1e-12).fit(rows, np.where(targets > 0, "yes", "no"))


@pytest.mark.parametrize("given", [{"loss": "huber", "l1": 0.1, "radius": 1.0}, {"loss": "huber"}])
def test_a_large_epsilon_warns_of_nothing(given):
    """Before, e^epsilon overflowed with a warning."""
    X, y = tame(True)
    told(dperm.ObjectivePerturbation(**NUMBERS, **given, epsilon=1e3, delta=1e-3, curvature=1.0), X, y)


@together.over("given", [{}, {"l1": 0.5}, {"l1": 0.5, "radius": 1.0}, {"low": 0.0, "radius": 1.0}])
def test_what_our_own_solvers_serve_is_total(given):
    X, y = tame(False)
    assert dperm.ObjectivePerturbation(**LABELS, **given).fit(X, y).privacy_.total is True


@pytest.mark.parametrize(
    ("make", "default", "finer"),
    [
        (partial(dperm.RKHSGaussian, delta=1e-5, kernel="linear", **LABELS), {}, {"tolerance": 0.01}),
        (partial(dperm.StableERM, queries=2, total=30.0, **LABELS), {}, {"tolerance": 1e-3}),
        (partial(dperm.ObjectivePerturbation, **LABELS), {"tolerance": 1e-6}, {"tolerance": 1e-7}),
        (
            partial(dperm.NAPP, calibration="paper", delta=1e-5, **LABELS),
            {},
            {"method": "literal", "n_e": 200, "steps": 3},
        ),
    ],
    ids=["kernel", "stable", "objective", "literal"],
)
@pytest.mark.filterwarnings("ignore::dperm.errors.NoGuaranteeWarning")
def test_no_statement_says_total_where_the_solver_might_miss_its_target_for_some_records(make, default, finer):
    X, y = tame(False)
    X = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1.0)
    assert make(**default).fit(X, y).privacy_.total is True
    assert make(**finer).fit(X, y).privacy_.total is False
    # What is around an estimator is as total as that.
    if isinstance(make(), dperm.ObjectivePerturbation):
        outer = dperm.PrivateOneVsRest(make(**finer, classes=None), classes=(0, 1, 2))
        assert outer.fit(X, np.arange(len(X)) % 3).privacy_.total is False


@pytest.mark.parametrize("given", [{"regularizer": cp.tv}, {"constraints": lambda theta: [theta >= 0]}])
def test_what_cvxpy_solves_refuses_to_promise_it_before_a_record_is_looked_at(given):
    """Before, clip=True was taken, and a SolverError could come for one of two neighbours alone."""
    with pytest.raises(ValueError, match=r"clip=True promises that no record makes fit fail.*leave clip=False"):
        dperm.ObjectivePerturbation(**LABELS, **given).fit(None, None)
    X, y = tame(False)
    X = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1.0)
    model = dperm.ObjectivePerturbation(**{**LABELS, "clip": False}, **given).fit(X, y)
    assert model.privacy_.total is False


FAR = {
    "objective, huber": lambda **far: dperm.ObjectivePerturbation(**NUMBERS, loss="huber", **far),
    "objective, huber, l1": lambda **far: dperm.ObjectivePerturbation(**NUMBERS, loss="huber", l1=0.5, **far),
    "objective, huber, ball": lambda **far: dperm.ObjectivePerturbation(**NUMBERS, loss="huber", radius=1.0, **far),
    "objective, huber, box": lambda **far: dperm.ObjectivePerturbation(
        **NUMBERS, loss="huber", low=-1.0, high=1.0, **far
    ),
    "objective, squared": lambda **far: dperm.ObjectivePerturbation(**NUMBERS, loss="squared", radius=1.0, **far),
    "objective, poisson": lambda **far: dperm.ObjectivePerturbation(**NUMBERS, loss="poisson", radius=1.0, **far),
    "napp, squared": lambda **far: dperm.NAPP(**NUMBERS, loss="squared", eta_bound=1.0, **far),
    "stable erm, huber": lambda **far: dperm.StableERM(**NUMBERS, queries=3, loss="huber", **far),
    "stable sgd, squared": lambda **far: dperm.StableSGD(**NUMBERS, queries=3, loss="squared", radius=0.1, **far),
    "exp mech": lambda **far: dperm.ExpMechSupport(**NUMBERS, **far),
    "sparse": lambda **far: dperm.SparseRegression(**NUMBERS, **far),
}


@pytest.mark.parametrize("y_bound", [MOST, LEAST])
@pytest.mark.parametrize("name", FAR)
def test_the_largest_and_the_smallest_bounds_of_targets(name, y_bound):
    knees = [{"loss_parameters": {"knee": knee}} for knee in (10.0, 1e9, MOST)] if "huber" in name else [{}]
    X, y = tame(True, 40)
    for knee in knees:
        for number in (1e300, 1.7e308, -1.7e308):
            one, row = y.copy(), X.copy()
            one[3], row[3] = number, number
            for rows, targets in ((X, one), (row, one), (X, np.sign(y) * number)):
                told(FAR[name](y_bound=y_bound, **knee), rows, targets)


@together.over("name", FAR)
@together.over("y_bound", [1.001e30, 1e99, 1e300, 1.7e308, np.inf, 0.999e-30])
def test_other_bounds_of_targets_are_refused_before_a_record_is_looked_at(name, y_bound):
    """Before, one record of such a target was an error or a warning that the others did not cause."""
    with pytest.raises(dperm.errors.DomainViolation, match=r"y_bound=.* must be a number in \[1e-30, 1e\+30\]"):
        FAR[name](y_bound=y_bound).fit(None, None)


def many(kind, n):
    """Records whose sums are as large as they can be, or that no double separates: few columns, many rows."""
    if kind == "equal":
        return np.full((n, 2), 0.6), np.full(n, 1.0)
    X = np.random.default_rng(0).choice([-1.0, 1.0], (n, 4))
    if kind == "signs":
        return X, 0.999 * X[:, 3]
    return X, np.sign(X @ [0.3, 0.0, 0.2, 0.1])


MANY = [
    ("equal", 1_000_000),
    *(pytest.param(kind, 1_000_000, marks=pytest.mark.slow) for kind in ("signs", "separable")),
    # The kind that failed, at nearly twice as many as it did.
    pytest.param("equal", 2_000_000, marks=pytest.mark.slow),
]
OF_MANY = {
    "exp mech": lambda size: dperm.ExpMechSupport(**NUMBERS, y_bound=1.0, size=size),
    "sparse": lambda size: dperm.SparseRegression(**NUMBERS, y_bound=1.0, size=size),
    "sparse, gaussian, intercept": lambda size: dperm.SparseRegression(
        **NUMBERS, y_bound=1.0, size=size, x_norm=size**0.5, delta=1e-6, fit_intercept=True
    ),
}


@pytest.mark.parametrize(("kind", "n"), MANY)
@pytest.mark.parametrize(
    "name", ["exp mech", "sparse", pytest.param("sparse, gaussian, intercept", marks=pytest.mark.slow)]
)
def test_many_records_fail_no_support_and_no_sparse_fit(name, kind, n):
    """Before, equal rows fitted up to n = 1,109,862 (sparse: 938,245), and one record more was a SolverError."""
    X, y = many(kind, n)
    for size in (1, 2):
        assert OF_MANY[name](size).fit(X, y).privacy_.total is True


@pytest.mark.parametrize(
    ("loss", "kind"),
    [
        pytest.param("absolute", "separable", marks=pytest.mark.slow),
        ("hinge", "separable"),
        ("absolute", "equal"),
        ("hinge", "two sides"),
    ],
)
def test_many_records_at_few_kinks_fail_no_stable_erm(loss, kind):
    """Before, 100,000 passes over separable targets of the absolute loss missed the target, after a minute."""
    X = on_sphere(np.random.default_rng(0), 100_000, 3)
    y = (X[:, 0] > 0) * 1.0
    if kind != "separable":
        X = np.repeat(X[:1], len(X), axis=0)
        y = np.ones(len(X)) if kind == "equal" else np.arange(len(X)) % 2 * 1.0
    given = NUMBERS if loss == "absolute" else {**LABELS, "classes": (0.0, 1.0)}
    told(dperm.StableERM(**given, **OPEN, loss=loss, total=0.01001, queries=3), X, y)


WALLS = {
    "objective": (partial(dperm.ObjectivePerturbation, **LABELS), 1e7),
    "objective, curvature": (partial(dperm.ObjectivePerturbation, curvature=1.0, **LABELS), 1e6),
    "objective, delta": (partial(dperm.ObjectivePerturbation, delta=1e-6, n_public=10, **LABELS), 1e6),
    "napp": (partial(dperm.NAPP, **LABELS), 1e8),
    "napp, ridge": (partial(dperm.NAPP, penalty="ridge", strength=100.0, **LABELS), 1e6),
}


@pytest.mark.parametrize("case", WALLS)
def test_a_box_far_from_0_fails_for_no_record_or_is_refused(case):
    """Before, from some 9e6 zeta/Delta on one record decided whether `fit` raised, and later every fit did."""
    make, far = WALLS[case]
    for low, high in ((far, 10 * far), (-10 * far, -far), (1e31, math.inf)):
        # Of no record, too, which is nobody's doing.
        for n in (0, 30):
            with pytest.raises(dperm.errors.DomainViolation, match=r"low.* 0"):
                make(low=low, high=high).fit(np.zeros((n, P)), ["yes"] * n)
    with pytest.raises(dperm.errors.DomainViolation, match="promised up to") as refused:
        make(low=far, high=math.inf).fit(np.zeros((0, P)), [])
    most = float(str(refused.value).split("promised up to ")[1].split(" ")[0]) / math.sqrt(P)
    for k, (rows, targets) in enumerate(few_of_all_kinds(20)[::3]):
        wall = {"low": 0.99 * most} if k % 2 else {"high": -0.99 * most}
        told(make(**wall), rows, np.where(targets > 0, "yes", "no"))
