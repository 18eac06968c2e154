"""Every mode in which an estimator releases: (class, parameters), and neighbouring data sets to fit it on."""

import cvxpy as cp
import numpy as np
from sklearn.tree import DecisionTreeRegressor

from dperm import (
    NAPP,
    PINP,
    TDDL,
    TDIL,
    ApproximateMinima,
    AveragedPrediction,
    ExpMechSupport,
    ExpPW,
    NoisyGradientDescent,
    ObjectivePerturbation,
    OutputPerturbation,
    PreconditionedGradientDescent,
    RKHSGaussian,
    SampAggSupport,
    SoftMajority,
    SparseRegression,
    StableERM,
    StableSGD,
    kernels,
)

RELATIONS = ("add_remove", "replace")
PUBLIC = np.random.default_rng(9).uniform(-0.5, 0.5, (15, 3))


def neighbours(relation, targets):
    """Return D and D': the last record replaced, or left out."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-0.57, 0.57, (61, 3))
    y = {
        "labels": np.where(X[:, 0] + 0.1 * rng.normal(size=61) > 0, "yes", "no"),
        "real": np.clip(X[:, 0] + 0.1 * rng.normal(size=61), -1, 1),
        "counts": rng.poisson(np.exp(X[:, 0])).clip(0, 4).astype(float),
    }[targets]
    if relation == "add_remove":
        return (X, y), (X[:-1], y[:-1])
    turned = {"labels": lambda y: "no" if y == "yes" else "yes", "real": lambda y: -y, "counts": lambda y: 4 - y}
    return (X[:-1], y[:-1]), (np.vstack([X[:-2], X[-1:]]), np.append(y[:-2], turned[targets](y[-2])))


def modes(Estimator, *given, **axes):
    """Return combinations of the axes with each of the given parameters: all, or of three axes every pair of values."""
    points = [[]]
    for values in axes.values():
        points = [[*point, k] for point in points for k in range(len(values))]
    if sum(len(values) > 1 for values in axes.values()) > 2:
        points = [point for point in points if sum(point) % 2 == 0]
    grid = [{name: axes[name][k] for name, k in zip(axes, point, strict=True)} for point in points]
    return [(Estimator, {**parameters, **point}) for parameters in given for point in grid]


def steps(theta):
    return cp.norm1(cp.diff(theta))


def small(theta):
    return [cp.sum(theta) <= 0.5]


BALL = {"loss": "squared", "radius": 1.0, "y_bound": 1.0}
COUNTS = {"loss": "poisson", "y_bound": 4, "eta_bound": 1.0}
THREE = {"classes": ("maybe", "no", "yes")}
PRINTED = {"calibration": "paper", "delta": 1e-4}
VOTES = {"penalty": 0.3, "blocks": 7}
SPARSE = {"y_bound": 1.0, "epsilon": 0.5}
VOTED = {**SPARSE, **VOTES, "support": "samp_agg"}
# Objects that are made to be published.
PUBLISHED = [
    *modes(
        ObjectivePerturbation,
        {}, {"solver_share": 0.0}, {"solver_share": 0.1}, {"fit_intercept": True}, {"loss": "huber"},
        {"loss": "smoothed_hinge"}, {"loss": "capped_logistic"}, {"l1": 2.0}, {"l2": 3.0},
        {"radius": 1.0}, {"low": 0.0, "high": 2.0}, BALL,
        {**BALL, "clip": True}, {"curvature": 9.0},
        calibration=("tight", "paper"), neighbours=RELATIONS, delta=(0.0, 1e-6),
    ),
    *modes(
        ObjectivePerturbation,
        {"regularizer": steps}, {**BALL, "constraints": small},
        tolerance=(0.1,),
    ),
    *modes(
        OutputPerturbation, {}, {"delta": 1e-6}, {"loss": "huber"}, {"loss": "smoothed_hinge", "fit_intercept": True},
        {"delta": 1e-6, "calibration": "paper", "epsilon": 20.0}, neighbours=RELATIONS,
    ),
    *modes(
        ApproximateMinima, {}, {"loss": "huber", "fit_intercept": True}, {"output_share": 0.999},
        neighbours=RELATIONS, n_public=(61,),
    ),
    *modes(
        NoisyGradientDescent,
        {}, THREE, {"loss": "huber"}, {"loss": "smoothed_hinge", "fit_intercept": True, "step_size": 0.1},
        neighbours=RELATIONS,
    ),
    *modes(
        PreconditionedGradientDescent,
        THREE, {"loss": "huber"}, {"loss": "smoothed_hinge", "fit_intercept": True, "gram_share": 0.5},
        neighbours=RELATIONS,
    ),
    *modes(
        StableERM, {}, {"loss": "huber", "fit_intercept": True}, {"delta": 0.0},
        neighbours=RELATIONS, total=(30.0,), answers=("model",),
    ),
    *modes(StableSGD, {}, {"loss": "huber", "fit_intercept": True}, radius=(0.1,), answers=("model",)),
    *modes(
        NAPP,
        {}, {"solver_share": 0.0}, {"penalty": "ridge"}, {"penalty": "ridge", "retrieval": "recycle", "strength": 5.0},
        {"penalty": "bridge", "gamma": 0.5}, {"penalty": "elastic_net", "kappa": 0.5}, {"variant": "vs_plus"},
        {"variant": "vs", "low": 0.0}, {"low": -1.0, "high": 1.0, "loss": "squared", "y_bound": 1.0},
        {**COUNTS}, {"loss": "smoothed_hinge", "fit_intercept": True},
        calibration=("tight", "corrected"), neighbours=RELATIONS, delta=(0.0, 1e-6),
    ),
    *modes(NAPP, {"penalty": "ridge", "retrieval": "return", "strength": 5.0, "calibration": "corrected"}),
    *modes(NAPP, {"calibration": "paper"}),
    *modes(
        NAPP,
        {}, {"moor": True}, {"moor": True, "variant": "vs"}, {"moor": True, "retrieval": "return"},
        {"moor": True, "retrieval": "recycle", "rounds": 2}, {"method": "literal", "n_e": 20, "steps": 3},
        {"variant": "vs_plus"},
        **{name: (value,) for name, value in PRINTED.items()},
    ),
    *modes(
        TDDL,
        {"public": PUBLIC}, {"n_public": 9, "kernel": "linear", "fit_intercept": True},
        {"loss": "huber", "n_public": 9}, {"loss": "logistic", "kernel": "poly", "n_public": 9},
        calibration=("tight", "corrected", "paper"), neighbours=RELATIONS, radius=(2.0,),
    ),
    *modes(TDDL, {"n_public": 9}),
    *modes(
        TDIL,
        {}, {"fit_intercept": True}, {"loss": "huber"}, {"kernel": "rbf", "public": PUBLIC},
        {"kernel": kernels.linear(), "nu": 0.9},
        calibration=("tight", "corrected"), neighbours=RELATIONS, radius=(2.0,), C=(0.01,), epsilon=(1e5,),
    ),
    *modes(TDIL, {}, {"kernel": "rbf", "public": PUBLIC}, {"C": 200.0}, calibration=("paper",)),
    *modes(ExpMechSupport, {"size": 2}, SPARSE, calibration=("tight", "paper"), neighbours=RELATIONS, y_bound=(1.0,)),
    *modes(SampAggSupport, VOTES, calibration=("corrected", "paper"), neighbours=RELATIONS, epsilon=(0.5,)),
    *modes(
        SparseRegression, SPARSE, {**VOTED, "fit_intercept": True},
        calibration=("tight", "corrected", "paper"), neighbours=RELATIONS, delta=(0.0, 1e-6),
    ),
]  # fmt: skip
# Objects that hold the data or models of it: what their methods answer is published, never they themselves.
HELD = [
    *modes(PINP, {}, {"loss": "huber"}, {"loss": "logistic"}, neighbours=RELATIONS, radius=(2.0,)),
    *modes(PINP, {}, calibration=("paper", "corrected")),
    *modes(RKHSGaussian, {}, {"loss": "huber", "kernel": "linear"}, neighbours=RELATIONS),
    *modes(SoftMajority, {}, THREE, neighbours=RELATIONS, shards=(8,)),
    *modes(SoftMajority, {"mode": "consensus", "epsilon": 20.0, "neighbours": "add_remove", "queries": 3}),
    *modes(SoftMajority, {"calibration": "paper"}),
    *modes(AveragedPrediction, {}, {"base": DecisionTreeRegressor()}, neighbours=RELATIONS, shards=(8,)),
    *modes(StableERM, {}, {"loss": "huber"}, {"calibration": "paper"}, neighbours=RELATIONS, total=(30.0,)),
    *modes(StableSGD, {}, {"eta": "halved"}, {"calibration": "paper"}, radius=(0.1,)),
    *modes(ExpPW, {}, {"calibration": "paper"}, neighbours=RELATIONS),
]


def named(mode):
    Estimator, given = mode
    words = (f"{name}={getattr(value, '__name__', value)!s:.20}" for name, value in given.items())
    return " ".join([Estimator.__name__, *words])


def targets(mode):
    Estimator, given = mode
    if issubclass(Estimator, ExpMechSupport | SampAggSupport | SparseRegression) or "base" in given:
        return "real"
    return {"poisson": "counts", "huber": "real", "squared": "real"}.get(given.get("loss"), "labels")


def pair(mode):
    Estimator, given = mode
    return neighbours(given.get("neighbours", Estimator().neighbours), targets(mode))


def fitted(mode, data, seed):
    Estimator, given = mode
    labels = {"classes": ("no", "yes")} if targets(mode) == "labels" else {}
    return Estimator(**labels | given, random_state=seed).fit(*data)
