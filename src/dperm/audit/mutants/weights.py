"""Mistakes about sample weights: how often a heavy record counts, in the data and in what the noise is made for."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dperm.audit.called import linear
from dperm.audit.called.corners import FAR, Call
from dperm.audit.mutants.called import one_step
from dperm.audit.mutants.mutant import Finite, mutant, mutants_of
from dperm.laws.tails import lower_tail
from dperm.mechanisms.estimators.gradient import NoisyGradientDescent
from dperm.mechanisms.estimators.objective import ObjectivePerturbation
from dperm.mechanisms.estimators.output import OutputPerturbation

_BOUND = 4.0
# Places of theta, in what the noise moves it by under the curvature alone.
_PLACES = np.linspace(-8, 8, 129)


class _Standing:
    """An estimator that has a record of weight w stand w times, each of them as one record."""

    def _release(self, X, y, loss, domain, rng, weights=None):
        times = np.ones(len(X), int) if weights is None else weights.astype(int)
        return super()._release(np.repeat(X, times, axis=0), np.repeat(y, times), loss, domain, rng)


class _Repeating(_Standing, NoisyGradientDescent):
    """A descent that cuts each of them by itself."""


class _Forgetting(_Standing, OutputPerturbation):
    """Output perturbation whose noise is made for records that count once."""

    def _weighing(self, loss):
        return loss


class _Lengthening(_Standing, ObjectivePerturbation):
    """Objective perturbation that has W zeta and W lambda, and ties them as if they were of a longer row."""

    def _weighing(self, loss):
        return replace(loss, suprema=lambda domain: tuple(_BOUND * bound for bound in loss.suprema(domain)))


@mutant("a record of weight w in the place of w records", "textbooks", "add_remove", delta=1e-6)
def weight_by_weight(broken: bool) -> Finite:
    """One step of a weighted descent: all records have the largest weight."""
    return one_step(_Repeating if broken else NoisyGradientDescent, (0, 1), weight_bound=3.0)


@mutant("weights up to W, and noise for a record that counts once", "diffprivlib, histogram", "add_remove")
def weight_for_free(broken: bool) -> Finite:
    """Output perturbation with Huber's loss; a record far outside comes, with the largest weight."""
    make = _Forgetting if broken else OutputPerturbation
    return _on_a_line(partial(make, loss="huber", weight_bound=_BOUND), (0.0, FAR), additive=True)


@mutant("a weight that is taken for the length of a row", "everywhere", "add_remove")
def weight_as_length(broken: bool) -> Finite:
    """Objective perturbation with the logistic loss, W = 4: a row twice as long has 4 lambda, but 2 zeta."""
    make = _Lengthening if broken else ObjectivePerturbation
    given = {"weight_bound": _BOUND, "curvature": 8.0, "solver_share": 0.0, "classes": (0, 1)}
    return _on_a_line(partial(make, **given), (0, 1))


def _on_a_line(make: Any, targets: tuple[float, float], *, additive: bool = False) -> Finite:
    """Return a linear model of one feature, theta in bins; its data are whether the record (1, targets[1]) is there."""
    call = Call(make, targets, "", additive=additive)
    found = linear.listen(call, np.random.default_rng(0))
    centre = found.centres.get(None, 0.0)
    lines = {corner: linear.line(call, found, corner) for corner in (None, (1.0, targets[1]))}
    points = centre + _PLACES * found.scale / found.ridge

    def law(corner):
        below = lower_tail(found.law(1.0), lines[corner].z(points))
        return np.diff(np.concatenate([[0.0], below, [1.0]]))

    return Finite(law, [(None, (1.0, targets[1]))])


MUTANTS = mutants_of(globals())
