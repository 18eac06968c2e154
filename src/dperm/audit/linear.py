"""Attacks on the private linear models: every relation, noise law and budget of one mechanism at one pair family."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dperm import losses, mechanisms, seeds
from dperm.audit import line, pairs, sampling, search, targets, white_box
from dperm.audit.bounds import Model
from dperm.audit.target import Target
from dperm.domain import Budget
from dperm.errors import ConfigError
from dperm.noise import Gaussian

# Releases whose noise is recovered and tested: enough to see noise that is a fifth too small.
WHITE_BOX = 200
SAMPLING = "sampling"
GAUSSIAN = "sampling, assuming a Gaussian trade-off (model-based)"
EXACT = "exact law on a line"
# Mechanisms that add their noise to a vector: with Gaussian noise, their trade-off curve is a Gaussian's.
_ADDITIVE = ("output",)


def run(job: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of one job, one for each attack on each of its budgets.

    Parameters
    ----------
    job : mapping
        `paper`, `mechanism`, `calibration`, `pair`, `rows` (neighbours, variant, epsilon, delta), `draws`,
        `confidence`, `seed`.

    Returns
    -------
    list of dict
        Columns of `dperm.audit.attacks.ATTACKS`.

    Raises
    ------
    ConfigError
        If a row's `variant` is not the law that its delta calls for.
    """
    for row in job["rows"]:
        law = "gaussian" if row["delta"] else "gamma"
        if row["variant"] != law:
            raise ConfigError(
                f"config/audits.yaml: variant {row['variant']!r} of {job['mechanism']!r} at delta={row['delta']:g}: "
                f"the noise is {law!r} there; write that, or change delta"
            )
    return [record for row in job["rows"] for record in _attacks(job, row)]


def _attacks(job: Mapping[str, Any], row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Give the attacks on one budget: by sampling, and exactly where the output lies on a line."""
    budget = Budget(row["epsilon"], row["delta"])
    names = (job["mechanism"], job["calibration"], job["pair"], row["neighbours"], budget.epsilon, budget.delta)

    def rng(what):
        return seeds.generator(job["seed"], "audit", *names, what)

    fixed = {"budget": budget, "neighbours": row["neighbours"], "calibration": job["calibration"]}
    case = _case(job, fixed, rng("pair"))
    problem = {"loss": case.loss, "domain": case.domain, "curvature": case.curvature, **fixed}
    target = targets.target(job["mechanism"], **problem)
    release = mechanisms.module(job["mechanism"]).release(*case.data, **problem, rng=rng("noise"), repeats=WHITE_BOX)
    noise = target.noise(release.theta, case.data)
    record = {
        **{key: job[key] for key in ("paper", "mechanism", "calibration", "pair")},
        **{key: row[key] for key in ("neighbours", "variant", "epsilon", "delta")},
        "guarantee": release.guarantee,
        "loss": case.loss.name,
        "pair_words": case.words,
        "white_box_p": white_box.noise_test(noise, target.law).p_value,
    }
    if case.data[0].shape[1] == 1:
        yield record | _exact(target, case, budget.delta)
    # The events of a pair that is placed for exact attacks are too thin to be sampled.
    if job["pair"] != "line":
        gaussian = job["mechanism"] in _ADDITIVE and isinstance(target.law, Gaussian)
        yield record | _sampled(target, case, budget.delta, job, "gaussian" if gaussian else "none", rng("draws"))


def _exact(target: Target, case: pairs.Case, delta: float) -> dict[str, Any]:
    found = line.lower_bound(target, case.data, case.neighbour, delta=delta)
    return {
        "attack": EXACT,
        "model": "none",
        "likelier": found.likelier,
        "event": found.event,
        "draws": 0,
        "exact_bound": found.epsilon,
        "probability": found.probability,
        "other_probability": found.other_probability,
    }


def _sampled(
    target: Target, case: pairs.Case, delta: float, job: Mapping[str, Any], model: Model, rng: np.random.Generator
) -> dict[str, Any]:
    found = sampling.lower_bound(
        target,
        case.data,
        case.neighbour,
        draws=job["draws"],
        delta=delta,
        confidence=job["confidence"],
        rng=rng,
        model=model,
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


def _case(job: Mapping[str, Any], fixed: Mapping[str, Any], rng: Any) -> pairs.Case:
    if job["pair"] != "random":
        return pairs.PAIRS[job["pair"]](**fixed, rng=rng)
    loss = losses.huber(1.0)
    least = 2 * loss.curvature_bound(pairs.UNIT) / fixed["budget"].epsilon

    def make_target(curvature):
        return targets.target(job["mechanism"], loss=loss, domain=pairs.UNIT, curvature=curvature, **fixed)

    return search.random_search(
        make_target,
        loss=loss,
        domain=pairs.UNIT,
        # The least that Algorithm 1 allows, where the determinant counts most, and much more, where it hardly does.
        curvatures=[least, 10 * least],
        neighbours=fixed["neighbours"],
        delta=fixed["budget"].delta,
        rng=rng,
        # In step with the attack's own draws.
        candidates=min(100, job["draws"] // 200),
        draws=min(2_000, job["draws"] // 4),
    )
