"""This library's estimators with nothing set, on the same splits, under each promise that the others make."""

import warnings

from running import run

from dperm import NAPP, ObjectivePerturbation
from dperm.errors import VacuousWarning


def ways(make, neighbours):
    """Return how it is fitted: told the budget, the relation, the bound 1 and the labels, as in frontier-linear."""

    def fit(X, y, epsilon, delta, seed):
        public = {"epsilon": epsilon, "delta": delta, "neighbours": neighbours, "classes": (-1, 1), "clip": True}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VacuousWarning)
            return make(**public, random_state=seed).fit(X, y).predict

    return fit


for make in (ObjectivePerturbation, NAPP):
    for neighbours, pure in (("add_remove", False), ("replace", True)):
        run(f"dperm {make.__name__}", neighbours, ways(make, neighbours), pure=pure)
