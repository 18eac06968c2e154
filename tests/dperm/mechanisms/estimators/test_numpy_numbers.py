"""A parameter that is a number of NumPy's, however short, is the number that it shows: none overflows or rounds."""

import warnings

import numpy as np
import pytest
import together
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

import dperm
from dperm import losses
from dperm.accounting import composition, filters
from dperm.domain import Budget, Domain
from dperm.errors import BudgetExhausted, VacuousWarning
from dperm.feasible import Region
from dperm.mechanisms import base, gradient, output
from dperm.mechanisms.prediction import averaged, stable_erm, stable_gaussian, stable_sgd
from dperm.mechanisms.prediction.consensus import ContestedLedger
from dperm.mechanisms.support import exp_mech

X = np.random.default_rng(0).uniform(-60, 60, (40, 2))
LABELS, NUMBERS = {"classes": (0, 1)}, {"loss": "huber"}
# Of int8 the square of 100 is 16, and that of 12 below 0; uint8 has no negative number.
LARGE = {name: 100 for name in ("x_norm", "y_bound", "bound", "high", "queries")} | {"epsilon": 12, "shards": 4}
SHARES = (
    "epsilon", "delta", "output_share", "support_share", "gram_share", "gradient_clip", "momentum", "alpha", "share",
    "tolerance", "beta", "nu",
)  # fmt: skip
SMALL = {name: 0.3 for name in SHARES} | {"solver_share": 0.1, "x_norm": 9.3, "y_bound": 9.3, "total": 3e3, "C": 1e-4}
SMALL |= {"curvature": 3e4, "strength": 3e4}
KINDS = [(LARGE, np.int8), (LARGE, np.uint8), (SMALL, np.float16), (SMALL, np.float32)]
FLAT, NEAR = {"kernel": "linear", "C": 1e-7}, {"kernel": "poly", "C": 1e-11}
MODELS = {
    "objective": dperm.ObjectivePerturbation(**LABELS),
    "squared": dperm.ObjectivePerturbation(loss="squared", radius=np.int8(1), l2=np.float16(0.1), y_bound=1.0),
    "smoothed": dperm.ObjectivePerturbation(
        **LABELS, loss="smoothed_hinge", loss_parameters={"width": np.float16(0.3)}
    ),
    "output": dperm.OutputPerturbation(**LABELS, fit_intercept=True),
    "approximate minima": dperm.ApproximateMinima(**LABELS, curvature=1e9),
    "descent": dperm.NoisyGradientDescent(**LABELS),
    "preconditioned": dperm.PreconditionedGradientDescent(**NUMBERS),
    "napp": dperm.NAPP(**LABELS, penalty="ridge"),
    "rkhs": dperm.RKHSGaussian(**LABELS, **NEAR),
    "pinp": dperm.PINP(**LABELS, **FLAT),
    "tddl": dperm.TDDL(**LABELS, **FLAT, n_public=np.int8(5)),
    "tdil": dperm.TDIL(**LABELS, C=1e-7),
    "stable erm": dperm.StableERM(**NUMBERS),
    "stable model": dperm.StableERM(**NUMBERS, answers="model", fit_intercept=True),
    "stable sgd": dperm.StableSGD(**NUMBERS, radius=1e-3),
    "soft majority": dperm.SoftMajority(**LABELS, delta=0.0, shards=np.int8(4), base=DecisionTreeClassifier()),
    "averaged": dperm.AveragedPrediction(base=LinearRegression()),
    "exppw": dperm.ExpPW(**LABELS),
    "exp mech": dperm.ExpMechSupport(),
    "sparse": dperm.SparseRegression(),
    "one against the rest": dperm.PrivateOneVsRest(dperm.OutputPerturbation(), **LABELS),
}


def told(model, given):
    """What a fit with these parameters, of those that the estimator or the one within it has, answers."""
    model = clone(model).set_params(random_state=0)
    names = model.get_params()
    model.set_params(**{name: value for name, value in given.items() if name in names})
    model.set_params(**{f"estimator__{n}": value for n, value in given.items() if f"estimator__{n}" in names})
    y = (X[:, 0] > 0).astype(int) if getattr(model, "classes", None) else X[:, 0] / 60
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", VacuousWarning)
        model.fit(X / 10 if given["x_norm"] < 10 else X, y)
        asked = model.transform if hasattr(model, "transform") else model.predict
        answers = getattr(model, "decision_function", asked)(X[:5] / 10).tolist()
    return answers, str(model.privacy_), getattr(model, "epsilon_each_", None)


@pytest.mark.parametrize("name", MODELS)
@together.over(("values", "kind"), KINDS)
def test_a_number_of_numpy_s_is_what_it_shows(name, values, kind):
    """Before, x_norm=np.int8(100) made lambda 16/4 in place of 10,000/4: `proved` at 1, and up to 22 were spent."""
    short = {key: kind(value) for key, value in values.items()}
    assert told(MODELS[name], short) == told(MODELS[name], {key: value.item() for key, value in short.items()})


PURE, BUDGET = Budget(1.0), Budget(1.0, 1e-6)
# What makes noise and prices of one number.
CORES = {
    "smoothness": lambda v: losses.smoothed_hinge().curvature_bound(Domain(v)),
    "share": lambda v: Budget(1.0).share(v / 128).epsilon,
    "zCDP of a price": lambda v: filters.rho(v, False),
    "zCDP of a bit": lambda v: filters.rho(v, True),
    "zCDP of a budget": lambda v: composition.zcdp_rho(v, 1e-6),
    "delta of zCDP": lambda v: composition.zcdp_delta(10.0, v),
    "price": lambda v: filters.each(v, 1e-6, 10),
    "answers": lambda v: filters.capacity(300.0, 1e-6, v),
    "stable risk": lambda v: stable_erm.rate(v, v, 10.0, calibration="tight"),
    "its weight": lambda v: stable_erm.regulariser(v, v, v, 10, 1.0),
    "stable descent": lambda v: stable_sgd.rate(v, v, v, 10, calibration="tight"),
    "averages": lambda v: averaged.scale(10, v, "tight", width=v),
    "shards": lambda v: averaged.scale(np.int8(100), v, "paper"),
    "output": lambda v: output.calibrate(v, BUDGET, calibration="tight")[0].scale,
    "Gaussian answers": lambda v: stable_gaussian.calibrate(v, BUDGET, calibration="tight")[0].scale,
    "descent": lambda v: gradient.calibrate(v, BUDGET, steps=10, neighbours="replace").scale,
    "cover": lambda v: base.covering(v, PURE).scale,
    "largest loss": lambda v: exp_mech.largest_loss(2, Domain(v, v), v),
    "box": lambda v: Region(low=-1.0, high=v).theta_norm(4),
}


@together.over("core", sorted(CORES))
@together.over("number", [np.int8(100), np.int8(12), np.uint8(20), np.float16(12.3), np.float32(0.3)])
def test_so_it_is_in_cores(core, number):
    """Before, the zCDP of a price np.int8(12) was -56."""
    assert CORES[core](number) == CORES[core](number.item()) > 0


@pytest.mark.parametrize("count", [np.uint8(200), np.int8(100)])
def test_so_it_is_in_numbers_of_releases(count):
    for composed in (composition.advanced, composition.inverted):
        assert composed(0.1, 1e-6, count) == composed(0.1, 1e-6, int(count)) > 0
    assert composition.optimal_delta(1.0, 0.1, count) == composition.optimal_delta(1.0, 0.1, int(count)) > 0


def test_so_it_is_in_ledgers():
    """Before, what was charged was below 0, so that a ledger gave any number of answers."""
    ledgers = [dperm.AdaptiveLedger(500.0, 1e-6) for _ in range(2)]
    for ledger, price in zip(ledgers, (np.int8(12), 12.0), strict=True):
        with pytest.raises(BudgetExhausted):
            for _ in range(10**3):
                ledger.charge(np.int8(2), each=price)
    assert ledgers[0].answered == ledgers[1].answered > 0
    for short in (np.int8(12), np.float16(0.3)):
        priced = [dperm.PredictionLedger(one, 1e-6, answers=np.int8(100)).each for one in (short, short.item())]
        counted = [dperm.PredictionLedger(500.0, 1e-6, each=one).answers for one in (short, short.item())]
        assert priced[0] == priced[1] and counted[0] == counted[1]
    contested = [ContestedLedger(kind(12), 1e-6, kind(100), kind(4)).terms for kind in (np.int8, int)]
    assert contested[0] == contested[1]
