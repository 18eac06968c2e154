"""Attacks on private predictions (dwork2018): bits of votes and of a walk, noisy answers, and many queries together.

One pair family, `record`: one record is replaced, or comes, where it shows most. `bits` (soft majority, the average's
bit) and `walks` (ExpPW) take all margins and all small data sets, exactly; `answers` (averages, stable ERM and SGD) the
exact law on a line and 20,000 of the mechanism's own answers a side; `queries` a whole ledger of answers,
`consensus_ledger` one of consensus answers.

Calibrations of one mechanism share a job: a row says its own (`dperm.audit.jobs`).

Neighbouring relation: each row's.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from dperm.audit import jobs
from dperm.audit.prediction import answers, bits, consensus_ledger, queries, walks

PAIRS = ("record",)
_MODULES = (bits, walks, answers, queries, consensus_ledger)
# (mechanism, calibration) -> variant -> the module that attacks it.
_BY_VARIANT: dict[tuple[str, str], dict[str, Any]] = {}
for _module in _MODULES:
    for _key, _variants in _module.KNOWN.items():
        _BY_VARIANT.setdefault(_key, {}).update(dict.fromkeys(_variants, _module))
KNOWN = {key: tuple(variants) for key, variants in _BY_VARIANT.items()}


def run(job: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of one job; as `dperm.audit.jobs.run`, which says what is raised."""
    return jobs.run(job, _attacks, KNOWN)


def _attacks(job: Mapping[str, Any], row: Mapping[str, Any], rng) -> Iterator[dict[str, Any]]:
    yield from _BY_VARIANT[job["mechanism"], row["calibration"]][row["variant"]].attacks(job, row, rng)
