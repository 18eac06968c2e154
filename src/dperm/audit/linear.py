"""Attacks on the private linear models: every relation, noise law and budget of one mechanism at one pair family."""

from collections.abc import Mapping
from typing import Any

from dperm import losses, mechanisms, seeds
from dperm.audit import line, pairs, sampling, search, targets, white_box
from dperm.domain import Budget
from dperm.noise import Gaussian

# Releases whose noise is recovered and tested: enough to see noise that is a fifth too small.
WHITE_BOX = 200
SAMPLING = "sampling"
GAUSSIAN = "sampling, assuming a Gaussian trade-off (model-based)"
EXACT = "exact law on a line"
# Mechanisms that add their noise to a vector: with Gaussian noise, their trade-off curve is a Gaussian's.
_ADDITIVE = ("output",)


def run(job: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of one job, one for each of its budgets.

    Parameters
    ----------
    job : mapping
        `paper`, `mechanism`, `calibration`, `pair`, `rows` (neighbours, variant, epsilon, delta), `draws`,
        `confidence`, `seed`.

    Returns
    -------
    list of dict
        Columns of `dperm.audit.attacks.ATTACKS`.
    """
    return [_attack(job, row) for row in job["rows"]]


def _attack(job: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
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
    if job["pair"] == "line":
        found = line.lower_bound(target, case.data, case.neighbour, delta=budget.delta)
        return record | {
            "attack": EXACT,
            "model": "none",
            "likelier": found.likelier,
            "event": found.event,
            "draws": 0,
            "exact_bound": found.epsilon,
            "probability": found.probability,
            "other_probability": found.other_probability,
        }
    gaussian = job["mechanism"] in _ADDITIVE and isinstance(target.law, Gaussian)
    found = sampling.lower_bound(
        target,
        case.data,
        case.neighbour,
        draws=job["draws"],
        delta=budget.delta,
        confidence=job["confidence"],
        rng=rng("draws"),
        model="gaussian" if gaussian else "none",
    )
    counts = found.counts
    return record | {
        "attack": GAUSSIAN if gaussian else SAMPLING,
        "model": found.model,
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
    )
