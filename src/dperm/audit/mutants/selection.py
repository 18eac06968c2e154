"""Mistakes of private selection, of two stages, and of the comparators: weights, votes, budgets, clipping, solvers."""

from dataclasses import replace

import numpy as np
from scipy import special

from dperm import losses
from dperm.accounting import gaussian, stopping
from dperm.audit import comparators, composed, constrained_target, linear_targets, pairs, support, voting
from dperm.audit.mutants.mutant import Finite, Sampled, mutant, mutants_of
from dperm.audit.mutants.noise import ONE, TOLERANCE
from dperm.domain import Budget
from dperm.laws.tails import lower_tail
from dperm.mechanisms import approximate_minima, gradient, preconditioned
from dperm.mechanisms.support import noisy_top
from dperm.noise import Gaussian, Laplace, SphericalLaplace
from dperm.solvers import newton

# |y| <= 1, |theta| <= 1, one feature: a record's loss is at most 2.
ALPHA = 2.0
APPROXIMATE = Budget(1.0, 1e-6)
STEPS = 9
# Of preconditioned descent: the clip, the Gram matrix's share of the squared ratio, and what is added to it.
PULL, HALF = 0.02, 0.5
FLOOR = preconditioned.FLOOR / gaussian.gaussian_ratio(APPROXIMATE.epsilon, APPROXIMATE.delta)
TRIALS = stopping.trials(10, 1.0)


@mutant("exponential mechanism with weights exp(-epsilon q alpha)", "kifer2012, K4", "replace")
def weight_upside_down(broken: bool) -> Finite:
    """The exponential mechanism with weights exp(-epsilon q alpha), as Section 3.2 of kifer2012 prints (K4).

    The twin has exp(-epsilon q/(2 alpha)), as Algorithm 4.
    """
    return _exponential(ONE.epsilon * ALPHA if broken else ONE.epsilon / (2 * ALPHA))


@mutant("weights for add/remove, exp(-epsilon q/alpha), used for replace-one", "kifer2012, K5", "replace")
def weight_doubled(broken: bool) -> Finite:
    """The exponential mechanism under replace-one with the weights exp(-epsilon q/alpha) of add/remove."""
    return _exponential(ONE.epsilon / ALPHA if broken else ONE.epsilon / (2 * ALPHA))


@mutant("Samp-Agg with floor(sqrt(n)) blocks cut from the list", "kifer2012, K6", "add_remove")
def printed_blocks(broken: bool) -> Finite:
    """Samp-Agg with its lassos and printed blocks, from 99 records to 100 (K6).

    The twin's records draw one of 200 blocks each.
    """
    calibration, blocks = ("paper", None) if broken else ("corrected", voting.BLOCKS)
    made = voting.selector(budget=ONE, neighbours="add_remove", calibration=calibration, blocks=blocks)
    data, neighbour, _ = voting.flipped(neighbours="add_remove", calibration=calibration)
    return Finite(made.law, [(data, neighbour)])


@mutant("noisy top s with Lap(s/(k epsilon))", "a classic", "replace")
def half_noise_top(broken: bool) -> Finite:
    """The two most voted-for of four features with noise Lap(s/(k epsilon)), half of Lap(2 s/(k epsilon))."""
    size, blocks = 2, 60
    scale = (1 if broken else 2) * size / (blocks * ONE.epsilon)

    def law(turned):
        # All blocks vote for the first two features, but for those that turned to the last two.
        shares = np.repeat([(blocks - turned) / blocks, turned / blocks], 2)
        found = np.exp(noisy_top.set_log_probabilities(shares, size=size, scale=scale)[1])
        return found / found.sum()

    return Finite(law, [(0, 1)])


@mutant("two stages that spend epsilon each", "a classic", "add_remove")
def epsilon_for_each_stage(broken: bool) -> Finite:
    """Sparse regression whose stages get all of epsilon each, where either should get half.

    The law is over the supports, each with its parameter at an end of the box or between.
    """
    budget = Budget((2 if broken else 1) * ONE.epsilon)
    problem = composed.Problem("exp_mech", budget, "add_remove", "tight", curvature=400.0, bound=1.0)
    problem, data, neighbour, _ = composed.pressed(problem, 0.0, support.RARE)
    made = composed.target(problem)
    return Finite(lambda data: constrained_target.pieces(made, data), [(data, neighbour)])


@mutant("stage two has half of epsilon, and Delta = 2 lambda/epsilon", "kifer2012, Alg. 6", "add_remove", epsilon=0.5)
def curvature_for_the_whole(broken: bool) -> Finite:
    """Stage two, with half of epsilon and gamma noise, but Delta = 2 lambda/epsilon: half of 4 lambda/epsilon.

    The law is over the piece of the line just inside a Huber record's knee, and what is on either side of it.
    """
    half = ONE.epsilon / 2
    curvature = 2 / (ONE.epsilon if broken else half)
    return _inside_the_knee(curvature, SphericalLaplace(2 / half))


@mutant("a ridge of r's own credited on top of Delta, of which it is a part", "kifer2012, Alg. 1", "add_remove")
def ridge_counted_twice(broken: bool) -> Finite:
    """A ridge l2 = Delta = 2 that is all of the curvature, and gamma noise made for Delta + l2.

    The twin's noise is for max(Delta, l2), which is what bends the sum. The pieces are those of
    `curvature_for_the_whole`.
    """
    ridge = 2.0
    credited = 2 * ridge if broken else ridge
    scale = 1 / (ONE.epsilon - np.log1p(1 / credited))
    return _inside_the_knee(ridge, SphericalLaplace(scale))


@mutant("the best of ten trials, paid for as one of a random number of mean ten", "a classic", "add_remove")
def number_of_trials_fixed(broken: bool) -> Finite:
    """Ten trials for certain, each with what the geometric law of mean ten leaves it; the twin draws how many.

    A trial has three outputs, by rising score, of which the neighbour has more of the first, or more of the last.
    """
    up, rare = np.exp(stopping.base_budget(ONE, TRIALS, stopping.worst).epsilon), 1e-6
    above = 1 / (1 + up)
    data, neighbour = (1 - above - up * rare, up * rare, above), (1 - up * above - rare, rare, up * above)
    upto = (lambda t: t**10) if broken else TRIALS.generating
    return Finite(lambda p: np.diff(upto(np.cumsum([0.0, *p]).clip(0, 1))), [(data, neighbour)])


@mutant("trials chosen by a score without noise, of which nothing is published", "a classic", "add_remove")
def score_for_free(broken: bool) -> Finite:
    """A random number of trials that guess one of two models: the record that comes is put aside, and right for one.

    The twin adds noise to the score, rounds it, and shows it too. Of equally good trials the first is taken.
    """
    scale = 1 / stopping.base_budget(ONE, TRIALS, stopping.worst).epsilon
    edges = np.concatenate([[-np.inf], np.arange(-60.5, 60), [np.inf]])

    def law(present):
        scores = np.array([[0.0], [present]])
        below = (edges > scores) if broken else lower_tail(Laplace, (edges - scores) / scale)
        trial = np.diff(below.astype(float)) / 2
        each = trial.sum(axis=0)
        best = np.diff(TRIALS.generating(np.cumsum([0.0, *each]).clip(0, 1)))
        chosen = np.divide(trial * best, each, where=each > 0, out=np.zeros_like(trial))
        return chosen.sum(axis=1) if broken else chosen.ravel()

    return Finite(law, [(0.0, 1.0)])


@mutant("gradient descent: noise for clipped gradients that were not clipped", "a classic", "add_remove", delta=1e-6)
def clipping_forgotten(broken: bool) -> Sampled:
    """Noisy gradient descent with noise for gradients of length 1, which nobody clipped."""
    return _descent(broken, clipped=not broken)


@mutant("gradient descent: each of nine steps has the noise of one", "a classic", "add_remove", delta=1e-6)
def noise_of_one_step(broken: bool) -> Sampled:
    """Noisy gradient descent of nine steps, each with noise as if it were the only one."""
    return _descent(broken, shrunk=np.sqrt(STEPS))


@mutant("preconditioned descent: a Gram matrix that nobody pays for", "a classic", "add_remove", delta=1e-6)
def gram_not_charged(broken: bool) -> Finite:
    """One step of preconditioned descent on one feature, theta = -g/(B_+ + FLOOR), in bins.

    g ~ N(m, sigma^2) and B ~ N(b, s^2) are independent, and B < 0 has a chance below 1e-16, so that exactly
    P(theta <= t) = P(g + t (B + FLOOR) >= 0) = Phi((m + t (b + FLOOR))/sqrt(sigma^2 + t^2 s^2)). The record that comes
    makes g less and B more, each by all of its sensitivity.
    """
    fixed = {"steps": 1, "neighbours": "add_remove"}
    on_gram, on_step = preconditioned.calibrate(PULL, APPROXIMATE, x_norm=1.0, gram_share=HALF, **fixed)
    if broken:
        on_step = gradient.calibrate(PULL, APPROXIMATE, **fixed)
    data, neighbour = preconditioned_pair()

    def sums(X, y):
        (start,) = gradient.summed_gradient(X, y, losses.logistic(), np.zeros((1, 1)), gradient.limits(X, PULL))
        return start.item(), preconditioned.gram(X, 1.0).item() + FLOOR

    m, b = sums(*data)
    centre = -m / b
    edges = centre * (1 + np.hypot(on_step.scale / m, on_gram.scale / b) * np.linspace(-8, 8, 257))

    def law(records):
        m, b = sums(*records)
        below = special.ndtr((m + edges * b) / np.hypot(on_step.scale, edges * on_gram.scale))
        return np.diff(np.concatenate([[0.0], below, [1.0]]))

    return Finite(law, [(data, neighbour)])


def preconditioned_pair() -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Return so many short records that a clipped gradient and a row of length 1 are the same share of g and of B.

    The neighbour has one record more, which pulls the other way.
    """
    short = 0.25
    number = round(FLOOR / (1 - short**2))
    data = np.full((number, 1), short), np.ones(number)
    return data, (np.append(data[0], [[1.0]], axis=0), np.append(data[1], -1.0))


@mutant("approximate minima without output noise, from a solver that tells", "kifer2012, K8", "replace", delta=1e-6)
def told_by_the_solver(broken: bool) -> Sampled:
    """Approximate minima perturbation without its output noise, and a solver that stops where it suits the data.

    Every point within the solver's target will do, and the exact minimiser's law leaks nothing here: this solver stops
    on a grid, and the record that differs moves the grid by half of its step. The twin adds the output noise that is
    made for such solvers.
    """
    loss = losses.huber(1.0)
    made = approximate_minima.calibrate(loss, pairs.UNIT, APPROXIMATE, n=2, p=1, gamma=0.05)
    case = pairs.linear(neighbours="replace", budget=APPROXIMATE, records=2)
    step = made.gradient_norm / made.curvature

    def draw(data, repeats, rng):
        X, y = data
        tilt = made.tilt.sample((repeats, 1), rng)
        exactly = newton.minimise(loss, X, y, ridge=made.curvature, tilt=tilt, tolerance=1e-9).theta
        shift = 0.5 * step if y[-1] > 0 else 0.0
        # Within step/2 of the minimiser: half of what the target allows.
        stopped = step * np.round((exactly - shift) / step) + shift
        return stopped if broken else stopped + made.output.sample((repeats, 1), rng)

    return Sampled(draw, case.data, case.neighbour)


def _inside_the_knee(curvature: float, law: SphericalLaplace) -> Finite:
    """Return a Huber record's pair with this Delta and noise, over the piece just inside its knee, below and above."""
    # The knee is reached by b = 0.
    knee = -1 / curvature
    record = np.ones((1, 1)), np.array([knee - 1])
    empty = np.zeros((0, 1)), np.zeros(0)
    parts = linear_targets.tilted(linear_targets.Problem(losses.huber(1.0), pairs.UNIT, curvature, TOLERANCE), law)
    ends = np.array([knee - 1e-4, knee])

    def pieces(data):
        below, above = parts["cdf"](ends, data)[0], parts["sf"](ends, data)[1]
        return np.array([below, 1 - below - above, above])

    return Finite(pieces, [(empty, record)])


def _exponential(weight: float) -> Finite:
    """Return the exponential mechanism with this weight at the pair of the tight one's attack."""
    data, neighbour = support.shifted(budget=ONE, neighbours="replace", calibration="tight")

    return Finite(lambda data: special.softmax(-weight * support.scores(*data, bound=1.0)), [(data, neighbour)])


def _descent(broken: bool, *, clipped: bool = True, shrunk: float = 1.0) -> Sampled:
    """Return `comparators.descent`, or a copy of its loop with what is not clipped, or with noise shrunk so much."""
    case, target, options, _ = comparators.descent("add_remove", APPROXIMATE)
    options = {**options, "steps": STEPS}
    noise = gradient.calibrate(comparators.CLIP, APPROXIMATE, steps=STEPS, neighbours="add_remove")
    # Five times the clipping norm, wherever theta may be: a loss whose force is constant.
    forces = (lambda y: np.sign(y)) if clipped else (lambda y: 5 * np.sign(y))

    def draw(data, repeats, rng):
        theta = np.zeros((repeats, 1))
        for _ in range(STEPS):
            z = Gaussian(noise.scale / shrunk).sample((repeats, 1), rng)
            theta = theta + comparators.ETA * (forces(data[1]).sum() - z)
        return theta

    fixed = {"budget": APPROXIMATE, "neighbours": "add_remove", "calibration": "tight", "options": options}
    whole = comparators.drawing("gradient", case, **fixed)
    law = Gaussian(comparators.ETA * noise.scale * np.sqrt(STEPS))

    def recovered(outputs, data):
        return outputs - comparators.ETA * STEPS * np.sign(data[1]).sum()

    return Sampled(replace(target, draw=draw if broken else whole, law=law, noise=recovered), case.data, case.neighbour)


MUTANTS = mutants_of(globals())
