"""What is called: each (estimator, loss) with the ways of calling it that are attacked, as a table.

`EXTREME` holds, for each loss, the targets at the corners of its declared domain (what `fit` refuses is left out by
itself: a negative count stands here to see whether it does) and the arguments that declare it; `CALLS` the estimator of
each mechanism and further arguments of each of its losses; `WAYS` how it is called: with a large Delta, which leaves
all of epsilon to the noise, beside a crowd that is badly fitted nowhere else, with `clip` and records far outside, with
an intercept.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from dperm.audit.called import supports
from dperm.audit.called.corners import FAR
from dperm.mechanisms.estimators.approximate_minima import ApproximateMinima
from dperm.mechanisms.estimators.averaged import AveragedPrediction
from dperm.mechanisms.estimators.gradient import NoisyGradientDescent
from dperm.mechanisms.estimators.interactive import PINP
from dperm.mechanisms.estimators.napp import NAPP
from dperm.mechanisms.estimators.objective import ObjectivePerturbation
from dperm.mechanisms.estimators.output import OutputPerturbation
from dperm.mechanisms.estimators.preconditioned import PreconditionedGradientDescent
from dperm.mechanisms.estimators.rkhs import RKHSGaussian
from dperm.mechanisms.estimators.search import PrivateSearchCV
from dperm.mechanisms.estimators.sparse import SparseRegression
from dperm.mechanisms.estimators.stable_erm import StableERM
from dperm.mechanisms.estimators.stable_sgd import StableSGD
from dperm.mechanisms.estimators.student import Student
from dperm.mechanisms.estimators.support import ExpMechSupport, SampAggSupport
from dperm.mechanisms.estimators.tddl import TDDL
from dperm.mechanisms.estimators.tdil import TDIL

CLASSES = {"classes": (0, 1)}
STUDENT, SEARCH = "student", "search"
# What a loss is called with release=True, the mode that leaves the house.
_RELEASE = "_release"
# What a loss is called of a predictor that releases its model once.
MODEL = "_model"
# Loss -> extreme targets, and what declares them.
EXTREME: dict[str, tuple[tuple[float, ...], dict[str, Any]]] = {
    "logistic": ((0, 1), CLASSES),
    "capped_logistic": ((0, 1), CLASSES),
    "hinge": ((0, 1), CLASSES),
    "smoothed_hinge": ((0, 1), CLASSES),
    "huber": ((-FAR, -2.0, 0.0, 2.0, FAR), {}),
    "absolute": ((-FAR, 0.0, FAR), {}),
    "squared": ((-1.0, 0.0, 1.0), {"y_bound": 1.0}),
    "poisson": ((0.0, -2.0, 2.0), {"y_bound": 2.0}),
}
# Numbers of a learner without a loss of ours, the first of them what all other records say: an answer at an end of the
# range is cut off there, and would not tell its noise. Of 200 shards that is ten scales of it from the end, where one
# answer in 40,000 is cut; and a record that comes moves .95 of the range.
NUMBERS = "numbers"
_NUMBERS = (-0.9, -1.0, 1.0)


class Nearest(BaseEstimator):
    """A learner for shards that says what the nearest record says: as scikit-learn's, without its checks."""

    def fit(self, X, y):
        """Keep the records."""
        self.known_ = X, y
        return self

    def predict(self, X):
        """Return what the record nearest to each row says."""
        rows, said = self.known_
        return said[np.abs(np.asarray(X)[:, :1] - rows[:, 0]).argmin(axis=1)]


# Losses of output perturbation.
_RISKS = ("logistic", "capped_logistic", "smoothed_hinge", "huber")
_BOX = {"squared": {"low": -1.0, "high": 1.0}, "poisson": {"low": -0.01, "high": 0.01}}
# Losses whose slope is bounded everywhere.
_SLOPED = ("hinge", "smoothed_hinge", "logistic", "huber")
_LINEAR = {"kernel": "linear", "tolerance": 1e-3}
# The linear kernel as one that is asked at public points alone: at one, next to x.
_NEAR = {"kernel": "poly", "degree": 1, "coef0": 0.0, "tolerance": 1e-3, "public": [[1 - 1e-9]], "radius": 1.0}
# Every record but those at x = 0 is clipped wherever theta comes.
_CLIPPED = {"gradient_clip": 1e-3, "step_size": 1.0, "momentum": 0.0}
_FIRST_STEP = {"gradient_clip": 1e-3, "steps": 1}
_ANSWERED = {"queries": 1, "total": 4.0, "tolerance": 1e-3}
# Three classes, whose loss is the multinomial one.
MULTINOMIAL = "multinomial"
# Weighted records. Of a descent with the default clip, which grows with the bound, so that the weight is what is cut.
WEIGHTS = "weights"
_WEIGHTED = {"loss": "logistic", "weight_bound": 3.0}
_THREE = {"loss": "logistic", "classes": (0, 1, 2)}
# NAPP's other penalties, variants and what becomes of its budget: arguments, and the crowd. A share near 1 leaves all
# but little of epsilon to the noise; one orthant is at its wall unless a crowd pulls inside.
_NAPP = {"loss": "smoothed_hinge", "penalty": "ridge", "share": 0.999}
# Of a ridge of 50 `return` returns what of (1 - share) epsilon is above 1/(2 strength); of so much epsilon it claims 1.
_RETURNED = (1 - 0.01) / (0.001 + 0.999 * 0.5)
MODES: dict[str, tuple[dict[str, Any], tuple[int, float]]] = {
    "bridge": ({"penalty": "bridge", "gamma": 0.5}, (1, 0.0)),
    "elastic_net": ({"penalty": "elastic_net", "kappa": 0.5}, (200, 0.4)),
    "vs": ({"variant": "vs", "high": 0.0}, (200, 0.4)),
    "vs_plus": ({"variant": "vs_plus"}, (200, 0.4)),
    "moor": ({"penalty": "elastic_net", "kappa": 0.9, "strength": 60.0, "share": 0.99, "moor": True}, (500, 0.2)),
    "recycle": ({"retrieval": "recycle", "strength": 200.0, "share": 0.5}, (1, 0.0)),
    "return": ({"retrieval": "return", "strength": 50.0, "share": 0.5, "epsilon": _RETURNED}, (1, 0.0)),
}
# Losses of stable predictors.
_STABLE_ERM = (*_SLOPED, "capped_logistic", "absolute", "squared", "poisson")
_STABLE_SGD = ("logistic", "smoothed_hinge", "huber", "squared", "poisson")
# Mechanism -> its estimator, and loss -> what it needs besides.
CALLS: dict[str, tuple[type, dict[str, dict[str, Any]]]] = {
    "objective": (ObjectivePerturbation, {loss: {} for loss in _RISKS} | _BOX | {WEIGHTS: _WEIGHTED}),
    "output": (
        OutputPerturbation,
        {loss: {} for loss in _RISKS}
        | {loss + _RELEASE: {"loss": loss, "release": True} for loss in _RISKS}
        | {WEIGHTS: _WEIGHTED},
    ),
    # A public number of records at which the output noise is small.
    "approximate_minima": (ApproximateMinima, {loss: {"n_public": 1_000} for loss in _RISKS}),
    "gradient": (
        NoisyGradientDescent,
        {
            **{loss: _CLIPPED for loss in _RISKS},
            MULTINOMIAL: {**_CLIPPED, **_THREE},
            WEIGHTS: {"step_size": 1.0, "momentum": 0.0, **_WEIGHTED},
        },
    ),
    # One step, of which the sign is looked at.
    "preconditioned": (
        PreconditionedGradientDescent,
        {
            **{loss: _FIRST_STEP for loss in _RISKS},
            MULTINOMIAL: {**_FIRST_STEP, **_THREE},
            WEIGHTS: {"steps": 1, **_WEIGHTED},
        },
    ),
    "napp": (
        NAPP,
        {
            "logistic": {},
            "smoothed_hinge": {},
            "squared": {"eta_bound": 1.0},
            "poisson": {"eta_bound": 0.01},
            **{name: {**_NAPP, **given} for name, (given, _) in MODES.items()},
        },
    ),
    "rkhs_gaussian": (RKHSGaussian, {loss: _LINEAR for loss in _SLOPED}),
    # One public point, next to x.
    "tddl": (TDDL, {loss: {**_LINEAR, "public": [[1 - 1e-9]], "radius": math.inf} for loss in _SLOPED}),
    "tdil": (TDIL, {loss: _NEAR for loss in _SLOPED}),
    "pinp": (PINP, {loss: _LINEAR | {"queries": 1, "radius": 1.0} for loss in _SLOPED}),
    "stable_erm": (
        StableERM,
        # The student hands its teacher's one answer on.
        {
            **{loss: _ANSWERED for loss in _STABLE_ERM},
            STUDENT: _ANSWERED | {"loss": "huber"},
            **{loss + MODEL: _ANSWERED | {"loss": loss, "answers": "model"} for loss in _STABLE_ERM},
        },
    ),
    "stable_sgd": (
        StableSGD,
        {
            **{loss: {"queries": 1} for loss in _STABLE_SGD},
            **{loss + MODEL: {"loss": loss, "answers": "model"} for loss in _STABLE_SGD},
        },
    ),
    # A shard says at x what its record there says: the record moves the mean by a shard's whole share.
    "averaged": (
        AveragedPrediction,
        {NUMBERS: {"base": Nearest(), "shards": 200, "queries": 1, "low": -1.0, "high": 1.0}},
    ),
}
# Mechanisms whose estimators offer calibration="corrected" as well; those that have the printed constants alone.
CORRECTED = ("napp", "stable_sgd")
PRINTED = ("approximate_minima",)
# Mechanisms that release where a descent ends.
DESCENTS = ("gradient",)
# Mechanisms of whose first step the sign is attacked.
SIGNS = ("preconditioned",)
# Others that release theta; of the others an answer is attacked.
THETA = ("objective", "output", "approximate_minima", "napp")
CROWD = "crowd"
_LARGE, _MIDDLE = {"curvature": 200.0}, {"curvature": 3.0, CROWD: (200, 0.4)}
_CLIP, _INTERCEPT = {"clip": True}, {"fit_intercept": True}
# Regularizers and a set of objective perturbation; of NAPP, whose default is the lasso, the penalty that has no kink.
# The default curvature hangs on a count; a public guess makes it one number, as the law on a line needs. What a noisy
# count spends besides, its own law tells (`balanced.noisy_count`).
_GUESS = {"n_public": 2}
_L1, _L2, _BALL, _RIDGE = (
    {"l1": 0.5, **_GUESS},
    {"l2": 2.0, **_GUESS},
    {"radius": 0.01, "curvature": 200.0},
    {"penalty": "ridge"},
)
# Stable SGD takes fewer steps of less the more records there are.
_STILL = {CROWD: (100, 0.0)}
# C is so small that no record is at its margin.
_KERNEL = ({"C": 0.1}, {"C": 0.1} | _CLIP, {"C": 0.1} | _INTERCEPT)
# Mechanism -> ways of calling it. Theta of a bounded set is at its walls, which tell no Delta: it is declared there.
WAYS: dict[str, tuple[dict[str, Any], ...]] = {
    "objective": (_GUESS, _LARGE, _MIDDLE, _LARGE | _CLIP, _LARGE | _INTERCEPT, _L1, _L2, _BALL),
    "output": ({}, _MIDDLE, _CLIP, _INTERCEPT),
    "approximate_minima": ({}, _LARGE, _LARGE | _CLIP, _LARGE | _INTERCEPT),
    # One step carries all that its noise costs; of several the average weighs the later ones less.
    "gradient": ({"steps": 1}, {"steps": 3}, {"steps": 1} | _CLIP, {"steps": 1} | _INTERCEPT),
    # So many that pull one way that the other sign is as rare as delta asks: 18 under add/remove, 36 under replace-one.
    # Fewer are for noise that is less than stated.
    "preconditioned": (
        *({CROWD: (n, 1.0), "gram_share": 1e-3} for n in (9, 16, 18, 32, 36)),
        *({CROWD: (n, 1.0)} | _CLIP for n in (18, 36)),
    ),
    "napp": (
        {},
        {CROWD: (200, 0.4)},
        _CLIP,
        _RIDGE,
        _RIDGE | {CROWD: (200, 0.4)},
        _RIDGE | _CLIP,
        _RIDGE | _INTERCEPT,
    ),
    "rkhs_gaussian": _KERNEL,
    "tddl": _KERNEL,
    "tdil": _KERNEL,
    # So many records beside the one that is replaced that f is at the threshold (of a slope of 1).
    "pinp": tuple({"C": 1e-4, CROWD: (580, 1.0)} | more for more in ({}, _CLIP, _INTERCEPT)),
    "stable_erm": ({}, _CLIP, _INTERCEPT),
    "stable_sgd": (_STILL, _STILL | _CLIP, _STILL | _INTERCEPT),
    # So many that no shard is empty.
    "averaged": ({CROWD: (4_000, 0.0)}, {CROWD: (4_000, 0.0)} | _CLIP),
}
# A softmax turns its force with theta, and so does what is not clipped: one step alone has a constant one.
_ONE_STEP = ({"steps": 1}, {"steps": 1} | _CLIP, {"steps": 1} | _INTERCEPT)
_RELEASES = ({}, _CLIP)
_WALLED = ({"curvature": 2.5}, _LARGE, _LARGE | _CLIP)
# (mechanism, loss) -> further ways. Short rows have next to no curvature, and so many of them push theta so far that a
# record against them has nearly all of its force; or past 0, so that a sign tells all of a move. Under replace-one two
# logistic records have no more on a line.
_PUSHED = {"curvature": 3.0, CROWD: (13_000, 0.003)}
_FAR_KERNEL = {"C": 0.5, CROWD: (1_200, 0.02)}
# To nearly 1, the wall, where w or theta moves but a little.
_TO_THE_WALL = {"total": 100.0, CROWD: (20_000, 0.0098)}
_BESIDE_ZERO = {"total": 100.0, CROWD: (20_000, 8e-5)}
_PASSED = {CROWD: (100, 0.02)}
_PUSHED_BOX = {"curvature": 2_000.0, CROWD: (66_000, 0.03)}
# Of NAPP a share near 1 leaves nearly all of epsilon to the noise.
_SHARED = {"penalty": "ridge", "share": 0.999}
_PUSHED_NAPP = {"penalty": "ridge", "share": 0.99, CROWD: (40_000, 0.02)}
_FURTHER: dict[tuple[str, str], tuple[dict[str, Any], ...]] = {
    ("objective", "squared"): (_PUSHED_BOX,),
    # So large that theta is not at its walls.
    ("objective", "poisson"): ({"curvature": 20_000.0},),
    ("pinp", "logistic"): ({"C": 1e-4, CROWD: (1_160, 1.0)},),
    ("napp", "logistic"): (_PUSHED_NAPP,),
    ("napp", "squared"): (_PUSHED_NAPP,),
    ("napp", "smoothed_hinge"): (_SHARED,),
    ("napp", "poisson"): (_SHARED,),
    ("stable_erm", "logistic"): (_BESIDE_ZERO,),
    ("stable_erm", "capped_logistic"): (_BESIDE_ZERO,),
    ("stable_erm", "squared"): (_TO_THE_WALL,),
    ("stable_erm", "poisson"): (_TO_THE_WALL,),
    ("stable_sgd", "logistic"): (_PASSED,),
    ("stable_sgd", "smoothed_hinge"): (_PASSED,),
}
# The same, of add/remove alone.
_COMING: dict[tuple[str, str], tuple[dict[str, Any], ...]] = {
    ("output", "logistic"): (_PUSHED,),
    ("output", "logistic" + _RELEASE): (_PUSHED,),
    ("output", WEIGHTS): (_PUSHED,),
    **{("pinp", loss): ({"C": 1e-4, CROWD: (290, 1.0)},) for loss in ("hinge", "smoothed_hinge", "huber")},
    ("rkhs_gaussian", "logistic"): (_FAR_KERNEL,),
    ("tddl", "logistic"): (_FAR_KERNEL,),
    ("tdil", "logistic"): (_FAR_KERNEL,),
    # In a large ball, with so little regularisation that w gets there, and noise as large as that.
    ("stable_erm", "logistic"): ({"total": 0.66, "radius": 25.0, CROWD: (5_333, 0.003)},),
}
# Public estimators that nobody calls, and why.
_LEARNER = "a learner without privacy, for shards: what asks it takes any learner, and says what is promised"
_SEARCH = (
    "a choice among fits that are called, itself called as an object that is handed on: the twins of mutants of the "
    "group `selection` are its law, exactly"
)
UNCALLED = dict.fromkeys(("BoxLearner", "IntervalsLearner", "StumpLearner", "ThresholdLearner"), _LEARNER)
UNCALLED["PrivateSearchCV"] = _SEARCH
UNCALLED["PerPerson"] = "an estimator that is called, on fewer rows: its exact law for persons is a test of its own"
UNCALLED["PublicEncoder"] = "it learns nothing: each record is mapped by itself and by a public schema"
# Those that choose features are called as `supports` and `sparse` say.
CHOOSE = {"exp_mech": ExpMechSupport, "samp_agg": SampAggSupport, "sparse": SparseRegression}
# Objects that are made to be published: variant -> mechanism -> parameters.
_KERNEL_OBJECT = {"radius": 1.0, "public": [[0.5], [-0.25]], "classes": (0, 1)}
PUBLISHED: dict[str, dict[str, dict[str, Any]]] = {
    "published": {
        "objective": CLASSES,
        "output": CLASSES,
        "approximate_minima": {**CLASSES, "n_public": 1_000},
        "gradient": CLASSES,
        "preconditioned": CLASSES,
        "napp": CLASSES,
        "stable_erm": {**CLASSES, "answers": "model", "total": 4.0},
        "stable_sgd": {**CLASSES, "answers": "model"},
        "tddl": {"kernel": "linear", **_KERNEL_OBJECT},
        "tdil": {"kernel": "poly", **_KERNEL_OBJECT},
        "exp_mech": {"y_bound": 1.0, "size": 1},
        "samp_agg": {"penalty": 1.0, "blocks": 1, "size": 1},
        "sparse": {"y_bound": 1.0, "size": 1},
    },
    # A student of a stable predictor, made on two public rows.
    "published_student": {"stable_erm": {**CLASSES, "queries": 2, "total": 4.0}},
    "published_search": {"output": CLASSES},
    "published_release": {"output": {**CLASSES, "release": True}},
}


def published(mechanism: str, variant: str, row: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give the ways in which what is published (`PUBLISHED`) is made: as it is by default, and with `clip`."""
    keys = ("epsilon", "neighbours") if mechanism in supports.CHOICES else ("epsilon", "delta", "neighbours")
    budget = {key: row[key] for key in keys}
    # Without `clip` a search that puts its few records aside has none to fit, by chance.
    for clip in (True,) if variant.endswith(SEARCH) else (False, True):
        arguments = {**PUBLISHED[variant][mechanism], "clip": clip}
        words = ", ".join(f"{key}={value!r}" for key, value in arguments.items() if key != "classes")
        make = published_by(mechanism, variant)
        yield f"{make.__name__}({words})", arguments | budget


def published_by(mechanism: str, variant: str) -> type:
    """Return what makes a published object."""
    if variant.endswith(STUDENT):
        return Taught
    return Searched if variant.endswith(SEARCH) else CHOOSE.get(mechanism) or CALLS[mechanism][0]


class Searched:
    """A private search over output perturbation with `given`, but for the budget, which is the search's."""

    def __init__(self, *, epsilon, delta, **given):
        self._budget, self._given, self.clip, self.loss = (epsilon, delta), given, given["clip"], "logistic"

    def fit(self, X, y) -> PrivateSearchCV:
        """Search on private records."""
        epsilon, delta = self._budget
        grid = {"curvature": [1.0, 10.0]}
        return PrivateSearchCV(OutputPerturbation(**self._given), grid, epsilon=epsilon, delta=delta, n_iter=2).fit(
            X, y
        )


class Taught:
    """A student of a stable predictor that is fitted first with `given`, as one estimator on private records."""

    public = ((0.5,), (-0.25,))

    def __init__(self, **given):
        self._given, self.clip, self.loss = given, given["clip"], "logistic"

    def fit(self, X, y) -> Student:
        """Fit the teacher on private records, and let it label the public rows."""
        return Student(StableERM(**self._given).fit(X, y)).fit(self.public)


def extreme(name: str, arguments: Mapping[str, Any]) -> tuple[tuple[float, ...], dict[str, Any]]:
    """Return the extreme targets of a way of calling (a name of `calls`), and what declares them."""
    if len(arguments.get("classes", ())) > 2:
        return arguments["classes"], {}
    return (_NUMBERS, {}) if name == NUMBERS else EXTREME[arguments.get("loss", name)]


def calls(mechanism: str, name: str, row: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any], tuple[int, float]]]:
    """Give the arguments and the crowd (`corners.Call`) with which an estimator is called for one budget.

    `name` is a key of the mechanism's losses in `CALLS`.
    """
    make, losses = CALLS[mechanism]
    own = losses[name]
    loss = {} if name == NUMBERS else {"loss": own.get("loss", name)}
    _, declared = extreme(name, own)
    if name in MODES:
        ways = tuple({CROWD: MODES[name][1]} | more for more in _RELEASES)
    elif mechanism in DESCENTS and name in (MULTINOMIAL, WEIGHTS):
        ways = _ONE_STEP
    else:
        ways = _RELEASES if own.get("release") else _WALLED if "low" in own and loss else WAYS[mechanism]
    # A model that is released is pushed as its answers are.
    attacked = (mechanism, name.removesuffix(MODEL))
    further = _FURTHER.get(attacked, ())
    coming = _COMING.get(attacked, ()) if row["neighbours"] == "add_remove" else ()
    for way in (*ways, *further, *coming):
        # On a line the noise of theta with an intercept is known if it is Gaussian.
        if (mechanism in THETA or name.endswith(MODEL)) and way.get("fit_intercept") and not row["delta"]:
            continue
        given = {key: value for key, value in way.items() if key != CROWD}
        arguments = {**loss, **declared, **own, **given}
        shown = {key: value for key, value in arguments.items() if key != "classes" or len(value) > 2}
        words = ", ".join(f"{key}={value!r}" for key, value in shown.items())
        budget = {key: row[key] for key in ("epsilon", "delta", "neighbours")}
        if row["calibration"] != "tight":
            words = f"calibration={row['calibration']!r}, {words}"
            budget["calibration"] = row["calibration"]
        yield f"{make.__name__}({words})", {**budget, **arguments}, way.get(CROWD, (1, 0.0))
