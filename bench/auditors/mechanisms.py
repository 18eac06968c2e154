"""Twelve mechanisms, each with a pair of neighbours and the epsilon that it spends on that pair; NumPy alone.

Side 1 is `data`, side 0 its neighbour; neighbouring means that every query moves by at most 1 (of votes: one is
changed). `epsilon` is the least at which the pair keeps (epsilon, delta): from the densities in closed form, or, where
the noise is shared, with the probability of each output as an integral over the shared noise.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

# Queries of sparse vector, and of the noisy maximum: each moves by 1.
APART = {1: np.repeat([0.0, 1.0], 5), 0: np.repeat([1.0, 0.0], 5)}
LEADING = {1: np.array([0.0, 0, 0, 0, 1]), 0: np.array([1.0, 1, 1, 1, 0])}
ONE_LARGER = {1: np.array([1.0, 0, 0, 0, 0]), 0: np.array([0.0, 1, 1, 1, 1])}
VOTES = {1: np.array([6.0, 4, 4]), 0: np.array([5.0, 5, 4])}
DELTA = 0.01
# Cells of an integral over the shared noise, and how far they reach in its scales.
CELLS, REACH = 200_000, 45


@dataclass(frozen=True)
class Mechanism:
    """A mechanism on its pair; `score`, larger where `data` is likelier, is for tools that must be given one."""

    name: str
    draw: Callable[[int, int, np.random.Generator], np.ndarray]
    score: Callable[[np.ndarray], np.ndarray]
    epsilon: float
    delta: float = 0.0


def below(x, scale):
    """Return the probability that Laplace noise lies below x."""
    tail = np.exp(-np.abs(x) / scale) / 2
    return np.where(x < 0, tail, 1 - tail)


def laplace(scale, p=1):
    return lambda side, n, rng: rng.laplace(0, scale, (n, p)) + side * np.eye(p)[0]


def gaussian(mu):
    return lambda side, n, rng: rng.normal(size=(n, 1)) + side * mu


def labels(chances):
    return lambda side, n, rng: rng.choice(len(chances[side]), size=(n, 1), p=chances[side]).astype(float)


def sparse(queries, scale, stops):
    """Sparse vector with threshold noise Lap(2): all answers; or, if it stops, the place of the first "above"."""

    def draw(side, n, rng):
        q = queries[side]
        above = q + rng.laplace(0, scale, (n, len(q))) >= rng.laplace(0, 2, (n, 1))
        if not stops:
            return above.astype(float)
        return np.where(above.any(axis=1), above.argmax(axis=1), len(q))[:, None].astype(float)

    return draw


def maximum(queries, *, value):
    def draw(side, n, rng):
        noisy = queries[side] + rng.laplace(0, 2, (n, len(queries[side])))
        return noisy.max(axis=1, keepdims=True) if value else noisy.argmax(axis=1)[:, None].astype(float)

    return draw


def integral(function, scale=2.0):
    """Return the mean of function(x) over Laplace noise x, by the midpoint rule."""
    edges = np.linspace(-REACH * scale, REACH * scale, CELLS + 1)
    x = (edges[1:] + edges[:-1]) / 2
    return float(np.sum(function(x) * np.exp(-np.abs(x) / scale)) * (edges[1] - edges[0]) / (2 * scale))


def sparse_chances(side):
    """Return the probability of every vector of answers with a of the first and b of the last five "above"."""

    def chance(a, b):
        def given(threshold):
            first, last = (below(threshold - APART[side][place], 2) for place in (0, -1))
            return (1 - first) ** a * first ** (5 - a) * (1 - last) ** b * last ** (5 - b)

        return integral(given)

    return np.array([chance(a, b) for a in range(6) for b in range(6)])


def stopped_chances(side):
    """Return the probability that the first "above" is at each place, or nowhere."""
    q = LEADING[side]

    def before(threshold, k):
        return np.prod([below(threshold - q[j], 4) for j in range(k)], axis=0)

    first = [integral(lambda t, k=k: before(t, k) * (1 - below(t - q[k], 4))) for k in range(len(q))]
    return np.array([*first, integral(lambda t: before(t, len(q)))])


def maximum_chances(side):
    """Return the probability that each place has the largest noisy query."""
    q = ONE_LARGER[side]

    def wins(k):
        return integral(lambda x: np.prod([below(x + q[k] - q[j], 2) for j in range(len(q)) if j != k], axis=0))

    return np.array([wins(k) for k in range(len(q))])


def ratio(chances):
    """Return the largest logarithm of a ratio of probabilities."""
    return float(np.abs(np.log(chances(1)) - np.log(chances(0))).max())


def weights(side):
    return np.exp(VOTES[side]) / np.exp(VOTES[side]).sum()


def response(side):
    return np.where(np.arange(4) == side, math.e, 1.0) / (math.e + 3)


def bisected(function, low, high):
    """Return where a rising function crosses 0."""
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (low, middle) if function(middle) > 0 else (middle, high)
    return low


def gaussian_delta(mu, epsilon):
    """Return the least delta of N(mu, 1) against N(0, 1) at epsilon (Balle & Wang 2018, Theorem 8)."""

    def normal(x):
        return math.erfc(-x / math.sqrt(2)) / 2

    return normal(mu / 2 - epsilon / mu) - math.exp(epsilon) * normal(-mu / 2 - epsilon / mu)


@functools.cache
def mechanisms() -> tuple[Mechanism, ...]:
    """Return all twelve."""

    def output(outputs):
        return outputs[:, 0]

    def halves(outputs):
        return outputs[:, 5:].sum(axis=1) - outputs[:, :5].sum(axis=1)

    def zero(outputs):
        return (outputs[:, 0] == 0) * 1.0 - (outputs[:, 0] == 1)

    mu = bisected(lambda mu: gaussian_delta(mu, 1.0) - DELTA, 0.1, 3.0)
    doubled = bisected(lambda epsilon: DELTA - gaussian_delta(2 * mu, epsilon), 0.1, 9.0)
    votes, answers = ({side: law(side) for side in (0, 1)} for law in (weights, response))
    return (
        Mechanism("Laplace", laplace(1.0), output, 1.0),
        Mechanism("Laplace, half noise", laplace(0.5), output, 2.0),
        Mechanism("Gaussian", gaussian(mu), output, 1.0, DELTA),
        Mechanism("Gaussian, half noise", gaussian(2 * mu), output, doubled, DELTA),
        Mechanism("sparse vector without cutoff", sparse(APART, 2, stops=False), halves, ratio(sparse_chances)),
        Mechanism("correct sparse vector", sparse(LEADING, 4, stops=True), output, ratio(stopped_chances)),
        Mechanism("votes e^(epsilon count)", labels(votes), zero, ratio(weights)),
        Mechanism("8 noisy counts", laplace(1.0, 8), output, 1.0),
        Mechanism("8 noisy counts, half noise", laplace(0.5, 8), output, 2.0),
        Mechanism("noisy maximum, its place", maximum(ONE_LARGER, value=False), zero, ratio(maximum_chances)),
        # The maximum of five, each of which moves by 1: the density ratio is e^(5/2) wherever it is below 0.
        Mechanism("noisy maximum, its value", maximum({1: np.ones(5), 0: np.zeros(5)}, value=True), output, 2.5),
        Mechanism("randomised response, 4 answers", labels(answers), lambda outputs: -zero(outputs), ratio(response)),
    )
