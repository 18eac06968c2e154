r"""How many records pull as hard as the noise of each method with nothing set, by the library's own calibrations.

The noise's standard deviation in one direction over zeta, one record's largest pull (`dperm.mechanisms.vacuous`):

    a tilt b                    sd/zeta,
    noise on theta              Delta sd/zeta,
    noise in each of T steps    sigma/(sqrt(T) c) = S/(c a),    S = c (add/remove), 2c (replace-one),

with a = `gaussian_ratio(epsilon, delta)`, whatever the number of steps and the clip are. StableERM and StableSGD stand
here with 2/a: what their rates say does not enter. Everything follows from public numbers. Neighbouring relation: the
one that is given.

Sources: docs/privacy.md, sections 2 to 5 and 9 (kifer2012, Theorems 3 and 4; li2021, Theorem 1); the default rules
stand in docs/assumptions.md.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from dperm import losses
from dperm.accounting import shares
from dperm.accounting.gaussian import gaussian_ratio
from dperm.domain import Budget, Domain, Neighbours, changed_gradients
from dperm.mechanisms import approximate_minima, balanced, napp, objective, output
from dperm.mechanisms.base import SOLVER_SHARE, bounds
from dperm.mechanisms.estimators.napp import NAPP
from dperm.mechanisms.estimators.objective import STEEPEST
from dperm.mechanisms.estimators.output import default_curvature
from dperm.mechanisms.estimators.preconditioned import GRAM_SHARE
from dperm.mechanisms.vacuous import Noise, added, deviation

# Rows of length one at most: every default goes with the bound.
_LOSS, _DOMAIN = losses.logistic(), Domain(x_norm=1.0, y_bound=1.0)
_ZETA, _LAMBDA = bounds(_LOSS, _DOMAIN)


class Told(NamedTuple):
    """What a method is told: public numbers alone; n is the planner's, not the mechanism's."""

    budget: Budget
    neighbours: Neighbours
    n: int
    p: int


def _objective(told: Told) -> Noise:
    budget = told.budget
    if told.neighbours == "add_remove":
        budget = Budget(budget.epsilon * (1 - balanced.COUNT_SHARE), budget.delta)
    tilting, relation = budget.share(1 - SOLVER_SHARE), {"neighbours": told.neighbours}
    curvature = balanced.balanced_curvature(_LOSS, _DOMAIN, tilting, n=told.n, p=told.p, steepest=STEEPEST, **relation)
    law, _ = objective.calibrate(_LOSS, _DOMAIN, tilting, curvature=curvature, calibration="tight", **relation)
    return Noise(deviation(law, told.p) / _ZETA)


def _output(told: Told) -> Noise:
    given = {"neighbours": told.neighbours, "calibration": "tight"}
    curvature = default_curvature(_LOSS, _DOMAIN, told.budget, **given, p=told.p)
    sensitivity = changed_gradients(told.neighbours) * _ZETA / curvature
    law, _ = output.calibrate(sensitivity, told.budget, calibration="tight")
    return added(deviation(law, told.p), zeta=_ZETA, lam=_LAMBDA, curvature=curvature)


def _napp(told: Told) -> Noise:
    model = NAPP()
    made = napp.plan(
        model.loss, told.p, penalty=model.penalty, strength=model.strength, calibration=model.calibration,
        domain=_DOMAIN, budget=told.budget, neighbours=told.neighbours, solver_share=SOLVER_SHARE,
    )  # fmt: skip
    return Noise(napp.deviation(made.law, told.p) / made.bounds.zeta12)


def _approximate_minima(told: Told) -> Noise:
    made = approximate_minima.calibrate(_LOSS, _DOMAIN, told.budget, n=told.n, p=told.p, neighbours=told.neighbours)
    return Noise(made.tilt.scale / _ZETA, made.output.scale * _LAMBDA / _ZETA)


def _descent(told: Told) -> Noise:
    return Noise(changed_gradients(told.neighbours) / gaussian_ratio(told.budget.epsilon, told.budget.delta))


def _preconditioned(told: Told) -> Noise:
    return Noise(_descent(told).records / math.sqrt(1 - GRAM_SHARE))


@dataclass(frozen=True)
class Method:
    """A way to a model.

    - call: how it is written; `noise`: of one model at its defaults; `pure`: it serves delta = 0; `relations`: those
      that it serves.
    - split: of k > 2 classes, how one budget is shared among k models; None where one model serves all.
    """

    call: str
    noise: Callable[[Told], Noise]
    pure: bool = False
    relations: tuple[str, ...] = ("add_remove", "replace")
    split: Callable[[Budget, int], Budget] | None = None

    def told(self, told: Told, classes: int) -> Told:
        """Return what each of its models is told."""
        if self.split is None or classes == 2:
            return told
        return told._replace(budget=self.split(told.budget, classes))


def _gaussian(budget: Budget, k: int) -> Budget:
    """As PrivateOneVsRest shares among releases that are Gaussian, where there is a delta."""
    return shares.of_gaussians(budget, k) if budget.delta else shares.of_any(budget, k)


_KNOWN = ("replace",)
# By the names of the experiments of the frontier.
BINARY = {
    "objective": Method("ObjectivePerturbation", _objective, pure=True),
    "output": Method("OutputPerturbation", _output, pure=True),
    "napp": Method("NAPP", _napp, pure=True),
    "gradient": Method("NoisyGradientDescent", _descent),
    "preconditioned": Method("PreconditionedGradientDescent", _preconditioned),
    "approximate_minima": Method("ApproximateMinima", _approximate_minima, relations=_KNOWN),
    "stable_erm": Method("StableERM(answers='model')", _descent, relations=_KNOWN),
    "stable_sgd": Method("StableSGD(answers='model')", _descent, relations=_KNOWN),
}
SEVERAL = {
    "gradient": BINARY["gradient"],
    "preconditioned": BINARY["preconditioned"],
    "objective_rest": Method("PrivateOneVsRest(ObjectivePerturbation())", _objective, pure=True, split=shares.of_any),
    "output_rest": Method("PrivateOneVsRest(OutputPerturbation())", _output, pure=True, split=_gaussian),
}


def methods(classes: int) -> dict[str, Method]:
    """Return the methods that serve so many classes."""
    return BINARY if classes == 2 else SEVERAL


def records(name: str, told: Told, classes: int) -> Noise:
    """Return the noise of a method of `methods(classes)`, of each of its models where it has several."""
    method = methods(classes)[name]
    return method.noise(method.told(told, classes))
