"""The privacy ledger: claimed and certified epsilon of each guarantee, and the verdict.

One row is one budget of one mechanism: paper x mechanism x variant (the law of its noise) x calibration x neighbours x
epsilon x delta. Each is attacked at its worst budget; other budgets that experiments used are listed as `not audited`.

If F attacks were tried on a row, it shows the largest of their bounds, each at confidence 1 - (1 - c)/F, and has the
p-value min(1, F min p). A row is `refuted` if Holm's procedure over all attacked rows rejects its claim; an exact bound
has p = 0 or 1. An exact bound is about the law that the constants describe. Whether the code draws from that law is
tested on the recovered noise (`white_box_p`). That test is about the code and not about the claim, so it does not
change the verdict; but where Holm's procedure over the ledger rejects it, the row's reason says so (`NOISE`).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from dperm.audit import bounds
from dperm.audit.exact import ROUNDING
from dperm.errors import CorruptFile, DataError
from dperm_pipeline import multiple, tables
from dperm_pipeline.audits import attacks

VERDICTS = ("holds up", "refuted", "not audited")
CAUGHT = ("refuted", "caught by the white-box test", "not caught")
TWIN = ("refuted", "accused by the white-box test", "holds up")

# What a row's reason holds where the recovered noise is not the promised one.
NOISE = "the code does not draw the promised noise"

# From the weakest guarantee to the strongest.
_STRENGTH = ("none", "claimed", "proved_exact", "proved")
# What a variant is called that is nothing but the law of its noise.
_PLAIN = ("exponential", "gamma", "gaussian", "laplace")
# How the name of an attack through the front door begins (`dperm.audit.called`): on one loss, on threads, on an object.
_CALLED = "called-"
_KEY = ("paper", "mechanism", "variant", "calibration", "neighbours", "epsilon", "delta")
_FAMILY = ("paper", "mechanism", "calibration", "neighbours")

SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("paper", "mechanism", "variant", "calibration", "neighbours")),
        ("epsilon", pa.float64()),
        ("delta", pa.float64()),
        ("guarantee", pa.string()),
        ("audit_lower_bound", pa.float64()),
        ("confidence", pa.float64()),
        ("draws", pa.int64()),
        *((name, pa.string()) for name in ("pair", "attack", "event", "counts")),
        ("white_box_p", pa.float64()),
        ("p_value", pa.float64()),
        ("p_holm", pa.float64()),
        ("verdict", pa.string()),
        ("reason", pa.string()),
        ("errata", pa.string()),
    ]
)
MUTANTS = pa.schema(
    [
        *attacks.MUTANTS,
        ("p_holm", pa.float64()),
        ("verdict", pa.string()),
        ("twin_verdict", pa.string()),
    ]
)


def collect(
    attack_paths: Iterable[str | Path],
    rows_paths: Iterable[str | Path],
    out: str | Path,
    *,
    confidence: float,
    level: float,
    metadata: Mapping[str, Any],
    errata: Iterable[Mapping[str, Any]] = (),
    made: Mapping[str, str] | None = None,
) -> None:
    """Write privacy.parquet from what the audit jobs wrote and the budgets that experiments released.

    `confidence` is of each row's bound, `level` of the whole ledger's verdicts. `errata` are attacked budgets (the
    ledger's first seven columns) with the ids of the errata that speak of them ("J1 J9"); a budget that was not
    attacked has those of the attack on its law. `made` maps paths to the `stamps.fingerprint` of the job that must
    have made them.

    CorruptFile names every corrupt file of attacks; those are deleted, so that the next run makes them again.
    DataError if an attack does not say what it attacked.
    """
    # Of attacks that are equally good the first one is told: by pair, whichever of them shared a job.
    found = _read_all(attack_paths, attacks.ATTACKS, made).sort_values("pair", kind="stable", ignore_index=True)
    nameless = found[list(_KEY)].isna().any()
    if nameless.any():
        raise DataError(f"an attack does not say its {', '.join(nameless.index[nameless])}; no attack may be lost")
    rows = [_attacked(dict(zip(_KEY, key, strict=True)), group, confidence) for key, group in found.groupby(list(_KEY))]
    for row, adjusted in zip(rows, multiple.adjusted([row["p_value"] for row in rows]), strict=True):
        row |= {"p_holm": float(adjusted), "verdict": "refuted" if adjusted <= level else "holds up"}
    noise = multiple.adjusted([_or_one(row["white_box_p"]) for row in rows])
    for row, adjusted in zip(rows, noise, strict=True):
        if adjusted <= level:
            row["reason"] += f"; {NOISE} (p = {adjusted:.1g} by Holm over the ledger)"
    named = {tuple(budget[name] for name in _KEY): budget["errata"] for budget in errata}
    for row in rows:
        row["errata"] = named.get(tuple(row[name] for name in _KEY), "")
    rows += _not_audited(rows, rows_paths)
    rows.sort(key=lambda row: tuple(row[name] for name in _KEY))
    tables.write_records(rows, SCHEMA, out, metadata=dict(metadata))


def collect_mutants(
    paths: Iterable[str | Path],
    out: str | Path,
    *,
    level: float,
    metadata: Mapping[str, Any],
    made: Mapping[str, str] | None = None,
) -> None:
    """Write mutants.parquet: was every deliberate mistake caught, and its correct twin left in peace?

    Holm's correction at `level` is over all mutants, and on its own over all twins. `made` and CorruptFile: as of
    `collect`.
    """
    found = _read_all(paths, attacks.MUTANTS, made).sort_values(["group", "name"], kind="stable")
    records = found.astype(object).where(found.notna(), None).to_dict("records")
    bound = multiple.adjusted([record["mutant_p"] for record in records])
    noise = multiple.adjusted([_or_one(record["white_box_p"]) for record in records])
    twins = multiple.adjusted([record["twin_p"] for record in records])
    twin_noise = multiple.adjusted([_or_one(record["twin_white_box_p"]) for record in records])
    for record, p, white_box_p, twin_p, twin_noise_p in zip(records, bound, noise, twins, twin_noise, strict=True):
        caught = CAUGHT[0] if p <= level else CAUGHT[1] if white_box_p <= level else CAUGHT[2]
        record |= {
            "p_holm": float(p),
            "verdict": caught,
            "twin_verdict": TWIN[0] if twin_p <= level else TWIN[1] if twin_noise_p <= level else TWIN[2],
        }
    tables.write_records(records, MUTANTS, out, metadata=dict(metadata))


def read(path: str | Path) -> pd.DataFrame:
    """Return the ledger, columns as in `SCHEMA`; CorruptFile if the file is not what `collect` writes."""
    return tables.read_records(path, SCHEMA)


def _read_all(paths: Iterable[str | Path], schema: pa.Schema, made: Mapping[str, str] | None) -> pd.DataFrame:
    frames, corrupt = [pd.DataFrame(schema.empty_table().to_pandas())], []
    for path in sorted(map(Path, paths)):
        try:
            tables.check_made(path, made)
            frames.append(tables.read_records(path, schema))
        except CorruptFile as error:
            path.unlink()
            corrupt.append(error.what)
    if corrupt:
        raise CorruptFile("deleted, to be made again by the next run: " + "; ".join(corrupt))
    kept = [frame for frame in frames if len(frame)]
    return pd.concat(kept, ignore_index=True) if kept else frames[0]


def _attacked(key: dict[str, Any], attempts: pd.DataFrame, confidence: float) -> dict[str, Any]:
    """Return the ledger's row of one budget that F attacks were tried on."""
    error = (1 - confidence) / len(attempts)
    tried = [_judged(attempt, key["epsilon"], 1 - error) for attempt in attempts.to_dict("records")]
    # Of bounds that are alike but for rounding the first: which is the larger hangs on the processor.
    most = max(attempt["bound"] for attempt in tried)
    best = next(attempt for attempt in tried if attempt["bound"] >= most * (1 - ROUNDING))
    least = min(attempt["p"] for attempt in tried)
    white_box = [p for p in attempts["white_box_p"] if not pd.isna(p)]
    return {
        **key,
        # The claim is one for all losses and curvatures, so it is as good as the weakest of them.
        "guarantee": min(attempts["guarantee"], key=_STRENGTH.index),
        "audit_lower_bound": best["bound"],
        "confidence": confidence if best["sampled"] else 1.0,
        "draws": best["draws"],
        "pair": best["pair_words"],
        "attack": best["attack"],
        "event": f"{best['event']}, likelier for the {best['likelier']}",
        "counts": best["counts"],
        "white_box_p": min(1.0, len(white_box) * min(white_box)) if white_box else None,
        "p_value": min(1.0, len(tried) * least),
        "reason": f"the strongest of {len(tried)} attacks" if len(tried) > 1 else "one attack",
    }


def _judged(attempt: Mapping[str, Any], epsilon: float, confidence: float) -> dict[str, Any]:
    """Return an attack with its bound, p-value and counts in words."""
    sampled = pd.isna(attempt["exact_bound"])
    if not sampled:
        bound = attempt["exact_bound"]
        p = 0.0 if bound > epsilon * (1 + ROUNDING) else 1.0
        counts = f"{attempt['probability']:.4g} against {attempt['other_probability']:.4g} (exact)"
        return {**attempt, "bound": bound, "p": p, "counts": counts, "sampled": False}
    counted = bounds.Counts(*(int(attempt[name]) for name in ("hits", "tries", "other_hits", "other_tries")))
    model = {"delta": attempt["delta"], "model": attempt["model"]}
    return {
        **attempt,
        "bound": bounds.epsilon_bound(counted, confidence=confidence, **model),
        "p": bounds.p_value(counted, epsilon=epsilon, **model),
        "counts": f"{counted.hits:,} of {counted.tries:,} against {counted.other_hits:,} of {counted.other_tries:,}",
        "sampled": True,
    }


def _not_audited(attacked: Sequence[Mapping[str, Any]], rows_paths: Iterable[str | Path]) -> list[dict[str, Any]]:
    """Return rows for the budgets that experiments released and nobody attacked."""
    columns = [*_KEY, "guarantee"]
    released: dict[tuple, str] = {}
    for path in sorted(map(Path, rows_paths)):
        known = set(tables.columns(path))
        rows = tables.distinct(path, [*columns, "metric", *{"reason"} & known])
        # Where its data set's preparation voids the guarantee, a row claims nothing, whatever its mechanism is.
        if "reason" in rows:
            rows = rows[rows["reason"].fillna("") == ""]
        # A cell whose solver gave up has released nothing.
        rows = rows[(rows["mechanism"] != "nonprivate") & (rows["metric"] != tables.GIVEN_UP)]
        rows = rows.astype({name: str for name in (*_FAMILY, "variant", "guarantee")})
        for *named, guarantee in rows[columns].itertuples(index=False):
            given = dict(zip(_KEY, named, strict=True))
            # The law first: rows that name it and rows that do not are one budget.
            given["variant"] = given["variant"] or _unnamed(guarantee, _nearest(given, attacked))
            key = tuple(given.values())
            # As of an attacked budget: the claim is as good as the weakest of those that were made.
            released[key] = min(released.get(key, guarantee), guarantee, key=_STRENGTH.index)
    done = {tuple(row[name] for name in _KEY) for row in attacked}
    result = []
    for key in sorted(released.keys() - done):
        given = {**dict(zip(_KEY, key, strict=True)), "guarantee": released[key]}
        alike = _nearest(given, attacked)
        # An attack on another law says something of one that is named, nothing of one that nobody knows.
        own = [other for other in alike if other["variant"] == given["variant"]]
        alike = own or (alike if given["variant"] else [])
        where = dict.fromkeys(f"epsilon={other['epsilon']:g}, delta={other['delta']:g}" for other in alike)
        reason = "no attack is declared in config/audits.yaml"
        if alike:
            of = "" if alike[0]["paper"] == given["paper"] else f", among the rows of {alike[0]['paper']}"
            reason = f"attacked at its worst budget{of}: {', '.join(where)}"
        # Errata are a paper's own.
        own = [other for other in own if other["paper"] == given["paper"]]
        errata = " ".join(dict.fromkeys(name for other in own for name in other["errata"].split()))
        result.append({**given, "verdict": "not audited", "reason": reason, "errata": errata})
    return result


def _nearest(given: Mapping[str, Any], attacked: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the attacked budgets of the same mechanism and noise: pure privacy has one law, approximate another.

    Those of the row's own paper, or where it compares with a mechanism of another paper, of that one.
    """
    alike = [
        other
        for other in attacked
        if all(other[name] == given[name] for name in _FAMILY[1:]) and (other["delta"] == 0) == (given["delta"] == 0)
    ]
    return [other for other in alike if other["paper"] == given["paper"]] or alike


def _unnamed(guarantee: str, alike: Sequence[Mapping[str, Any]]) -> str:
    """Return the law of rows that name none: a plain one before its variants, and none that promises nothing itself.

    An attack on threads, or on one loss as it is called, is one on such rows' law only where no other was made.
    """
    laws = {row["variant"] for row in alike if row["guarantee"] != "none" or guarantee == "none"}
    # "gamma_objective" stands before "gamma_output".
    return min(laws, key=lambda law: (law not in _PLAIN, law.startswith(_CALLED), law), default="")


def _or_one(p: float | None) -> float:
    return 1.0 if p is None or math.isnan(p) else p
