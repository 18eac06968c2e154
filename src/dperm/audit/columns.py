"""What one attack on one pair found, as columns of its row: by sampling, or exactly (of a line, outcomes, losses)."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from scipy import special

from dperm.audit import exact, line, sampling
from dperm.audit.bounds import Model
from dperm.audit.events import Event
from dperm.audit.target import Target
from dperm.laws.privacy_loss import PrivacyLoss
from dperm.noise import Gaussian

SAMPLING = "sampling"
GAUSSIAN = "sampling, assuming a Gaussian trade-off (model-based)"
EXACT = "exact law on a line"
FINITE = "exact probabilities of all outcomes"
BRACKET = "exact law on a line, as called"
LOSSES = "exact law of the privacy loss"


def on_a_line(target: Target, data: Any, neighbour: Any, *, delta: float) -> dict[str, Any]:
    """Return the exact attack on outputs on a line (target: with `cdf` and `sf`)."""
    return _certain(EXACT, line.lower_bound(target, data, neighbour, delta=delta))


def over_outcomes(law: Callable[[Any], np.ndarray], data: Any, neighbour: Any, *, delta: float) -> dict[str, Any]:
    """Return the exact attack on a mechanism with finitely many outcomes; `law` maps data to their probabilities."""
    return of_finite(exact.exact(law, [(data, neighbour)], delta=delta))


def of_finite(found: exact.ExactAudit) -> dict[str, Any]:
    """Return an audit over finite outcomes that is already made."""
    return _certain(FINITE, found)


def of_bracket(found: exact.ExactAudit) -> dict[str, Any]:
    """Return an audit by brackets of a released number that is already made."""
    return _certain(BRACKET, found)


def of_losses(forth: PrivacyLoss, back: PrivacyLoss, delta: float, words: str) -> dict[str, Any]:
    """Return the better direction of the losses of data against neighbour and back; `words` say what the loss is of."""
    found, likelier = forth.epsilon(delta), "data"
    other = back.epsilon(delta)
    if other.epsilon > found.epsilon:
        found, likelier = other, "neighbour"
    event = f"{words} spends {found.least:.4g} or more"
    return certain(LOSSES, likelier, event, found.epsilon, found.probability, found.other_probability)


def sampled(
    target: Target,
    data: Any,
    neighbour: Any,
    *,
    delta: float,
    draws: int,
    confidence: float,
    rng: np.random.Generator,
    model: Model = "none",
    events: Iterable[Event] = (),
) -> dict[str, Any]:
    """Return the attack by sampling (events: scores to be tried besides the sampler's own)."""
    found = sampling.lower_bound(
        target, data, neighbour, draws=draws, delta=delta, confidence=confidence, rng=rng, model=model, events=events
    )
    counts = found.counts
    return {
        "attack": GAUSSIAN if model == "gaussian" else SAMPLING,
        "model": model,
        "likelier": found.likelier,
        "event": found.event,
        "draws": found.draws,
        "hits": counts.hits,
        "tries": counts.tries,
        "other_hits": counts.other_hits,
        "other_tries": counts.other_tries,
    }


def noise_behind(
    target: Target, outputs: np.ndarray, data: Any, rng: np.random.Generator, *, near: float = 0.0
) -> np.ndarray:
    """Return noise of the law that is said to be behind outputs on a line, if their own law is what it is said to be.

    With V uniform, F(output-) + V (F(output) - F(output-)) is uniform for any distribution function F of the
    outputs, atoms and all, and the noise's quantile of it has the noise's law. The target has `law`, `cdf`, `sf`
    and `atoms`. An output this `near` to an atom is the atom: what a solver makes of it.
    """
    theta = np.ravel(outputs)
    for point in target.atoms:
        theta = np.where(np.abs(theta - point) <= near, point, theta)
    below = np.where(np.isin(theta, target.atoms), np.nextafter(theta, -np.inf), theta)
    share = rng.random(len(theta))
    # Either tail from its own function, so that neither loses its digits.
    lower = (1 - share) * target.cdf(below, data) + share * target.cdf(theta, data)
    upper = (1 - share) * target.sf(below, data) + share * target.sf(theta, data)
    z = np.where(lower <= upper, _quantile(target.law, lower), -_quantile(target.law, upper))
    return target.law.scale * z[:, None]


def _quantile(law: Any, level: np.ndarray) -> np.ndarray:
    """Return z with P(noise/scale <= z) = level in one dimension, for levels up to one half."""
    level = np.minimum(level, 0.5)
    return special.ndtri(level) if isinstance(law, Gaussian) else np.log(2 * level)


def head(job: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what names an attack: the job's mechanism and pair, and the row's claim."""
    return {
        **{key: job[key] for key in ("paper", "mechanism", "calibration", "pair")},
        **{key: row[key] for key in ("neighbours", "variant", "epsilon", "delta")},
    }


def _certain(attack: str, found: line.LineAudit | exact.ExactAudit) -> dict[str, Any]:
    return certain(attack, found.likelier, found.event, found.epsilon, found.probability, found.other_probability)


def certain(
    attack: str, likelier: str, event: str, epsilon: float, probability: float, other_probability: float
) -> dict[str, Any]:
    """Return an attack whose event has these probabilities, known without sampling."""
    return {
        "attack": attack,
        "model": "none",
        "likelier": likelier,
        "event": event,
        "draws": 0,
        "exact_bound": epsilon,
        "probability": probability,
        "other_probability": other_probability,
    }
