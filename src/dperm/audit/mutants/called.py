"""Mistakes around a right core, each beside its proper form: what a check, a lock or an attribute was forgotten at.

Four were in this library's own code once, and were found by reading it (the mechanisms' theorems held). Of the others
one counts an answer after it has looked whether one is left, one cuts a gradient by parts, one gives each class the
whole budget, two count records whose number is private, three make noise for less than a record, or a record and
the solver, can do, and one draws less noise than its statement names: an attack that believed the statement could not
see it.
"""

import contextlib
import dataclasses
import warnings
from functools import partial
from typing import Any

import numpy as np
from scipy import special

from dperm.audit.called import answers, corners, descents, linear, objects, recording, rests, threads
from dperm.audit.called.corners import Call
from dperm.audit.mutants.mutant import Finite, Sampled, mutant, mutants_of
from dperm.errors import DomainViolation, VacuousWarning
from dperm.laws.tails import lower_tail
from dperm.losses import Loss
from dperm.mechanisms import gradient
from dperm.mechanisms.diagnostics import diagnostics
from dperm.mechanisms.estimators.approximate_minima import ApproximateMinima
from dperm.mechanisms.estimators.gradient import NoisyGradientDescent
from dperm.mechanisms.estimators.objective import ObjectivePerturbation
from dperm.mechanisms.estimators.one_vs_rest import PrivateOneVsRest
from dperm.mechanisms.estimators.output import OutputPerturbation
from dperm.mechanisms.estimators.rkhs import RKHSGaussian
from dperm.mechanisms.estimators.stable_erm import StableERM
from dperm.mechanisms.estimators.tddl import TDDL
from dperm.mechanisms.multinomial import Multinomial
from dperm.mechanisms.prediction.changes import change
from dperm.mechanisms.serving import Serving

# Fits of an object, on either side.
_MOST_DRAWS = 100
_LOW, _HIGH = -0.01, 0.01
_COUNTS = {"loss": "poisson", "y_bound": 2.0, "low": _LOW, "high": _HIGH, "curvature": 200.0, "solver_share": 0.0}
_QUIET = 0.7
_SOURCE = "this library, once"
# Bins of an answer, in its noise.
_BINS = np.linspace(-8, 8, 129)


class _AnyTarget(Loss):
    """A loss that asks of no target whether its suprema hold for it."""

    def targets_of(self, y, domain, *, clip=False):
        """Return the targets as they are."""
        return np.asarray(y, dtype=float)


class _Unchecked(ObjectivePerturbation):
    """Objective perturbation that takes negative counts."""

    def _loss(self):
        return _AnyTarget(**vars(super()._loss()))


class _Counting(ApproximateMinima):
    """Approximate minima perturbation that counts its records where it asks for a public number of them."""

    def _release(self, X, y, loss, domain, rng):
        self.n_public = len(X)
        return super()._release(X, y, loss, domain, rng)


class _Open(Serving):
    """Turns, and a lock, that keep nobody out."""

    def begin(self):
        """Begin with no lock at all."""
        super().begin()
        self.lock = contextlib.nullcontext()

    def turn(self, *, inner=False):
        """Keep nobody out."""
        return contextlib.nullcontext()


class _Quiet(RKHSGaussian):
    """A path whose noise is 0.7 of what its statement names."""

    def _start(self, X, y, made, exact, loss, setting, budget, rng):
        path = super()._start(X, y, made, exact, loss, setting, budget, rng)
        path.scale *= _QUIET
        return path


class _Dividing(NoisyGradientDescent):
    """A descent whose step is divided by the number of records, as if that were public under add/remove."""

    def _release(self, X, y, loss, domain, rng):
        return gradient.release(X, y, loss, **self._fixed(loss, domain), steps=self.steps, n_public=len(X), rng=rng)


class _ClassByClass(Multinomial):
    """A multinomial loss whose gradients are cut to the clip class by class: sqrt(k) times too long."""

    def summed(self, X, y, theta, limit, w=None):
        """Return the sum of gradients that are cut class by class."""
        weight = special.softmax(X @ theta.reshape(self.classes, -1).T, axis=1) - np.eye(self.classes)[y.astype(int)]
        return (np.clip(weight, -limit[:, None], limit[:, None]).T @ X).reshape(theta.shape)


class _Cut(NoisyGradientDescent):
    """A descent of several classes that cuts each class's part of a gradient by itself."""

    def _release(self, X, y, loss, domain, rng):
        return super()._release(X, y, _ClassByClass(loss.classes), domain, rng)


class _Halved(StableERM):
    """A stable model with noise for half of what a record can do."""

    def _learn(self, X, y, loss, domain, each):
        made = super()._learn(X, y, loss, domain, each)
        return dataclasses.replace(made, rate=made.rate / 2)


class _Slack(StableERM):
    """A stable model whose solver stops as far from the minimiser as it may, on the side that tells most."""

    def _learn(self, X, y, loss, domain, each):
        made = super()._learn(X, y, loss, domain, each)
        # rate = exact (1 + 2 tolerance), slack = tolerance exact/x_norm.
        slack = self.tolerance * made.rate / (1 + 2 * self.tolerance) / domain.x_norm
        return dataclasses.replace(made, w=made.w + np.where(made.w > slack, slack, -slack))


class _Free(_Slack):
    """The same, with noise for exact minimisers."""

    def _learn(self, X, y, loss, domain, each):
        made = super()._learn(X, y, loss, domain, each)
        return dataclasses.replace(made, rate=made.rate / (1 + 2 * self.tolerance))


class _AtZero(StableERM):
    """A stable model with noise for the slopes that a loss has at w = 0, as if they were those of the ball."""

    def _learn(self, X, y, loss, domain, each):
        made, there = super()._learn(X, y, loss, domain, each), dataclasses.replace(domain, theta_norm=1e-9)
        share = change(loss, there, self.neighbours) / change(loss, domain, self.neighbours)
        return dataclasses.replace(made, rate=made.rate * share)


class _WholeEach(PrivateOneVsRest):
    """One model for each class against the rest, as if a record were in that of its own class alone."""

    def _share(self, budget, k, columns):
        return budget


class _Certified(OutputPerturbation):
    """A model that carries the certificate of its solver."""

    def fit(self, X, y):
        """Fit, and show how near the solver came."""
        super().fit(X, y)
        self.certificate_ = diagnostics(self).certificate
        return self


class _Guarded(TDDL):
    """A learner that refuses public points which are rows of the data."""

    def fit(self, X, y):
        """Fit, if no public point is a row."""
        if (np.asarray(X)[:, None] == np.asarray(self.public)[None]).all(axis=2).any():
            raise DomainViolation("a public point is a row of the training data; leave it out of `public`, or of X")
        return super().fit(X, y)


@mutant("Poisson counts whose sign nobody looks at", _SOURCE, "add_remove")
def unchecked_domain(broken: bool) -> Finite:
    """Objective perturbation of counts between walls: is theta at the lower one, between, or at the upper?

    Its data are corners that `fit` accepts; the record -Y comes, or of the twin none below 0.
    """
    make = partial(_Unchecked if broken else ObjectivePerturbation, **_COUNTS)
    call = Call(make, (0.0, -2.0, 2.0), "", walls=(_LOW, _HIGH))
    found = linear.listen(call, np.random.default_rng(0))
    kind = found.law(1.0)

    def law(corner):
        walls = np.array([_LOW, _HIGH])
        z = (linear.forces(found, corner, walls) + found.ridge * walls) / found.scale
        below, above = float(lower_tail(kind, z[0])), float(lower_tail(kind, -z[1]))
        return np.array([below, 1 - below - above, above])

    return Finite(law, [(None, corner) for corner in found.rows if corner])


@mutant("a private number of records in the place of a public guess", "a classic", "add_remove", delta=1e-6)
def counted_records(broken: bool) -> Finite:
    """Approximate minima perturbation whose output noise is made for the number of its records.

    Its data are zero rows, on which the release is Gaussian: the tilt over Delta, and the output noise.
    """
    curvature, rng = 8.0, np.random.default_rng(0)
    make = partial(_Counting if broken else ApproximateMinima, classes=(0, 1), curvature=curvature, n_public=2)

    def scale(records):
        zero = np.zeros((records, 1))
        # So few records are drowned, and that is not the mistake.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VacuousWarning)
            fit = recording.fit(make(neighbours="add_remove"), "_release", zero, zero[:, 0], int(rng.integers(2**63)))
        (tilt, _), (output, _) = fit.drawn
        return np.hypot(tilt.scale / curvature, output.scale)

    # Up to 2.4 deviations of the wider law: further out the narrower one has no mass that a double holds.
    edges = 0.3 * _BINS * scale(1)

    return Finite(lambda records: _pieces(edges / scale(records)), [(1, 2)])


@mutant("a path that several threads ask at once", _SOURCE, "replace", delta=1e-6)
def missing_lock(broken: bool) -> Finite:
    """A Gaussian path whose turns and lock keep nobody out."""
    return _asked_at_once(RKHSGaussian, _Open if broken else None)


@mutant("votes whose last answer several threads find unspent at once", "everywhere", "replace")
def counted_together(broken: bool) -> Finite:
    """A soft majority that eight threads ask for the one answer that is paid for: how many of its answers are 1?

    Its data are whether the record is there.
    """
    rng, budget = np.random.default_rng(0), {"neighbours": "replace", "epsilon": 1.0, "delta": 0.0}

    def fitted(record=True):
        model = threads.predictor("soft_majority", budget, rng, record=record)
        if broken:
            model.ledger_.serving = _Open()
        return model

    number = threads.answered(fitted)
    return Finite(lambda record: threads.bits(threads.chance(fitted(record)), number), [(True, False)])


@mutant("a path that draws 0.7 of the noise that its statement names", "everywhere", "replace", delta=1e-6)
def quiet_path(broken: bool) -> Finite:
    """A Gaussian path with less noise than an attack that believed the statement would look for."""
    return _asked_at_once(_Quiet if broken else RKHSGaussian)


@mutant("a step divided by the number of records, which is private", "textbooks", "add_remove", delta=1e-6)
def divided_step(broken: bool) -> Finite:
    """One step of a descent: the release in bins; its data are whether the record at the bound is there.

    The twin's step is a public number.
    """
    step, make = (None, _Dividing) if broken else (4.0, NoisyGradientDescent)
    return one_step(make, (0, 1), gradient_clip=1e-3, step_size=step)


@mutant("a gradient of several classes that is cut class by class", "textbooks", "add_remove", delta=1e-6)
def class_by_class(broken: bool) -> Finite:
    """One step of a descent of three classes."""
    return one_step(_Cut if broken else NoisyGradientDescent, (0, 1, 2), gradient_clip=1e-3)


@mutant("a stable model with noise for half of its sensitivity", "dwork2018, D2", "replace", delta=1e-6)
def half_of_a_model(broken: bool) -> Finite:
    """Stable ERM that releases its model once, in bins; its data are corners that `fit` accepts."""
    return _released_once(_Halved if broken else StableERM, "replace")


@mutant("a stable model whose noise forgets the solver's error", "dwork2018, J9", "add_remove", delta=1e-6)
def solver_for_free(broken: bool) -> Finite:
    """Stable ERM whose solver errs by all that its tolerance allows, in bins; the twin's noise is made for that too."""
    return _released_once(_Free if broken else _Slack, "add_remove", tolerance=0.5)


@mutant(
    "a stable model whose noise takes the slopes at w = 0 for those of the ball", "everywhere", "add_remove", delta=1e-6
)
def slope_at_zero(broken: bool) -> Finite:
    """Stable ERM of the logistic loss beside short rows that push w to the wall, in bins."""
    far = {"loss": "logistic", "total": 100.0, "crowd": (20_000, 0.0196)}
    return _released_once(_AtZero if broken else StableERM, "add_remove", **far)


@mutant("the whole budget for each class against the rest", "everywhere", "add_remove")
def whole_for_each_class(broken: bool) -> Finite:
    """Output perturbation of three classes against the rest: on which side each theta_j lies; a record comes."""
    pair = None, (1.0, 2)
    fits = rests.fitted("add_remove", 1.0, 0.0, np.random.default_rng(0), _WholeEach if broken else PrivateOneVsRest)
    return Finite(rests.outcomes(fits[None][1], fits, pair), [pair])


@mutant("a released model with its solver's certificate", _SOURCE, "add_remove")
def published_certificate(broken: bool) -> Sampled:
    """A model whose public attributes tell how near its solver came to the minimum."""
    return _handed_on(_Certified if broken else OutputPerturbation, (1.0, 1), classes=(0, 1))


@mutant("an error where a public point is a row of the data", _SOURCE, "add_remove", delta=1e-6)
def membership_check(broken: bool) -> Sampled:
    """A learner whose error tells that a public point is in the data."""
    given = {"kernel": "linear", "public": [[0.5], [-0.25]], "radius": 1.0, "classes": (0, 1)}
    return _handed_on(_Guarded if broken else TDDL, (0.5, 1), **given)


def one_step(make: type, classes: tuple[int, ...], **given: Any) -> Finite:
    """Return one step of a descent, in bins along the line on which a record of the last class moves it.

    Its data are whether the record is there.
    """
    public = {"steps": 1, "step_size": 1.0, "momentum": 0.0, "classes": classes}
    found, _ = descents.laws(Call(partial(make, **public | given), classes, ""), np.random.default_rng(0))
    laws = dict(zip((False, True), descents.between(found[None], found[1.0, classes[-1]]), strict=True))
    edges = _BINS * laws[False].scale + laws[False].centre

    return Finite(lambda there: _pieces((edges - laws[there].centre) / laws[there].scale), [(False, True)])


def _asked_at_once(make: type, serving: type | None = None) -> Finite:
    """Return a Gaussian path that eight threads ask at once: the mean of its answers to one question, in bins.

    Its data are the answers without noise; `serving` takes the place of what gives the threads their turns.
    """
    rng = np.random.default_rng(0)
    fits = [threads.fit(y, rng, make, neighbours="replace") for y in (1, -1)]
    scale, number = threads.sigma(rng, make=make, neighbours="replace"), 1
    for one, kernel in fits:
        if serving is not None:
            one.model.path_.serving = serving()
        number = max(number, threads.noises(one.model, kernel, scale))
    asked = np.array([[1.0]])
    centres = tuple(answers.path_centre(one, asked) for one, _ in fits)
    return Finite(lambda centre: _pieces((_BINS * scale - centre) / (scale / np.sqrt(number))), [centres])


def _released_once(make: type, neighbours: str, **given: Any) -> Finite:
    """Return a stable model that is released once, in bins of its noise."""
    how = {"loss": "smoothed_hinge", "total": 400.0, "answers": "model", "classes": (0, 1), "neighbours": neighbours}
    crowd = given.pop("crowd", (1, 0.0))
    call = Call(partial(make, **how | given), (0, 1), "", additive=True, crowd=crowd)
    found = linear.listen(call, np.random.default_rng(0))

    return Finite(
        lambda corner: _pieces(_BINS - (found.centres[corner] - found.centres[None]) / found.scale),
        corners.pairs(found.centres, neighbours),
    )


def _pieces(edges: np.ndarray) -> np.ndarray:
    """Return how likely a standard normal number is between these edges, and beyond them."""
    return np.diff(np.concatenate([[0.0], special.ndtr(edges), [1.0]]))


def _handed_on(make: type, record: tuple[float, float], **given: Any) -> Sampled:
    """Return a model as it is handed on: a digest of all but what its statement covers, or of the error instead of it.

    The record (x, y) comes.
    """
    fit = partial(make, neighbours="add_remove", **given)

    def draw(records, repeats, rng):
        # A number for each thing that may be told.
        return np.array([_number(objects.fingerprint(fit, records)) for _ in range(repeats)])

    return Sampled(draw, [(0.3, 0), record], [(0.3, 0)], most_draws=_MOST_DRAWS)


def _number(words: str) -> float:
    return int.from_bytes(words.encode()[:6], "big") / 2**48


MUTANTS = mutants_of(globals())
