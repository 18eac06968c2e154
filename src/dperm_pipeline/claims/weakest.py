"""Rule "weakest": a summary stands as long as each claim that it sums up does.

Not reproduced if a member is not reproduced; else inconclusive if a member is inconclusive or was not run; else
reproduced. Not run if no member was. Where one test of a member was run, those that were not (such as on a stand-in for
data that are there) count for neither side, as in the answers. Of a member with several variants of one kind
(`printed`, `printed-over-...`) all count: some are halves of what it says. Tests that stand beside a member are no
evidence on it and count for nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from dperm_pipeline.claims import forms
from dperm_pipeline.claims.verdict import Verdict

COLUMNS = ()


def decide(rule: Mapping[str, Any], rows: None = None, *, verdicts: Sequence[Mapping[str, Any]]) -> Verdict:
    """Decide by verdicts on other claims (`id`, `variant`, `words`, `verdict`, maybe `beside`); `n` is how many count.

    Key: `members`, ids of claims. Of each count the verdicts of the variant's name, and of that name followed by
    `-over-`, on all of their data sets.
    """
    members, variant = rule["members"], rule["variant"]
    found = [
        record
        for record in verdicts
        if record["id"] in members and forms.form(record["variant"]) == variant and not record.get("beside", False)
    ]
    ran = {record["id"] for record in found if record["verdict"] != "not run"}
    found = [record for record in found if record["verdict"] != "not run" or record["id"] not in ran]
    reasons = [f"{_called(record, variant)} {record['verdict']}" for record in found]
    absent = [name for name in members if name not in {record["id"] for record in found}]
    reasons += [f"{name} has no variant {variant}" for name in absent]
    given = {record["verdict"] for record in found}
    if given <= {"not run"}:
        outcome = "not run"
    elif "not reproduced" in given:
        outcome = "not reproduced"
    elif given == {"reproduced"} and not absent:
        outcome = "reproduced"
    else:
        outcome = "inconclusive"
    return Verdict(outcome, f"its members: {', '.join(reasons)}", n=len(found))


def _called(record: Mapping[str, Any], variant: str) -> str:
    """A member by its id; one that is not of the summary's own name says which of its tests it is."""
    return record["id"] if record["variant"] == variant else f"{record['id']} ({record['words']})"
