"""Mistakes about the data and the source of randomness: bounds, retries, selection, blocks, seeds, votes."""

import functools
from dataclasses import replace

import numpy as np

from dperm import losses
from dperm.audit import pairs, reference_laws
from dperm.audit.mutants.mutant import Finite, Sampled, mutant, mutants_of
from dperm.audit.mutants.noise import ONE, TOLERANCE, of_law, shifted
from dperm.domain import Domain
from dperm.noise import Laplace, SphericalLaplace
from dperm.solvers import newton

# One record that may be turned around, for mechanisms that look at labels.
_RIGHT, _WRONG = (np.ones((1, 1)), np.array([1.0])), (np.ones((1, 1)), np.array([-1.0]))


@mutant("clipping norm, and noise, taken from the data", "diffprivlib's default", "add_remove")
def clipping_to_the_data(broken: bool) -> Sampled:
    """Output perturbation whose rows are clipped to the longest row of the data, and whose noise is made for that.

    The twin's bound is declared.
    """
    case = pairs.linear(neighbours="add_remove", budget=ONE, records=4)
    X, y = case.data
    short = 0.1 * X, y
    longer = np.concatenate([short[0], X[:1]]), np.append(y, pairs.FAR)

    def draw(data, repeats, rng):
        X, y = data
        norm = np.linalg.norm(X, axis=1).max() if broken else 1.0
        theta = newton.minimise(case.loss, X, y, ridge=case.curvature, tolerance=TOLERANCE).theta
        return theta + SphericalLaplace(norm / case.curvature / ONE.epsilon).sample((repeats, 1), rng)

    return Sampled(draw, short, longer)


@mutant("a constant feature that the norm bound leaves out", "private_prediction", "add_remove")
def intercept_outside_the_bound(broken: bool) -> Sampled:
    """Output perturbation with a constant feature appended, and noise for ||x|| <= 1/2 instead of sqrt(1/4 + 1)."""
    norm, curvature = 0.5, 2.0
    charged = norm if broken else float(np.hypot(norm, 1.0))
    # A record's force, (x, 1) times Huber's knee, is longer than the bound on x.
    record = np.array([[norm, 1.0]]), np.array([pairs.FAR])
    empty = np.zeros((0, 2)), np.zeros(0)
    case = pairs.Case("", losses.huber(1.0), Domain(x_norm=float(np.hypot(norm, 1.0))), curvature, empty, record)
    law = SphericalLaplace(charged / curvature / ONE.epsilon)
    return Sampled(replace(shifted(case, of_law(law)), law=law), case.data, case.neighbour)


@mutant("the generator seeded anew at every call", "a classic", "replace")
def same_seed(broken: bool) -> Sampled:
    """Output perturbation whose generator is seeded with the same number at every call."""

    def noise(law, repeats, p, rng):
        return np.repeat(law.sample((1, p), np.random.default_rng(42)), repeats, axis=0)

    return _seeded(noise if broken else _fresh)


@mutant("the generator seeded with one random byte", "dpml-benchmark", "replace")
def few_seeds(broken: bool) -> Sampled:
    """Output perturbation whose generator is seeded with one random byte: 256 noises in all."""

    def noise(law, repeats, p, rng):
        streams = np.array([law.sample((p,), np.random.default_rng(byte)) for byte in range(256)])
        return streams[rng.integers(256, size=repeats)]

    return _seeded(noise if broken else _fresh)


@mutant("noise drawn anew until the model fits its data", "dpml-benchmark", "replace")
def retried(broken: bool) -> Sampled:
    """Output perturbation that draws new noise until the model is right on its training data."""
    made = _logistic_model()

    def draw(data, repeats, rng):
        outputs = made.draw(data, repeats, rng)
        while broken and (wrong := outputs[:, 0] * data[1][0] <= 0).any():
            outputs[wrong] = made.draw(data, int(wrong.sum()), rng)
        return outputs

    return Sampled(draw, _RIGHT, _WRONG)


@mutant("the best of ten private models, chosen on the data for free", "dpml-benchmark", "replace")
def best_of_ten(broken: bool) -> Sampled:
    """The best on the data of ten private models, each of which spends epsilon; the selection is not paid for.

    The twin releases one of them, chosen by lot.
    """
    made = _logistic_model()

    def draw(data, repeats, rng):
        models = made.draw(data, 10 * repeats, rng).reshape(repeats, 10)
        chosen = (models * data[1][0]).argmax(axis=1) if broken else rng.integers(10, size=repeats)
        return models[np.arange(repeats), chosen]

    return Sampled(draw, _RIGHT, _WRONG)


@mutant("stable SGD with half of its sensitivity", "dwork2018, D2", "replace")
def printed_sgd(broken: bool) -> Sampled:
    """A prediction of averaged projected SGD, noise for the printed stability RL/sqrt(n), not twice that."""
    case = pairs.first_example(neighbours="replace", budget=ONE)
    n = len(case.data[1])
    stability = (1 if broken else 2) / np.sqrt(n)

    def averaged(data):
        X, y = data
        w, total = np.zeros(X.shape[1]), np.zeros(X.shape[1])
        for x, target in zip(X, y, strict=True):
            total += w
            w = w - case.loss.derivative(x @ w, target) * x / np.sqrt(n)
            w /= max(1.0, np.linalg.norm(w) / case.domain.theta_norm)
        return total / n

    def draw(data, repeats, rng):
        return averaged(data)[0] + rng.laplace(0.0, stability / ONE.epsilon, repeats)

    return Sampled(draw, case.data, case.neighbour)


@mutant("Laplace scale epsilon/gamma", "dwork2018, D3", "replace", epsilon=0.25)
def scale_upside_down(broken: bool) -> Sampled:
    """The average of two models' predictions in [0, 1] with Laplace noise of scale epsilon/gamma, not gamma/epsilon."""
    gamma, epsilon = 1 / 2, 1 / 4
    scale = epsilon / gamma if broken else gamma / epsilon

    def draw(data, repeats, rng):
        return np.mean(data) + Laplace(scale).sample((repeats,), rng)

    return Sampled(draw, [0.0, 0.0], [0.0, 1.0])


@mutant("Samp-Agg: a record more changes every block", "kifer2012, K6", "add_remove")
def blocks_cut_anew(broken: bool) -> Sampled:
    """Samp-Agg's votes with k = floor(sqrt(n)) blocks cut from the list: a record more, and all blocks are others.

    Every block votes for the feature with the larger sum. Feature 0 has 1 in every eleventh record, feature 1 has 0.095
    in each: blocks of 11 (n = 99) vote for feature 1, nine of the ten blocks of 10 (n = 100) for feature 0. The twin
    has nine blocks, and a key that the record brings along, independent of the others, decides on its block.
    """
    # The third column is the record's key: not its place in the list, which other records may move.
    records = np.column_stack([np.arange(100) % 11 == 5, np.full(100, 0.095), np.arange(100)]).astype(float)

    def fractions(data):
        n = len(data)
        if broken:
            k = int(np.sqrt(n))
            blocks = np.array_split(data, k)
        else:
            k = 9
            blocks = [data[data[:, 2] % k == j] for j in range(k)]
        votes = [int(block[:, 0].sum() < block[:, 1].sum()) for block in blocks]
        return np.bincount(votes, minlength=2) / k, k

    def draw(data, repeats, rng):
        share, k = fractions(data)
        # s = 1 feature for each block: one block changes two entries by 1/k each.
        return share + Laplace(2 / (k * ONE.epsilon)).sample((repeats, 2), rng)

    return Sampled(draw, records[:99], records)


@mutant("votes weighted e^(epsilon count)", "private_prediction; dwork2018, D1", "replace")
def exponential_votes(broken: bool) -> Finite:
    """A majority vote of 15 models with weights e^(epsilon votes), not e^(epsilon v/2)."""
    law = reference_laws.weighted_votes if broken else reference_laws.soft_majority
    return Finite(lambda count: law(count, models=15, epsilon=1.0), list(reference_laws.vote_margins(15)))


def _fresh(law, repeats, p, rng):
    return law.sample((repeats, p), rng)


def _seeded(noise) -> Sampled:
    """Return output perturbation with the noise that `noise(law, repeats, p, rng)` draws."""
    case = pairs.linear(neighbours="replace", budget=ONE, records=4)
    law = SphericalLaplace(2 / case.curvature / ONE.epsilon)
    released = shifted(case, functools.partial(noise, law))
    return Sampled(replace(released, law=law), case.data, case.neighbour)


def _logistic_model():
    """Return output perturbation of a logistic model on a line, tight for replacing one record."""
    curvature = 2.0
    case = pairs.Case("", losses.logistic(), pairs.UNIT, curvature, _RIGHT, _WRONG)
    return shifted(case, of_law(SphericalLaplace(2 / curvature / ONE.epsilon)))


MUTANTS = mutants_of(globals())
