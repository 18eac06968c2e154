"""Mistakes of private learning with kernels (jain2013), each beside its proper form: TDDL, the path, PINP, TDIL."""

from dataclasses import replace

import numpy as np

from dperm.audit.kernel import crossing, pairs, public_points
from dperm.audit.mutants.mutant import Finite, Sampled, mutant, mutants_of
from dperm.domain import Budget
from dperm.mechanisms.kernel import rkhs, tddl

_BUDGET = Budget(1.0, 1e-6)
# Near-copies of x, or coordinates.
_SIXTEEN = 16
# So many answers at once are enough.
_MOST_DRAWS = 100_000
# By how much a solver errs, against Delta_w.
_ERRING = 0.5
# Bins of an answer.
_BINS = np.linspace(-8, 8, 129)


@mutant("TDDL with half of Delta_1", "jain2013, J2", "replace", delta=1e-6)
def half_sensitivity(broken: bool) -> Sampled:
    """TDDL whose noise is made for L R^2/total, half of what one replaced record does."""
    pair = pairs.flip(pairs.setting("replace"))
    told = replace(pair.setting, lipschitz=pair.setting.lipschitz / 2) if broken else pair.setting
    return _tddl(pair, told, "paper")


@mutant("TDDL's noise does not count what the solver errs by", "jain2013, J9", "replace", delta=1e-6)
def forgotten_slack(broken: bool) -> Sampled:
    """TDDL on solutions that err by half of Delta_w, with noise for the exact ones.

    The twin's noise counts twice the slack.
    """
    of = pairs.setting("replace")
    of = replace(of, slack=_ERRING * of.shift)
    return _tddl(pairs.flip(of, erring=of.slack), of, "paper" if broken else "corrected")


@mutant("TDDL in a ball as large as w*", "jain2013, J10", "replace", delta=1e-6)
def private_ball(broken: bool) -> Sampled:
    """TDDL over the ball whose radius is ||w*||.

    The twin's radius is public. Its data are the places of w* on a line.
    """
    pair = pairs.flip(pairs.setting("replace"), offset=1.0)
    spectrum = tddl.spectrum(pairs.copies(1))

    def draw(position, repeats, rng):
        of = replace(pair.setting, radius=position if broken else 2.0)
        at = np.array([of.feature_norm * position])
        return tddl.release(spectrum, at, of, _BUDGET, calibration="tight", rng=rng, repeats=repeats).norm

    return Sampled(draw, pair.first, pair.second)


@mutant("TDDL with training rows as public points", "jain2013, 6.1", "replace", delta=1e-6)
def training_points(broken: bool) -> Sampled:
    """TDDL whose public points are the training rows.

    The twin's Z is anybody's. Its data are the row that is replaced; its answer is 0 whichever it is.
    """
    of = pairs.setting("replace")
    norm = of.feature_norm
    public = np.array([norm, 0.0])

    def draw(row, repeats, rng):
        z = row if broken else public
        spectrum = tddl.spectrum(np.array([[z @ z]]))
        made = tddl.release(spectrum, np.zeros(1), of, _BUDGET, calibration="tight", rng=rng, repeats=repeats)
        # w^ = a phi(z), in coordinates.
        return made.coefficients * z

    return Sampled(draw, np.array([norm, 0.0]), np.array([0.0, norm]))


@mutant("a new Gaussian path for every query", "jain2013, J12", "replace", delta=1e-6)
def fresh_noise(broken: bool) -> Sampled:
    """The Gaussian process with fresh noise for each of sixteen queries near x; the twin keeps its path."""
    pair = pairs.flip(pairs.setting("replace", slack=0.0))
    K = pairs.copies(_SIXTEEN)
    together = tddl.spectrum(K)
    alone = tddl.spectrum(K[:1, :1])

    def draw(position, repeats, rng):
        exact = np.full(_SIXTEEN, pair.setting.feature_norm * position)
        if not broken:
            return rkhs.release(together, exact, pair.setting, _BUDGET, rng=rng, repeats=repeats).answers
        asked = rkhs.release(alone, exact[:1], pair.setting, _BUDGET, rng=rng, repeats=_SIXTEEN * repeats)
        return asked.answers.reshape(repeats, _SIXTEEN)

    return Sampled(draw, pair.first, pair.second, most_draws=_MOST_DRAWS)


@mutant("a sparse vector without noise on its threshold", "Lyu, Su & Li 2017", "replace", delta=1e-6)
def bare_threshold(broken: bool) -> Finite:
    """PINP's sparse vector whose threshold has no noise, so that every "no" tells; its data are the side, 1 or -1."""
    made, _, coarse = crossing.proper("replace", _BUDGET, "corrected")
    made = made._replace(constants=replace(made.constants, moving=0.0)) if broken else made
    worst = crossing.worst(made, coarse, _BUDGET.delta)
    return _crossed(worst)


@mutant("TDIL: epsilon for the choice of z, and for the answer", "a classic", "replace", delta=1e-6)
def one_release_a_round(broken: bool) -> Finite:
    """TDIL's round with epsilon for each of its two releases, the choice of z and the answer.

    The twin's two share it. Its data are the side, 1 or -1.
    """
    of, made = public_points.corrected("replace", _BUDGET)
    if broken:
        made = replace(made, weight=2 * made.weight, noise=made.noise / 2)
    worst = public_points.worst(of, made, _BUDGET.delta)
    return Finite(lambda side: worst.outcomes(side).ravel(), [(1, -1)])


@mutant("TDIL with n lambda/(L R^2) twice in the exponent", "jain2013, J1", "replace", delta=1e-6)
def exponent_twice(broken: bool) -> Finite:
    """TDIL's choice of z, its weight eps0 total/(8 L R^2) with an eps0 that holds total/(L R^2) already.

    The twin's weight is epsilon/(2 Delta_1). Its data are the side, 1 or -1.
    """
    made = public_points.printed("replace", _BUDGET)
    if not broken:
        proper = _BUDGET.epsilon / (2 * made.setting.feature_norm * made.setting.shift)
        made = made._replace(constants=replace(made.constants, weight=proper))
    return Finite(made.chances, [(1, -1)])


def _tddl(pair: pairs.Pair, told, calibration: str) -> Sampled:
    """Return one answer at x: with all of space as its ball, w^ tells it."""
    K = pairs.copies(1)
    spectrum = tddl.spectrum(K)

    def draw(position, repeats, rng):
        exact = np.array([told.feature_norm * position])
        return tddl.release(spectrum, exact, told, _BUDGET, calibration=calibration, rng=rng, repeats=repeats).at(K)

    return Sampled(draw, pair.first, pair.second)


def _crossed(made: crossing.Crossing) -> Finite:
    """Return decisions and answers, the latter in bins."""
    edges = _BINS * made.constants.answering
    return Finite(lambda side: made.outcomes(side, edges), [(1, -1)])


MUTANTS = mutants_of(globals())
