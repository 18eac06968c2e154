"""A small random search for telling pairs: a check on the reasoning of `pairs`, and a start for new mechanisms."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from dperm.audit.linear_targets import LinearData, joined
from dperm.audit.pairs import Case
from dperm.audit.target import Target
from dperm.domain import Domain, Neighbours, one_of
from dperm.losses import Loss


def random_search(
    make_target: Callable[[float], Target],
    *,
    loss: Loss,
    domain: Domain,
    curvatures: Sequence[float],
    neighbours: Neighbours,
    rng: np.random.Generator,
    candidates: int = 100,
    draws: int = 2_000,
    delta: float = 0.0,
    features: int = 2,
    records: int = 6,
) -> Case:
    r"""Return the most telling of some random pairs, in the sense of `reach`.

    Candidates: up to `records` others, with rows of any length in the ball, and a differing record (or two) of full
    length; targets from small to extreme; one of the curvatures. The score is what the exact log-likelihood ratio L can
    certify, estimated from few draws of the likelier side: the largest log((P(S) - delta)/Q(S)) over S = {L >= t}, with
    Q(S) = E[e^{-L}; S] and both moved by two standard errors. All candidates meet the same seed, and share its luck.

    `make_target` maps Delta, at least what the mechanism allows, to a Target for this loss, domain and relation;
    ValueError if one has no `log_density`, or there is nothing to try.
    """
    one_of("neighbours", neighbours, Neighbours)
    if candidates < 1 or not len(curvatures):
        raise ValueError(f"candidates={candidates}, curvatures={curvatures!r}: there must be something to try")
    made = {curvature: make_target(curvature) for curvature in curvatures}
    if any(target.log_density is None for target in made.values()):
        raise ValueError("random_search scores by the log-likelihood ratio: give targets with a log_density")
    seed = int(rng.integers(2**32))
    best, highest = None, -math.inf
    for _ in range(candidates):
        curvature = curvatures[rng.integers(len(curvatures))]
        others = int(rng.integers(records + 1))
        common = _random_records(loss, domain, others, features, rng, full=False)
        first = joined(common, _random_records(loss, domain, 1, features, rng, full=True))
        second = common
        if neighbours == "replace":
            second = joined(common, _random_records(loss, domain, 1, features, rng, full=True))
        score = reach(made[curvature], second, first, draws=draws, delta=delta, rng=np.random.default_rng(seed))
        if score > highest:
            highest = score
            words = (
                f"random search, best of {candidates}: {others} others, x = {_words(first[0][-1])}, "
                f"y = {first[1][-1]:.4g}, curvature {curvature:.4g}"
            )
            best = Case(words, loss, domain, curvature, second, first)
    return best


def reach(
    target: Target,
    data: LinearData,
    neighbour: LinearData,
    *,
    draws: int,
    delta: float = 0.0,
    rng: np.random.Generator,
) -> float:
    r"""Return roughly what the exact log-likelihood ratio could certify for this pair; an estimate, not a bound.

    The target has a `log_density`.
    """
    best = 0.0
    for likelier, other in ((data, neighbour), (neighbour, data)):
        outputs = target(likelier, draws, rng)
        ratio = target.log_density(outputs, likelier) - target.log_density(outputs, other)
        weight = np.exp(-np.sort(ratio)[::-1])
        p = np.arange(1, draws + 1) / draws
        q, squares = np.cumsum(weight) / draws, np.cumsum(weight**2) / draws
        low = p - delta - 2 * np.sqrt(p * (1 - p) / draws) - 1 / draws
        high = q + 2 * np.sqrt(np.maximum(squares - q**2, 0) / draws) + 1 / draws
        best = max(best, float(np.log(np.maximum(low, 1e-300) / high).max()))
    return best


def _random_records(
    loss: Loss, domain: Domain, count: int, features: int, rng: np.random.Generator, *, full: bool
) -> LinearData:
    """Draw records within the domain; `full`: rows of full length, but for rounding."""
    rows = rng.standard_normal((count, features))
    lengths = 1.0 if full else rng.uniform(0.0, 1.0, (count, 1))
    X = (1 - 1e-12) * domain.x_norm * lengths * rows / np.linalg.norm(rows, axis=1, keepdims=True)
    if loss.targets == "binary":
        return X, rng.choice([-1.0, 1.0], count)
    # From a tenth to a thousand, in units of theta's margins at x_norm 1: within reach of the noise, and beyond.
    y = 10.0 ** rng.uniform(-1, 3, count)
    y = np.ceil(y) if loss.targets == "count" else y * rng.choice([-1.0, 1.0], count)
    bound = math.inf if domain.y_bound is None else domain.y_bound
    return X, np.clip(y, -bound, bound)


def _words(x: np.ndarray) -> str:
    return "(" + ", ".join(f"{value:.3g}" for value in x) + ")"
