"""Attacks on NAPP-ERM (li2021, Theorem 4, Section 3.7), each made for the step of the proof that it breaks.

Pair families. `line`: one feature, where every law is known; all attacks are exact (`cases`, `iterated`), and the
mechanism's own draws are held against the law. `sixteen`: the small ball at 0 with 2 and 16 features, exactly, and the
mechanism's own code sampled with 16 (`ball`).

Variants are those of the experiments' rows: erm, vs, vs_plus, "-moor" where the floor and the target share one weight;
delta = 0 has spherical noise, delta > 0 Gaussian. After it may stand: "-t80", theta^(80) is released; "-recycled", one
round; "-returned", where the row's epsilon is what is claimed after the return; "-orthant", within one; and data or
bounds ("-unclipped", "-unscaled"; their valid forms "-clipped", "-scaled").

Neighbouring relation: add/remove.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from dperm import seeds
from dperm.audit import attempts, white_box
from dperm.audit.napp import ball, cases, iterated
from dperm.audit.napp import problem as line
from dperm.audit.target import Target
from dperm.domain import Budget
from dperm.errors import ConfigError

PAIRS = ("line", "sixteen")
# Steps, and with MOOR or without.
STEPS = {"erm-t80": (80, False), **{f"erm-moor-t{number}": (number, True) for number in (1, 80, 400)}}
RETURNED = {"erm-returned": False, "erm-moor-returned": True}
RECYCLED = "erm-moor-recycled"
PRINTED = (*cases.PRINTED, *STEPS, *RETURNED, RECYCLED)
CORRECTED = (*cases.CORRECTED, "erm-returned")
# Draws that are held against their law.
_WHITE_BOX, _WHITE_BOX_STEPS = 1_000, 200
_FEATURES = (2, 16)


def run(job: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of one job.

    Parameters
    ----------
    job : mapping
        As `dperm.audit.linear.run` takes it.

    Returns
    -------
    list of dict
        Columns of `dperm.audit.attacks.ATTACKS`.

    Raises
    ------
    ConfigError
        If a row's variant is none of the calibration's, or its neighbours are not add/remove.
    """
    known = PRINTED if job["calibration"] == "paper" else CORRECTED
    for row in job["rows"]:
        if row["variant"] not in known or row["neighbours"] != "add_remove":
            raise ConfigError(
                f"config/audits.yaml: variant {row['variant']!r}, {row['neighbours']} of 'napp', {job['calibration']}: "
                f"attacks are for add_remove, of {', '.join(known)}"
            )
    attack = _on_a_line if job["pair"] == "line" else _sixteen
    return [record for row in job["rows"] for record in attack(job, row)]


def _on_a_line(job: Mapping[str, Any], row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Give the attacks on one budget with one feature; the strongest for each variant's kind of pair."""
    budget, calibration, name = Budget(row["epsilon"], row["delta"]), job["calibration"], row["variant"]
    rng = _rng(job, row)
    record = {**attempts.head(job, row), "loss": "squared"}
    if name in STEPS:
        number, moor = STEPS[name]
        made = iterated.steps(cases.wide(budget, calibration, moor=moor), number)
        # theta^(1) is the minimiser with a ridge Lambda0: objective perturbation.
        record |= {"guarantee": _guarantee(made.problem, number == 1), "pair_words": "gap: (1, 0) beside (0, 0)"}
        yield record | iterated.attack(made, delta=budget.delta) | _noise(made.target(), _CURVED, rng, _WHITE_BOX_STEPS)
    elif name == RECYCLED:
        made = iterated.recycled(cases.wide(budget, calibration, moor=True))
        record |= {"guarantee": "none", "pair_words": "gap: (1, 0) beside (0, 0), one round"}
        yield record | iterated.attack(made, delta=budget.delta) | _noise(made.target(), _CURVED, rng)
    elif name in RETURNED:
        ridge = calibration != "paper"
        tried = iterated.returned(budget.epsilon, budget.delta, calibration, moor=RETURNED[name], ridge=ridge)
        (pair, found) = max(tried, key=lambda entry: entry[1]["exact_bound"])
        probe = cases.PROBES["squared"] if ridge else _CURVED
        record |= {"guarantee": _guarantee(pair.problem, ridge), "pair_words": pair.words}
        yield record | found | _noise(line.target(pair.problem), probe, rng)
    else:
        variant = cases.find(name, calibration)
        pairs = variant.pairs(budget, calibration)
        tried = [
            (pair, attempts.on_a_line(line.target(pair.problem), pair.data, pair.neighbour, delta=budget.delta))
            for pair in pairs
        ]
        pair, found = max(tried, key=lambda entry: entry[1]["exact_bound"])
        probe = variant.probe(budget, calibration)
        record |= {
            "guarantee": _guarantee(pair.problem, variant.proved),
            "loss": pair.problem.loss,
            "pair_words": pair.words,
        }
        yield record | found | _noise(line.target(probe), cases.PROBES[probe.loss], rng)


# What `iterated` knows, with a record without features whose loss is not 0: the solver's gap is relative to the whole.
_CURVED = cases.NOBODY.and_one(1.0, 0.0).and_one(0.0, 1.0)


def _noise(target: Target, data: Any, rng, repeats: int = _WHITE_BOX) -> dict[str, Any]:
    """Return whether the mechanism's own draws have the law."""
    outputs = target.draw(data, repeats, rng("noise"))
    behind = attempts.noise_behind(target, outputs, data, rng("atoms"), near=iterated.NEAR)
    return {"white_box_p": white_box.noise_test(behind, target.law).p_value}


def _sixteen(job: Mapping[str, Any], row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Give the attacks on one budget with 2 and 16 features; none for variants that a line shows."""
    table = ball.PRINTED if job["calibration"] == "paper" else ball.CORRECTED
    if row["variant"] not in table:
        return
    budget, rng = Budget(row["epsilon"], row["delta"]), _rng(job, row)
    proved = job["calibration"] != "paper" or cases.PRINTED[row["variant"]].proved
    problem = table[row["variant"]].make(budget, job["calibration"])
    record = {**attempts.head(job, row), "guarantee": _guarantee(problem, proved), "loss": problem.loss}
    if row["variant"] == "erm" and budget.delta == 0:
        for features in _FEATURES:
            words = f"ball: theta near 0, with (e_1, 1), {features} features, ridge"
            yield record | {"pair_words": words} | ball.exact_ball(budget, job["calibration"], features)
    words, found = ball.drawn(row, job["calibration"], job["draws"], job["confidence"], rng("draws"))
    yield record | {"pair_words": words} | found


def _guarantee(problem: line.Problem, proved: bool) -> str:
    """Return what is proved for any number of features."""
    return problem.calibrated(line.FEATURES)[2] if proved else "none"


def _rng(job: Mapping[str, Any], row: Mapping[str, Any]):
    names = (*(job[key] for key in ("mechanism", "calibration", "pair")), row["variant"], row["epsilon"], row["delta"])
    return lambda what: seeds.generator(job["seed"], "audit", *names, what)
