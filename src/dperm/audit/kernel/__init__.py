"""Attacks on private learning with kernels (jain2013): PINP, TDDL, TDIL, a Gaussian path, noise on an explicit w.

All start from one pair, `flip` (`dperm.audit.kernel.pairs`): the label of one record is turned around, or under
add/remove the record comes, and w* moves by all of Delta_w along u. What is told of it is attacked exactly, and the
mechanism's own releases by sampling beside it: `answers` (noisy answers on public points), `sparse_vector` (PINP's),
`public_points` (TDIL's choices of them).

Calibrations of one mechanism share a job: a row says its own (`dperm.audit.jobs`).

Neighbouring relation: each row's.
"""

from collections.abc import Mapping
from typing import Any

from dperm.audit import jobs
from dperm.audit.kernel import answers, public_points, sparse_vector

PAIRS = ("flip",)
_BY_MECHANISM = {
    "tddl": answers,
    "rkhs_gaussian": answers,
    "explicit_output": answers,
    "pinp": sparse_vector,
    "tdil": public_points,
}
KNOWN = {**answers.KNOWN, **sparse_vector.KNOWN, **public_points.KNOWN}


def run(job: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of one job; as `dperm.audit.jobs.run`, which says what is raised."""
    return jobs.run(job, _BY_MECHANISM[job["mechanism"]].attacks, KNOWN)
