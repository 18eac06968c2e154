r"""The public predictors asked until their budget is exhausted: fitted, asked row by row, every row twice.

All records are equal, so that every query has the same law whatever the shards or the keys: with label 0 alone no
shard votes for 1; labels 1 left of all queries push the walk to V = min(n, T); records at x = 0 leave w = 0. A repeated
row whose answer differs from its first one counts as another answer. Returned are the number of answers, and whether
those of a few fits have the law of the price that the accountants allow.

Neighbouring relation: each row's.
"""

import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from sklearn.dummy import DummyClassifier

from dperm.accounting import filters
from dperm.audit import reference_laws, white_box
from dperm.audit.prediction import bits
from dperm.domain import changed_gradients
from dperm.errors import BudgetExhausted, VacuousWarning
from dperm.mechanisms.estimators.averaged import AveragedPrediction
from dperm.mechanisms.estimators.exppw import ExpPW
from dperm.mechanisms.estimators.soft_majority import SoftMajority
from dperm.mechanisms.estimators.stable_erm import StableERM
from dperm.mechanisms.estimators.stable_sgd import StableSGD
from dperm.noise import Laplace

# Different rows that may be asked; fits whose answers are tested.
QUERIES, FITS = 100, 20
_RECORDS, _SHARDS, _TOTAL, _TOLERANCE = 60, 20, 4.0, 0.05
_MAJORITY = DummyClassifier(strategy="most_frequent")


class Exhausted(NamedTuple):
    """What a predictor gave until it refused: the price of an answer, by the accountants, and how many it gave.

    They are never more than twice those allowed; `p_value` is that they have their law.
    """

    each: float
    answered: int
    p_value: float


def exhaust(mechanism: str, row: Mapping[str, Any], rng: np.random.Generator) -> Exhausted:
    """Ask a predictor until it refuses."""
    make, own, label, test = MODELS[mechanism]
    how = {"bounded_range": make.bounded_range}
    each = filters.each(row["epsilon"], row["delta"], QUERIES, **how)
    X, y = np.zeros((_RECORDS, 1)), np.full(_RECORDS, label)
    # All within the unit ball, and right of the records.
    asked = np.linspace(0.1, 1.0, 2 * QUERIES)[:, None]

    def fitted():
        shared = {key: row[key] for key in ("epsilon", "delta", "neighbours")}
        with warnings.catch_warnings():
            # Of answers that were nearly certain a test would tell little.
            warnings.simplefilter("ignore", VacuousWarning)
            return make(queries=QUERIES, random_state=rng, **shared, **own).fit(X, y)

    model, answered = fitted(), 0
    for x in asked:
        try:
            first, again = model.predict(x[None]), model.predict(x[None])
        except BudgetExhausted:
            break
        answered += 1 + int(first[0] != again[0])
    said = np.concatenate([fitted().predict(asked[:QUERIES]) for _ in range(FITS)])
    return Exhausted(each, answered, test(said, each, row))


def _bit_test(law: Callable[[float, Mapping[str, Any]], np.ndarray]) -> Callable:
    def p_value(said, each, row):
        return float(stats.binomtest(int(said.sum()), len(said), law(each, row)[1]).pvalue)

    return p_value


def _no_vote(each: float, row: Mapping[str, Any]) -> np.ndarray:
    return reference_laws.soft_majority(0, models=_SHARDS, epsilon=each)


def _no_mean(each: float, row: Mapping[str, Any]) -> np.ndarray:
    return bits.average({**row, "calibration": "tight", "epsilon": each}).law((0, _SHARDS))


def _walked(each: float, row: Mapping[str, Any]) -> np.ndarray:
    # Far from T: 60 steps of each, or of half of it.
    return reference_laws.bit(_RECORDS * each / changed_gradients(row["neighbours"]))


def _noise_test(rate: Callable[[Mapping[str, Any]], float]) -> Callable:
    def p_value(said, each, row):
        return white_box.noise_test(said, Laplace(rate(row) / each)).p_value

    return p_value


def _erm_rate(row: Mapping[str, Any]) -> float:
    # k L_f L/(2 lambda n), and the slack twice.
    return changed_gradients(row["neighbours"]) / (2 * _TOTAL) * (1 + 2 * _TOLERANCE)


def _sgd_rate(row: Mapping[str, Any]) -> float:
    # 2 R L_f/sqrt(n), in all but the first of n iterates.
    return 2 / math.sqrt(_RECORDS) * (_RECORDS - 1) / _RECORDS


_SHARED = {"base": _MAJORITY, "shards": _SHARDS, "classes": (0, 1)}
_HUBER = {"loss": "huber", "y_bound": 1.0}
_ERM = {**_HUBER, "total": _TOTAL, "tolerance": _TOLERANCE}
# Estimator, its own parameters, the label of all records, and the test of its answers.
MODELS: dict[str, tuple[Any, dict[str, Any], float, Callable]] = {
    "soft_majority": (SoftMajority, {**_SHARED, "alpha": 0.5}, 0, _bit_test(_no_vote)),
    "averaged": (AveragedPrediction, _SHARED, 0, _bit_test(_no_mean)),
    "exppw": (ExpPW, {"classes": (0, 1)}, 1, _bit_test(_walked)),
    "stable_erm": (StableERM, _ERM, 0.5, _noise_test(_erm_rate)),
    "stable_sgd": (StableSGD, _HUBER, 0.5, _noise_test(_sgd_rate)),
}
