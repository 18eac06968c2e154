"""Attacks on the private linear models: every relation, noise law and budget of one mechanism at one pair family."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dperm import losses, mechanisms
from dperm.audit import columns, constrained, jobs, linear_targets, pairs, random_search, solver_error, white_box
from dperm.domain import Budget
from dperm.errors import ConfigError
from dperm.noise import Gaussian

PAIRS = ("saturating", "pulled", "knee", "line", "linear", "random", "edge", "sixteen")
# Releases whose noise is recovered and tested: enough to see noise that is a fifth too small.
WHITE_BOX = 200
# Mechanisms that add their noise to a vector: with Gaussian noise, their trade-off curve is a Gaussian's.
_ADDITIVE = ("output",)


def run(job: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of one job, one for each attack on each of its budgets.

    ConfigError if a row's `variant` is not the law that its delta calls for, or what stands beside the noise is not
    known.
    """
    rows = []
    for row in job["rows"]:
        law, (noise, _, beside) = "gaussian" if row["delta"] else "gamma", row["variant"].partition("_")
        if noise != law:
            raise ConfigError(
                f"config/audits.yaml: variant {row['variant']!r} of {job['mechanism']!r} at delta={row['delta']:g}: "
                f"the noise is {law!r} there; write that, or change delta"
            )
        # A pair is one of the plain problems, or of those with a regularizer, a set or output noise besides.
        if bool(beside) == (job["pair"] in constrained.PAIRS):
            rows.append(row)
    return [record for row in rows for record in _attack_of(job, row)(job, row)]


def _attack_of(job: Mapping[str, Any], row: Mapping[str, Any]) -> Callable[..., Iterator[dict[str, Any]]]:
    """Return what attacks a row."""
    if row["variant"] == solver_error.VARIANT:
        # One feature: nothing is sampled with sixteen.
        return solver_error.attacks if job["pair"] == "edge" else lambda job, row: iter(())
    return constrained.attacks if job["pair"] in constrained.PAIRS else _attacks


def _attacks(job: Mapping[str, Any], row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Give the attacks on one budget: by sampling, and exactly where the output lies on a line."""
    budget = Budget(row["epsilon"], row["delta"])
    names = (job["mechanism"], job["calibration"], job["pair"], row["neighbours"], budget.epsilon, budget.delta)
    rng = jobs.generators(job, *names)
    fixed = {"budget": budget, "neighbours": row["neighbours"], "calibration": job["calibration"]}
    case = _case(job, fixed, rng("pair"))
    problem = {"loss": case.loss, "domain": case.domain, "curvature": case.curvature, **fixed}
    target = linear_targets.target(job["mechanism"], **problem)
    release = mechanisms.module(job["mechanism"]).release(*case.data, **problem, rng=rng("noise"), repeats=WHITE_BOX)
    noise = target.noise(release.theta, case.data)
    record = {
        **columns.head(job, row),
        "guarantee": release.guarantee,
        "loss": case.loss.name,
        "pair_words": case.words,
        "white_box_p": white_box.noise_test(noise, target.law).p_value,
    }
    pair = case.data, case.neighbour
    if case.data[0].shape[1] == 1:
        yield record | columns.on_a_line(target, *pair, delta=budget.delta)
    # The events of a pair that is placed for exact attacks are too thin to be sampled.
    if job["pair"] not in ("line", "pulled"):
        additive = job["mechanism"] in _ADDITIVE and isinstance(target.law, Gaussian)
        fixed = {"delta": budget.delta, "draws": job["draws"], "confidence": job["confidence"]}
        model = "gaussian" if additive else "none"
        yield record | columns.sampled(target, *pair, **fixed, rng=rng("draws"), model=model)


def _case(job: Mapping[str, Any], fixed: Mapping[str, Any], rng: Any) -> pairs.Case:
    if job["pair"] != "random":
        return pairs.PAIRS[job["pair"]](**fixed)
    loss = losses.huber(1.0)
    least = 2 * loss.curvature_bound(pairs.UNIT) / fixed["budget"].epsilon

    def make_target(curvature):
        return linear_targets.target(job["mechanism"], loss=loss, domain=pairs.UNIT, curvature=curvature, **fixed)

    return random_search.random_search(
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
