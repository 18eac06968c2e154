"""Rule "weakest": a summary stands as long as each claim that it sums up does.

Not reproduced if a member is not reproduced; else inconclusive if a member is inconclusive or was not run; else
reproduced. Not run if no member was. Of a member with several variants of one kind (`printed`, `printed-over-...`) all
count: some are halves of what it says.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from dperm_pipeline.claims import select
from dperm_pipeline.claims.verdict import Verdict

COLUMNS = ()


def decide(claim: Mapping[str, Any], variant: str, verdicts: Sequence[Mapping[str, Any]]) -> Verdict:
    """Decide one variant of a claim by the verdicts of others.

    - claim: entry of the catalogue: `members` (ids), or a variant's own.
    - variant: a key of `claim["variants"]`; the members' verdicts of that name count, and those of that name followed
      by `-over-`, on all of their data sets.
    - verdicts: records with `id`, `variant` and `verdict`.
    - Returns: `n`: the verdicts that count.
    """
    members = select.settings(claim, variant)["members"]
    of_kind = (record for record in verdicts if record["variant"].split("-over-")[0] == variant)
    found = [record for record in of_kind if record["id"] in members]
    told = [f"{record['id']}{record['variant'].removeprefix(variant)} {record['verdict']}" for record in found]
    told += [f"{name} has no variant {variant}" for name in members if name not in {r["id"] for r in found}]
    said = {record["verdict"] for record in found}
    if said <= {"not run"}:
        outcome = "not run"
    elif "not reproduced" in said:
        outcome = "not reproduced"
    elif said == {"reproduced"} and len(told) == len(found):
        outcome = "reproduced"
    else:
        outcome = "inconclusive"
    return Verdict(outcome, f"its members: {', '.join(told)}", n=len(found))
