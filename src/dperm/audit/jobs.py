"""What all jobs of the auditor share: a random generator for each named purpose, and the rows of one job.

A job is a mapping: `paper`, `mechanism`, `calibration`, `pair`, `draws`, `confidence`, `seed`, and its `rows`, each
with `neighbours`, `variant`, `epsilon` and `delta`. Calibrations of one mechanism may share a job (`together` in
config/audits.yaml): `calibration` then stands in each row. A row's guarantee is what the mechanism
states; it is an error if the mechanism does not state a corrected or tight row as proved.

Neighbouring relation: each row's.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import numpy as np

from dperm import seeds
from dperm.audit import columns
from dperm.errors import ConfigError, DataError

_PROVED = ("proved", "proved_exact")
# Job, row, and a generator by what it is for -> columns, one mapping an attack.
Attacks = Callable[[Mapping[str, Any], Mapping[str, Any], Callable], Iterable[dict[str, Any]]]


def generators(job: Mapping[str, Any], *names: Any) -> Callable[[str], np.random.Generator]:
    """Return what gives the generator of one attack, by what it is for: the job's seed and these names decide on it."""

    def rng(what: str) -> np.random.Generator:
        return seeds.generator(job["seed"], "audit", *names, what)

    return rng


def run(
    job: Mapping[str, Any], attacks: Attacks, known: Mapping[tuple[str, str], Collection[str]]
) -> list[dict[str, Any]]:
    """Return the rows of one job by the attacks on its mechanism.

    `known` maps (mechanism, calibration) to its variants. ConfigError if a row's variant is none of its calibration's;
    DataError if a corrected or tight row claims what the mechanism does not state.
    """
    for row in job["rows"]:
        offered = known.get((job["mechanism"], row["calibration"]), ())
        if row["variant"] not in offered:
            raise ConfigError(
                f"config/audits.yaml: variant {row['variant']!r} of {job['mechanism']!r}, {row['calibration']}: "
                f"attacks are for {', '.join(offered) or 'none'}"
            )
    return [record for row in job["rows"] for record in _of_row(job, row, attacks)]


def check_noise(job: Mapping[str, Any], known: Collection[str]) -> None:
    """Raise ConfigError if a row's variant is not known, or names another law of noise than its delta calls for."""
    for row in job["rows"]:
        if row["variant"] not in known or ("gaussian" in row["variant"]) != (row["delta"] > 0):
            raise ConfigError(
                f"config/audits.yaml: variant {row['variant']!r} of {job['mechanism']!r} at delta={row['delta']:g} is "
                f"none of {', '.join(known)} (gamma at delta 0, gaussian above)"
            )


def _of_row(job: Mapping[str, Any], row: Mapping[str, Any], attacks: Attacks) -> list[dict[str, Any]]:
    named = tuple(row[key] for key in ("calibration", "variant", "neighbours", "epsilon", "delta"))
    rng = generators(job, job["mechanism"], job["pair"], *named)
    head = columns.head({**job, "calibration": row["calibration"]}, row)
    found = [head | record for record in attacks(job, row, rng)]
    stated = {record["guarantee"] for record in found}
    if row["calibration"] != "paper" and not stated <= set(_PROVED):
        raise DataError(f"{job['mechanism']}: a {row['calibration']} row, {named}, is stated as {sorted(stated)}")
    return found
