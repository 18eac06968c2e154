"""Rule L: a promise of privacy stands as long as nothing refutes it and a proof carries it.

The privacy ledger holds each mechanism's claim against its strongest attack; an experiment may add exact quadratures,
rows of the metric `excess`: epsilon spent minus epsilon claimed. A mechanism that the library refuses to run has no row
in the ledger: only the quadrature attacks it, and the claim states the guarantee.

- Not reproduced: the ledger says that one of the claim's rows is `refuted` or that the code does not draw the promised
  noise, or a quadrature exceeds its claim.
- Reproduced: everything that the claim names was attacked, and the weakest guarantee among the rows is a checked proof
  (`proved`, `proved_exact`).
- Inconclusive otherwise: it is neither refuted nor proved.

A *control*, such as the mechanism with half of its noise, has to be refuted: an attack that misses it decides nothing.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from dperm_pipeline.claims import exact, select
from dperm_pipeline.claims.verdict import Verdict, overall

COLUMNS = (*select.COLUMNS, "guarantee")
# From the weakest to the strongest.
_STRENGTH = ("none", "claimed", "proved_exact", "proved")
_PROVED = _STRENGTH[2:]
# What more draws would do where a promise has neither a proof nor a refutation.
_POWER = "power: no number of draws shows that a promise is kept, which takes a proof; more could refute it"
# What the ledger says of a row whose recovered noise is not the promised one (`dperm_pipeline.audits.ledger.NOISE`).
NOISE = "the code does not draw the promised noise"
# An exact probability of 0 counts as 1e-300, so a bound near -log(1e-300) = 690.8 is none.
NO_BOUND = 600.0


def decide(rule: Mapping[str, Any], rows: pd.DataFrame | None, *, privacy: pd.DataFrame | None) -> Verdict:
    """Decide by the privacy ledger, by quadratures, or by both.

    Keys: `ledger` (from columns of the ledger to a value or values) or `guarantee` (an upper bound on the rows' own),
    maybe `control` (as `ledger`), and, if the experiment has quadratures of it, `where` and the keys of rule `exact`.

    With `ledger`, measured and `low` are the certified share of the claimed epsilon, largest over the ledger's rows,
    `certified` that epsilon itself, and `n` the draws behind it. Else they are those of rule `exact`.
    """
    if "ledger" not in rule:
        return _by_quadrature(rule, rows)
    entries = privacy[select.matches(privacy, rule["ledger"])]
    entries = entries[entries["verdict"] != "not audited"]
    if entries.empty:
        asked = select.in_words(list(rule["ledger"]), rule["ledger"].values())
        raise select.NoRows(f"the privacy ledger has no attacked row with {asked}")
    # What was attacked, with what outcome, and what the claim names but nobody attacked.
    refuted = entries[entries["verdict"] == "refuted"]
    other_noise = int(entries["reason"].str.contains(NOISE).sum())
    unseen = [
        f"{column} {value}"
        for column, values in rule["ledger"].items()
        for value in select.listed(values)
        if value not in set(entries[column])
    ]
    guarantees = sorted(entries["guarantee"].unique())
    share = (entries["audit_lower_bound"] / entries["epsilon"]).astype(float)
    worst = entries.loc[share.idxmax()]
    # In words.
    reasons = [
        f"the privacy ledger refutes {len(refuted)} of {len(entries)} rows",
        f"its strongest attack certifies epsilon {worst['audit_lower_bound']:.3g} of {worst['epsilon']:g} at delta "
        f"{worst['delta']:g} ({worst['variant']}, {worst['neighbours'].replace('_', '/')}: {worst['pair']}, "
        f"{worst['attack']})",
        f"guarantee: {', '.join(guarantees)}",
    ]
    if other_noise:
        reasons.append(f"{NOISE} in {other_noise} rows")
    if unseen:
        reasons.append(f"nothing was attacked with {', '.join(unseen)}")
    missed = _missed(rule, privacy)
    if missed:
        reasons.append(missed)
    # A refutation, or noise of another law, is against the claim; a gap leaves it open.
    failed = len(refuted) > 0 or other_noise > 0
    wanting = bool(unseen or missed) or any(name not in _PROVED for name in guarantees)
    if rows is not None and "where" in rule:
        quadrature = _quadrature(rule, rows)
        reasons.append(f"quadrature: {quadrature.reason}")
        failed = failed or quadrature.verdict == "not reproduced"
        wanting = wanting or quadrature.verdict != "reproduced"
    measured, held = float(share.max()), len(entries) - len(refuted)
    outcome = overall([not wanting], [failed])
    if outcome == "inconclusive":
        reasons.append(_POWER)
    return Verdict(
        outcome, "; ".join(reasons), measured, measured, n=int(worst["draws"]), held=held,
        points=len(entries), certified=float(worst["audit_lower_bound"]),
    )  # fmt: skip


def _by_quadrature(rule: Mapping[str, Any], rows: pd.DataFrame) -> Verdict:
    """Decide about a mechanism that the library refuses to run: no attack of the ledger was made on it."""
    found = _quadrature(rule, rows)
    stated = rows.loc[select.matches(rows, rule["where"]), "guarantee"].unique()
    guarantee = min([rule["guarantee"], *map(str, stated)], key=_STRENGTH.index)
    unproved = guarantee not in _PROVED and found.verdict == "reproduced"
    reason = f"guarantee: {guarantee}; quadrature: {found.reason}"
    if unproved:
        return replace(found, verdict="inconclusive", reason=f"{reason}; {_POWER}")
    return replace(found, reason=reason)


def _quadrature(rule: Mapping[str, Any], rows: pd.DataFrame) -> Verdict:
    try:
        return exact.decide(rule, rows)
    except select.NoRows as nothing:
        return Verdict("not run", str(nothing))


def _missed(rule: Mapping[str, Any], privacy: pd.DataFrame) -> str:
    """Say which controls the ledger did not refute; empty if it refuted all, or there are none."""
    if "control" not in rule:
        return ""
    controls = privacy[select.matches(privacy, rule["control"])]
    if controls.empty:
        return f"there is no control with {select.in_words(list(rule['control']), rule['control'].values())}"
    missed = int((controls["verdict"] != "refuted").sum())
    return f"{missed} of {len(controls)} controls were not refuted" if missed else ""
