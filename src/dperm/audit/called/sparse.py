r"""Sparse regression as a user calls it: the chosen feature and its coefficient, attacked together.

Of two features stage one chooses the first where one drawn number says so (`supports`), which gives the probability of
that choice. Fits that are told to choose it are listened to: stage two minimises with the Gram matrix that it got, so
its law on a line is that of one record x = sqrt(G), y = c/sqrt(G) (`linear`). The event is the first feature, and a
coefficient in some intervals: its probability is the product of both. Records turn no vote of Samp-Agg's, so that the
law is the same for every assignment to blocks; what turns one is attacked in `supports`.

Neighbouring relation: each row's.
"""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np

from dperm import losses
from dperm.audit import columns
from dperm.audit.called import brackets, corners, linear, recording, supports
from dperm.audit.called.corners import Call
from dperm.audit.called.recording import Recorded
from dperm.audit.called.supports import CHOICES
from dperm.mechanisms import objective
from dperm.mechanisms.estimators.sparse import SparseRegression

_BOUND = 1.0
# Fits that the equation of stage two is held against.
_FITS = 4
# How many of the pairs that differ most are attacked.
_TRIED = 2
# What costs the first feature most and the second nothing, or as little, and what votes for the first like all others.
_VOTING = (((1.0, 0.0), 1.0), ((1.0, 0.0), -1.0))
_COSTLY = (((1.0, 1.0), 1.0), ((1.0, 1.0), -1.0), *_VOTING)
STAGES = {
    "exp_mech": CHOICES["exp_mech"]._replace(
        make=SparseRegression, given={"y_bound": 1.0, "support": "exp_mech"}, records=_COSTLY
    ),
    "samp_agg": CHOICES["samp_agg"]._replace(
        make=SparseRegression,
        given={"y_bound": 1.0, "support": "samp_agg", "penalty": 1.0, "blocks": 20},
        records=_VOTING,
    ),
}
# Delta is declared, for theta at the walls would tell none: so large that nearly all of epsilon is the noise's.
_DECLARED = {"curvature": 200.0}


class _Listening(supports.ScriptedGenerator, recording.RecordingGenerator):
    """A generator that is told what chooses, and remembers what stage two draws."""


def attacks(name: str, row: dict[str, Any], rng: np.random.Generator) -> list[dict[str, Any]]:
    """Return the attacks on one stage one, as columns of an attack (name: a key of `STAGES`)."""
    budget = {key: row[key] for key in ("epsilon", "delta", "neighbours")}
    # Records that are clipped end where those at the bounds do.
    met: list[float] = []
    return [_attack(STAGES[name], budget, clip, rng, met) for clip in (False, True)]


def _attack(
    choice: supports.Choice, budget: dict[str, Any], clip: bool, rng: np.random.Generator, met: list[float]
) -> dict[str, Any]:
    given, seed = choice.given | _DECLARED, int(rng.integers(2**31))

    def fitted(records, told, seed):
        return _heard(SparseRegression(**given, **budget, clip=clip), choice, records, told, seed)

    def known(records):
        chance = supports.chance(choice, lambda told: fitted(records, told, 0)[1], met)
        return fitted(records, choice.first, seed)[0], chance

    found = supports.accepted(choice, clip, known)
    more = [fitted([], choice.first, seed + i)[0] for i in range(1, _FITS + 1)]
    call = Call(None, (), "", walls=(-_BOUND, _BOUND))
    law = linear.law(call, {record: one for record, (one, _) in found.items()}, more)
    lines = {record: replace(linear.line(call, law, record), share=chance) for record, (_, chance) in found.items()}
    places = np.linspace(-_BOUND, _BOUND, 9)

    def apart(pair):
        forces, shares = zip(*((linear.forces(law, one, places), lines[one].share) for one in pair), strict=True)
        return float(np.abs(forces[0] - forces[1]).max()) / law.scale + abs(np.log(shares[0] / shares[1]))

    tried = [
        (brackets.attack(lines[first], lines[second], delta=budget["delta"]), first, second)
        for first, second in sorted(corners.pairs(found, budget["neighbours"]), key=apart)[-_TRIED:]
    ]
    best, first, second = brackets.first_of_best(tried, lambda one: one[0].epsilon)
    return {
        "guarantee": law.guarantee,
        "loss": "squared",
        "pair_words": f"{supports.words(SparseRegression, given, clip)} beside {len(choice.crowd)} records: "
        + corners.change(first, second),
        **columns.of_bracket(best),
    }


def _heard(model: Any, choice: supports.Choice, records: list, told: float, seed: int) -> tuple[Recorded, bool]:
    """Fit and listen to stage two; and say whether the first feature was chosen."""
    handed: list[tuple] = []
    release = objective.release_gram

    def listening(G, c, **fixed):
        handed.append((G, c))
        return release(G, c, **fixed)

    def make(*args):
        rng = _Listening(*args)
        rng.told = told
        return rng

    with mock.patch.object(objective, "release_gram", listening):
        one = recording.fit(model, "_fit", *supports.rows(choice, records), seed, make)
    G, c = handed[-1]
    root = float(np.sqrt(G[0, 0]))
    found = one.model
    like = SimpleNamespace(
        coef_=found.coef_[:1], intercept_=0.0, privacy_=found.privacy_, tolerance=None, curvature=found.curvature
    )
    core = {"X": np.array([[root]]), "y": c / root, "loss": losses.squared()}
    return one._replace(model=like, handed=core), bool(found.support_[0])
