"""Attacks through the front door: estimators as a user calls them, on extreme records of what is declared.

The other families attack the cores; here the records go through `fit`, which has to refuse or clip what no constant
covers. `linear` and `descents` listen to fits of the linear models and attack the exact law of what they release,
`integers` that of what leaves the house, `answers` and `dialogues` listen to those that answer, `supports` and `sparse`
read the law of a choice off `fit`, and `signs` that of a sign; `threads` asks one model at once, `objects` looks at
what is handed on; `cases` is the table of what is called, and how.

Neighbouring relation: each row's.
"""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from dperm.audit import jobs
from dperm.audit.called import (
    answers,
    cases,
    descents,
    dialogues,
    integers,
    linear,
    objects,
    rests,
    signs,
    sparse,
    supports,
    threads,
)
from dperm.audit.called.corners import Call

PAIRS = ("corners",)
_PREFIX, _THREADS, _CLASSES, _RESTS = "called-", "threads", "classes", "one_vs_rest"


def _variants(mechanism: str) -> tuple[str, ...]:
    losses = cases.CALLS[mechanism][1] if mechanism in cases.CALLS else ()
    objects_of = [variant for variant, made in cases.PUBLISHED.items() if mechanism in made]
    asked = [_THREADS] if mechanism in threads.SHARED else []
    asked += {"soft_majority": [_CLASSES], "output": [_RESTS]}.get(mechanism, [])
    return tuple(_PREFIX + name for name in (*losses, *objects_of, *asked))


KNOWN = {
    (mechanism, "paper" if mechanism in cases.PRINTED else "tight"): _variants(mechanism)
    for mechanism in (*cases.CALLS, *threads.SHARED)
}
KNOWN |= {
    (mechanism, "corrected"): tuple(_PREFIX + loss for loss in cases.CALLS[mechanism][1] if cases.MODEL not in loss)
    for mechanism in cases.CORRECTED
}
_CHOSEN = (_PREFIX + "squared", _PREFIX + "published")
KNOWN |= {("exp_mech", "tight"): _CHOSEN, ("samp_agg", "corrected"): _CHOSEN}
KNOWN["sparse", "tight"] = (*(_PREFIX + name for name in sparse.STAGES), _PREFIX + "published")


def run(job: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of one job; as `dperm.audit.jobs.run`, which says what is raised."""
    # Estimators warn of what is attacked here: statements that promise little, noise that drowns all.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return jobs.run(job, _attacks, KNOWN)


def _attacks(job: Mapping[str, Any], row: Mapping[str, Any], rng: Callable) -> Iterator[dict[str, Any]]:
    mechanism, name = job["mechanism"], row["variant"].removeprefix(_PREFIX)
    neighbours, delta = row["neighbours"], row["delta"]
    if name in cases.PUBLISHED:
        make = cases.published_by(mechanism, name)
        for words, arguments in cases.published(mechanism, name, row):
            yield from objects.attacks(Call(partial(make, **arguments), (0, 1), words), neighbours)
        return
    if mechanism in supports.CHOICES:
        for clip in (False, True):
            yield supports.attack(mechanism, neighbours, row["epsilon"], clip=clip)
        return
    if mechanism == "sparse":
        yield from sparse.attacks(name, row, rng(name))
        return
    if name == _THREADS:
        yield threads.attack(mechanism, neighbours, row["epsilon"], delta, rng(name))
        return
    if name == _RESTS:
        yield rests.attack(neighbours, row["epsilon"], delta, rng(name))
        return
    if name == _CLASSES:
        yield threads.classes(neighbours, row["epsilon"], delta, rng(name))
        return
    make, _ = cases.CALLS[mechanism]
    for words, arguments, crowd in cases.calls(mechanism, name, row):
        radius = arguments.get("radius", math.inf) if mechanism in cases.THETA else math.inf
        walls = arguments.get("low", -radius), arguments.get("high", radius)
        extreme, _ = cases.extreme(name, arguments)
        noisy_model = name.endswith(cases.MODEL)
        additive = mechanism == "output" or noisy_model
        made = Call(partial(make, **arguments), extreme, words, additive, walls, crowd)
        if arguments.get("release"):
            yield integers.attack(made, neighbours, delta, rng(words))
        elif mechanism in cases.DESCENTS:
            yield descents.attack(made, neighbours, delta, rng(words))
        elif mechanism in cases.SIGNS:
            yield signs.attack(made, neighbours, delta, rng(words))
        elif mechanism in cases.THETA or noisy_model:
            yield linear.attack(made, neighbours, delta, rng(words))
        elif mechanism == "pinp":
            yield dialogues.attack(made, neighbours, delta, rng(words), job["draws"])
        else:
            kind = name if name in answers.KINDS else mechanism
            yield answers.attack(made, kind, neighbours, delta, rng(words), job["draws"])
