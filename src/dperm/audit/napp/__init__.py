"""Attacks on NAPP-ERM (li2021, Theorem 4, Section 3.7), each made for the step of the proof that it breaks.

Pair families. `line`: one feature, where every law is known; attacks are exact (`cases`, `iterated`), but for recycled
VS and VS+, which are sampled; the mechanism's own draws are held against the law. `sixteen`: the small ball at 0 with
2 and 16 features, exactly, and the mechanism's own code sampled with 16 (`ball`), VS in an orthant with 2 (`planar`).

Variants are those of the experiments' rows: erm, vs, vs_plus, "-moor" where the floor and the target share one weight;
delta = 0 has spherical noise, delta > 0 Gaussian. After it may stand: "-t80", theta^(80) is released; "-recycled", one
round; "-returned", where the row's epsilon is what is claimed after the return; "-orthant", within one; and data or
bounds ("-unclipped", "-unscaled"; their valid forms "-clipped", "-scaled"), or the SVM's loss ("-hinge").

Draws are the mechanism's own releases, and a row's guarantee is what the mechanism states of them; a corrected or tight
row that it does not state as proved is an error. Only T steps and printed recycling, which `release` cannot show with
given noise, are drawn from the solvers.

Neighbouring relation: add/remove; replace-one for the corrected and tight "erm", on a line.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from dperm.audit import columns, jobs, white_box
from dperm.audit.events import Event
from dperm.audit.napp import ball, cases, iterated, planar, replace_one
from dperm.audit.napp import problem as line
from dperm.audit.target import Target
from dperm.domain import Budget
from dperm.errors import ConfigError, DataError

PAIRS = ("line", "sixteen")
# Steps, and with MOOR or without.
STEPS = {"erm-t80": (80, False), **{f"erm-moor-t{number}": (number, True) for number in (1, 80, 400)}}
RETURNED = {"erm-returned": False, "erm-moor-returned": True}
RECYCLED = "erm-moor-recycled"
# Recycled too, by sampling: the variant whose pair it is, and what that pair shows.
REDRAWN = {
    "vs-moor-recycled": ("vs", Event("1 if theta < 0, else 0:", lambda outputs: (outputs[:, 0] < 0).astype(float))),
    "vs_plus-moor-recycled": (
        "vs_plus", Event("1 if theta > 0, else 0:", lambda outputs: (outputs[:, 0] > 0).astype(float))
    ),
}  # fmt: skip
PRINTED = (*cases.PRINTED, *STEPS, *RETURNED, RECYCLED, *REDRAWN)
CORRECTED = (*cases.CORRECTED, "erm-returned")
# `tight` has no share to return: a stronger ridge is spent on the noise.
TIGHT = tuple(cases.CORRECTED)
KNOWN = {"paper": PRINTED, "corrected": CORRECTED, "tight": TIGHT}
# Draws that are held against their law: so many where a million are counted, fewer where fewer are.
WHITE_BOX, _WHITE_BOX_STEPS, _LEAST_WHITE_BOX = 1_000, 200, 40
# Draws of recycling by the solver: the event is impossible on one side, and not rare on the other.
MOST_REDRAWN = 4_000
_FEATURES = (2, 16)


def run(job: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of one job.

    ConfigError if a row's variant is none of the calibration's under its neighbours; DataError if a corrected or
    tight row claims what the mechanism does not state.
    """
    for row in job["rows"]:
        turned = () if job["calibration"] == "paper" else tuple(replace_one.VARIANTS)
        known = {"add_remove": KNOWN[job["calibration"]], "replace": turned}[row["neighbours"]]
        if row["variant"] not in known:
            raise ConfigError(
                f"config/audits.yaml: variant {row['variant']!r}, {row['neighbours']} of 'napp', {job['calibration']}: "
                f"attacks are for {', '.join(known) or 'add_remove'}"
            )
    attack = _on_a_line if job["pair"] == "line" else _sixteen
    return [record for row in job["rows"] for record in attack(job, row)]


def _on_a_line(job: Mapping[str, Any], row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Give the attacks on one budget with one feature; the strongest for each variant's kind of pair."""
    budget, calibration, name = Budget(row["epsilon"], row["delta"]), job["calibration"], row["variant"]
    rng = _rng(job, row)
    record = {**columns.head(job, row), "loss": "squared"}
    if name in STEPS:
        number, moor = STEPS[name]
        made = iterated.steps(cases.wide(budget, calibration, moor=moor), number)
        # theta^(1) is the minimiser with a ridge Lambda0: objective perturbation. Of later steps nothing is stated.
        ridge = replace(made.problem, target="ridge", moor=False, strength=made.problem.floor)
        guarantee = guaranteed(ridge, budget) if number == 1 else "none"
        record |= {"guarantee": guarantee, "pair_words": "gap: (1, 0) beside (0, 0)"}
        noise = _noise(job, made.target(), CURVED, rng, _WHITE_BOX_STEPS)
        yield record | iterated.attack(made, delta=budget.delta) | noise
    elif name == RECYCLED:
        made = iterated.recycled(cases.wide(budget, calibration, moor=True))
        guarantee = guaranteed(replace(made.problem, retrieval="recycle"), budget)
        record |= {"guarantee": guarantee, "pair_words": "gap: (1, 0) beside (0, 0), one round"}
        yield record | iterated.attack(made, delta=budget.delta) | _noise(job, made.target(), CURVED, rng)
    elif name in REDRAWN:
        # The box of VS is on both sides of 0, and far away.
        variant, event = REDRAWN[name]
        (pair,) = cases.PRINTED[variant].pairs(budget, calibration)
        made = replace(pair.problem, moor=True, box=None)
        record |= {
            "guarantee": guaranteed(replace(made, retrieval="recycle"), budget),
            "pair_words": f"{pair.words}, one round",
        }
        yield record | columns.sampled(
            iterated.redrawn(made), pair.data, pair.neighbour, delta=budget.delta,
            draws=min(job["draws"], MOST_REDRAWN), confidence=job["confidence"], rng=rng("draws"), events=(event,),
        )  # fmt: skip
    elif name in RETURNED:
        ridge = calibration != "paper"
        tried = iterated.returned(budget.epsilon, budget.delta, calibration, moor=RETURNED[name], ridge=ridge)
        (pair, found) = max(tried, key=lambda entry: entry[1]["exact_bound"])
        probe = cases.PROBES["squared"] if ridge else CURVED
        claim = pair.problem if ridge else replace(pair.problem, retrieval="return")
        record |= {"guarantee": guaranteed(claim, budget), "pair_words": pair.words}
        yield record | found | _noise(job, line.target(pair.problem), probe, rng)
    else:
        variant = replace_one.VARIANTS[name] if row["neighbours"] == "replace" else cases.find(name, calibration)
        pairs = variant.pairs(budget, calibration)
        tried = [
            (pair, columns.on_a_line(line.target(pair.problem), pair.data, pair.neighbour, delta=budget.delta))
            for pair in pairs
        ]
        pair, found = max(tried, key=lambda entry: entry[1]["exact_bound"])
        probe = variant.probe(budget, calibration)
        record |= {
            "guarantee": guaranteed(pair.problem, budget),
            "loss": pair.problem.loss,
            "pair_words": pair.words,
        }
        yield record | found | _noise(job, line.target(probe), cases.PROBES[probe.loss], rng)


# What `iterated` knows, with a record without features whose loss is not 0: the solver's gap is relative to the whole.
CURVED = cases.NOBODY.and_one(1.0, 0.0).and_one(0.0, 1.0)


def _noise(job: Mapping[str, Any], target: Target, data: Any, rng: Callable, most: int | None = None) -> dict[str, Any]:
    """Return whether the mechanism's own draws have the law (most: of them; None for `WHITE_BOX`)."""
    repeats = min(most or WHITE_BOX, max(_LEAST_WHITE_BOX, job["draws"] // 400))
    outputs = target.draw(data, repeats, rng("noise"))
    behind = columns.noise_behind(target, outputs, data, rng("atoms"), near=iterated.NEAR)
    return {"white_box_p": white_box.noise_test(behind, target.law).p_value}


def _sixteen(job: Mapping[str, Any], row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Give the attacks on one budget with 2 and 16 features; none for variants that a line shows."""
    rng = _rng(job, row)
    if row["variant"] == "vs-orthant":
        guarantee = planar.guaranteed(row, job["calibration"])
        record = {**columns.head(job, row), "guarantee": guarantee, "loss": "squared", "pair_words": planar.WORDS}
        yield record | planar.drawn(row, job["calibration"], job["draws"], job["confidence"], rng("draws"))
        return
    table = ball.PRINTED if job["calibration"] == "paper" else ball.CORRECTED
    if row["variant"] not in table or row["neighbours"] == "replace":
        return
    budget = Budget(row["epsilon"], row["delta"])
    problem = table[row["variant"]].make(budget, job["calibration"])
    record = {**columns.head(job, row), "guarantee": guaranteed(problem, budget), "loss": problem.loss}
    if row["variant"] == "erm" and budget.delta == 0:
        for features in _FEATURES:
            words = f"ball: theta near 0, with (e_1, 1), {features} features, ridge"
            yield record | {"pair_words": words} | ball.exact_ball(budget, job["calibration"], features)
    words, found = ball.drawn(row, job["calibration"], job["draws"], job["confidence"], rng("draws"))
    yield record | {"pair_words": words} | found


def guaranteed(problem: line.Problem, claim: Budget) -> str:
    """Return what the mechanism states for as many features as in li2021's simulations.

    DataError if a corrected or tight form is not stated as proved, or as spending more than the row's claim.
    """
    planned = problem.plan(line.FEATURES)
    guarantee, spent = line.stated(planned), planned.spent
    beyond = spent.epsilon > claim.epsilon * (1 + 1e-12) or spent.delta > claim.delta
    if problem.calibration != "paper" and (guarantee != "proved_exact" or beyond):
        raise DataError(f"{problem}: a row claims {claim} as proved; the mechanism states {guarantee!r} at {spent}")
    return guarantee


def _rng(job: Mapping[str, Any], row: Mapping[str, Any]):
    names = tuple(job[key] for key in ("mechanism", "calibration", "pair"))
    names += tuple(row[key] for key in ("variant", "neighbours", "epsilon", "delta"))
    return jobs.generators(job, *names)
