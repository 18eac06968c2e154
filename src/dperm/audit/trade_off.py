r"""How well any test can tell two data sets apart, certified at many points at once: f-privacy from scores.

A test says "data" where a score reaches a threshold. Its false alarms, alpha, and its misses, beta, are two error
rates; T(alpha) is the least beta of all tests with at most alpha false alarms. A mechanism is f-private if T >= f for
all neighbours (Dong, Roth & Su 2022): (epsilon, delta) and mu-GDP are such claims.

The score and K thresholds for each side are chosen on two fifths of the draws. On the others, Clopper and Pearson's
limits, each with the share error/(4 K), hold at once: alpha <= alpha_k and beta <= beta_k at all 2 K points. f falls,
so T >= f would give f(alpha_k) <= beta_k: a claim f is refuted where one point lies below it. The points also give

    epsilon >= log((1 - delta - beta_k)/alpha_k) for every delta at once,    mu >= Phi^-1(1 - beta_k) - Phi^-1(alpha_k).

Neighbouring relation: that of the pair which was drawn from.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from dperm.audit import events, floating
from dperm.audit.bounds import lower_probability, upper_probability
from dperm.audit.sampling import BATCH, CHOOSING, DRAWN, LEAST_DRAWS, Mechanism, outputs
from dperm.domain import integer, number

# Thresholds of a score, and the least share of the draws that may lie beyond the outer ones.
_THRESHOLDS, _THINNEST = 24, 5
_TINY = 1e-300


@dataclass(frozen=True)
class TradeOff:
    """Certified points of a trade-off function, from both directions of a pair; all hold at once.

    Parameters
    ----------
    alpha, beta : ndarray, shape (m,)
        T(alpha) <= beta: a test has at most these false alarms and at most these misses.
    likelier : tuple of str
        For each point, the side that the test reports: "data", or "neighbour".
    score : str
        What the tests look at, in words.
    confidence : float
    """

    alpha: np.ndarray
    beta: np.ndarray
    likelier: tuple[str, ...]
    score: str
    confidence: float

    def epsilon(self, delta: float) -> float:
        """Return the lower bound on epsilon at this delta; the bounds for all deltas hold at once.

        Parameters
        ----------
        delta : float
            In [0, 1).

        Returns
        -------
        float
            0 or above.
        """
        number("delta", delta, 0, 1, ends="[)", remedy="take 0 for pure privacy")
        gained = np.maximum(1 - delta - self.beta, _TINY)
        return max(0.0, float(np.log(gained / self.alpha).max()))

    @property
    def mu(self) -> float:
        """A lower bound on mu, 0 or above, if the claim is mu-GDP; it needs no model."""
        return max(0.0, float((special.ndtri(1 - self.beta) - special.ndtri(self.alpha)).max()))

    def refutes(self, f: Callable[[np.ndarray], np.ndarray]) -> bool:
        """Say whether a claim of f-privacy is refuted.

        Parameters
        ----------
        f : callable
            The trade-off function claimed: alpha, shape (m,) -> the least beta, in [0, 1 - alpha], never rising.
        """
        return bool((np.asarray(f(self.alpha)) > self.beta).any())


def gaussian(mu: float) -> Callable[[np.ndarray], np.ndarray]:
    """Return the trade-off function of mu-GDP, Phi(Phi^-1(1 - alpha) - mu).

    Parameters
    ----------
    mu : float
        0 or above.
    """
    return lambda alpha: special.ndtr(-special.ndtri(np.asarray(alpha)) - mu)


def pure_or_approximate(epsilon: float, delta: float) -> Callable[[np.ndarray], np.ndarray]:
    """Return the trade-off function of (epsilon, delta)-privacy (Dong, Roth & Su 2022, Proposition 2.5).

    Parameters
    ----------
    epsilon, delta : float
    """

    def f(alpha):
        alpha = np.asarray(alpha)
        steep, flat = 1 - delta - np.exp(epsilon) * alpha, np.exp(-epsilon) * (1 - delta - alpha)
        return np.maximum(0.0, np.maximum(steep, flat))

    return f


def points(
    mechanism: Mechanism,
    data: Any,
    neighbour: Any,
    *,
    draws: int,
    confidence: float = 0.95,
    rng: np.random.Generator,
) -> TradeOff:
    """Attack a mechanism with two neighbouring data sets and return certified points of its trade-off function.

    Parameters
    ----------
    mechanism : callable
        As for `lower_bound`.
    data, neighbour : object
        Neighbours under the claim's relation.
    draws : int
        A side, at least 100.
    confidence : float
        In (0, 1): of all points together.
    rng : Generator

    Raises
    ------
    ValueError
        If an argument is outside its range, or the outputs are no finite numbers of one shape.
    """
    draws = integer("draws", draws, LEAST_DRAWS, DRAWN)
    number("confidence", confidence, 0, 1, remedy="0.95 is usual")
    streams = rng.spawn(4)
    choosing = int(CHOOSING * draws)
    first, second = (
        np.concatenate(list(outputs(mechanism, value, choosing, stream, BATCH)))
        for value, stream in ((data, streams[0]), (neighbour, streams[1]))
    )
    steps = floating.grid(first, second)
    first, second = floating.rounded(first, steps), floating.rounded(second, steps)
    chosen = events.choose(
        first, second, mechanism=mechanism, data=data, neighbour=neighbour, extra=(), raw=False, delta=0.0,
        confidence=confidence, model="none",
    )  # fmt: skip
    seen = {
        side: _evaluated(chosen.score, mechanism, value, draws - choosing, stream, steps)
        for side, value, stream in (("data", data, streams[2]), ("neighbour", neighbour, streams[3]))
    }
    sign = 1.0 if chosen.first == "data" else -1.0
    thresholds = _thresholds(sign * np.concatenate([chosen.score(first), chosen.score(second)]))
    error = (1 - confidence) / (4 * len(thresholds))
    tries = draws - choosing
    alpha, beta, likelier = [], [], []
    # "data" where the score is large, "neighbour" where it is small.
    for side, other, way in (("data", "neighbour", 1.0), ("neighbour", "data", -1.0)):
        for threshold in thresholds:
            right, wrong = (int((way * sign * seen[which] >= way * threshold).sum()) for which in (side, other))
            alpha.append(float(upper_probability(wrong, tries, error)))
            beta.append(1 - float(lower_probability(right, tries, error)))
            likelier.append(side)
    return TradeOff(np.array(alpha), np.array(beta), tuple(likelier), chosen.words, confidence)


def _thresholds(scores: np.ndarray) -> np.ndarray:
    thin = min(_THINNEST / len(scores), 0.5)
    tail = np.geomspace(thin, 0.5, _THRESHOLDS // 2)
    return np.unique(np.quantile(scores, np.concatenate([tail, 1 - tail]), method="inverted_cdf"))


def _evaluated(score, mechanism, data, repeats, rng, steps) -> np.ndarray:
    return np.concatenate(
        [score(floating.rounded(some, steps)) for some in outputs(mechanism, data, repeats, rng, BATCH)]
    )
