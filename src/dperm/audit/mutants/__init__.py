"""Mechanisms that are broken on purpose: what the auditor has to catch, each beside a correct twin that it must not.

A mutant is real code with one mistake, of the kind that was published: in textbooks, in the four papers
(docs/errata.md), in libraries in use. Both are attacked alike: by sampling (`raw`: bit by bit) or exactly; where the
noise can be recovered, the white-box test looks at it too. A group of mutants is a module here that declares `MUTANTS`.
"""

import importlib
from collections.abc import Mapping
from typing import Any

from dperm import seeds
from dperm.audit import exact, sampling, white_box
from dperm.audit.exact import ROUNDING
from dperm.audit.families import FAMILIES
from dperm.audit.mutants.mutant import Finite, Mutant, Sampled

# Outputs whose noise is recovered and tested.
WHITE_BOX = 200


def __getattr__(name: str) -> dict[str, tuple[Mutant, ...]]:
    """GROUPS: all mutants by group; a job loads those of its own alone."""
    if name != "GROUPS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return {group: _of_group(group) for group in FAMILIES["mutants"].pairs}


def _of_group(group: str) -> tuple[Mutant, ...]:
    return importlib.import_module(f"{__name__}.{group}").MUTANTS


def run(job: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of one group, one for each mutant and its twin, with the columns of a mutant."""
    return [_row(mutant, job) for mutant in _of_group(job["group"])]


def _row(mutant: Mutant, job: Mapping[str, Any]) -> dict[str, Any]:
    broken, twin = (_attacked(mutant, is_broken, job) for is_broken in (True, False))
    level = 1 - job["confidence"]
    caught = "nothing"
    if broken["p"] <= level:
        caught = "lower bound"
    elif broken["white_box_p"] is not None and broken["white_box_p"] <= level:
        caught = "white-box noise test"
    return {
        **{name: getattr(mutant, name) for name in ("name", "broken", "source", "neighbours", "epsilon", "delta")},
        "group": job["group"],
        "attack": mutant.attack,
        "caught_by": caught,
        **{name: broken[name] for name in ("event", "hits", "tries", "other_hits", "other_tries", "white_box_p")},
        **{
            f"{side}_{name}": found[name]
            for side, found in (("mutant", broken), ("twin", twin))
            for name in ("bound", "p")
        },
        "twin_white_box_p": twin["white_box_p"],
    }


def _attacked(mutant: Mutant, is_broken: bool, job: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an attack on the mutant, or on its twin, finds."""
    subject = mutant.make(is_broken)
    # Finitely many outcomes: nothing is drawn.
    if isinstance(subject, Finite):
        found = exact.exact(subject.law, subject.pairs, delta=mutant.delta)
        refuted = found.epsilon > mutant.epsilon * (1 + ROUNDING)
        counts = dict.fromkeys(("hits", "tries", "other_hits", "other_tries"))
        return {
            "bound": found.epsilon,
            "p": 0.0 if refuted else 1.0,
            "event": found.event,
            "white_box_p": None,
            **counts,
        }

    def rng(what):
        return seeds.generator(job["seed"], "mutants", mutant.name, "mutant" if is_broken else "twin", what)

    found = sampling.lower_bound(
        subject.mechanism,
        subject.data,
        subject.neighbour,
        draws=min(job["draws"], subject.most_draws or job["draws"]),
        delta=mutant.delta,
        confidence=job["confidence"],
        rng=rng("draws"),
        raw=mutant.raw,
    )
    counts = found.counts
    return {
        "bound": found.epsilon,
        "p": found.p_value(mutant.epsilon),
        "event": f"{found.event}, likelier for the {found.likelier}",
        "white_box_p": _noise_test(subject, rng("white box")),
        **{name: getattr(counts, name) for name in ("hits", "tries", "other_hits", "other_tries")},
    }


def _noise_test(subject: Sampled, rng) -> float | None:
    law, recover = getattr(subject.mechanism, "law", None), getattr(subject.mechanism, "noise", None)
    if law is None or recover is None:
        return None
    outputs = subject.mechanism(subject.data, WHITE_BOX, rng)
    return white_box.noise_test(recover(outputs, subject.data), law).p_value
