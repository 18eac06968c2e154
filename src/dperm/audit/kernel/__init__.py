"""Attacks on private learning with kernels (jain2013): PINP, TDDL, TDIL, a Gaussian path, noise on an explicit w.

All start from one pair, `flip` (`dperm.audit.kernel.pairs`): the label of one record is turned around, or under
add/remove the record comes, and w* moves by all of Delta_w along u. What is told of it is attacked exactly, and the
mechanism's own releases by sampling beside it: `answers` (noisy answers on public points), `vectors` (the sparse vector
of PINP), `net` (TDIL's choices of public points).

A row's guarantee is what the mechanism states; a corrected or tight row that it does not state as proved is an error.
Calibrations of one mechanism share a job: a row says its own.

Neighbouring relation: each row's.
"""

from collections.abc import Mapping
from typing import Any

from dperm import seeds
from dperm.audit import attempts
from dperm.audit.kernel import answers, net, vectors
from dperm.errors import ConfigError, DataError

PAIRS = ("flip",)
_BY_MECHANISM = {"tddl": answers, "rkhs_gaussian": answers, "explicit_output": answers, "pinp": vectors, "tdil": net}
KNOWN = {**answers.KNOWN, **vectors.KNOWN, **net.KNOWN}
_PROVED = ("proved", "proved_exact")


def run(job: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of one job.

    Parameters
    ----------
    job : mapping
        As `dperm.audit.linear.run` takes it; `calibration` stands in its rows.

    Returns
    -------
    list of dict
        Columns of `dperm.audit.attacks.ATTACKS`.

    Raises
    ------
    ConfigError
        If a row's variant is none of its calibration's.
    DataError
        If a corrected or tight row claims what the mechanism does not state.
    """
    for row in job["rows"]:
        known = KNOWN.get((job["mechanism"], row["calibration"]), ())
        if row["variant"] not in known:
            raise ConfigError(
                f"config/audits.yaml: variant {row['variant']!r} of {job['mechanism']!r}, {row['calibration']}: "
                f"attacks are for {', '.join(known) or 'none'}"
            )
    return [record for row in job["rows"] for record in _attacks(job, row)]


def _attacks(job: Mapping[str, Any], row: Mapping[str, Any]) -> list[dict[str, Any]]:
    named = tuple(row[key] for key in ("calibration", "variant", "neighbours", "epsilon", "delta"))

    def rng(what):
        return seeds.generator(job["seed"], "audit", job["mechanism"], job["pair"], *named, what)

    head = attempts.head({**job, "calibration": row["calibration"]}, row)
    found = [head | record for record in _BY_MECHANISM[job["mechanism"]].attacks(job, row, rng)]
    stated = {record["guarantee"] for record in found}
    if row["calibration"] != "paper" and not stated <= set(_PROVED):
        raise DataError(f"{job['mechanism']}: a {row['calibration']} row, {named}, is stated as {sorted(stated)}")
    return found
