"""The privacy ledger for the report: each guarantee, the interval in which its epsilon lies, and its attack in words.

An attack certifies a lower bound of the epsilon that is really spent; a proof makes the claim an upper bound. Lower
bounds are rounded down, so that no sentence says more than the attack shows.
"""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from dperm.errors import CorruptFile
from dperm_pipeline import names, places, tables
from dperm_pipeline.claims.ledger import NOISE
from dperm_pipeline.report import errata as errata_of
from dperm_pipeline.report import ledgers, sections
from dperm_pipeline.report.ledgers import rounded_down

COLUMNS = (
    "paper", "mechanism", "variant", "calibration", "neighbours", "epsilon", "delta", "guarantee", "audit_lower_bound",
    "confidence", "draws", "pair", "attack", "event", "counts", "white_box_p", "p_value", "p_holm", "errata", "verdict",
    "reason",
)  # fmt: skip
MUTANT_COLUMNS = (
    "name", "group", "broken", "source", "neighbours", "epsilon", "delta", "attack", "event", "hits", "tries",
    "other_hits", "other_tries", "mutant_bound", "twin_bound", "p_holm", "white_box_p", "verdict", "twin_verdict",
    "caught_by",
)  # fmt: skip
RELATIONS = names.RELATIONS
GUARANTEES = {
    "proved": "proved for what the code releases",
    "proved_exact": "proved for the exact minimiser, which the solver meets up to its certificate",
    "claimed": "claimed, without a proof",
    "none": "no proof",
}
PROVED = ("proved", "proved_exact")
# Refuted guarantees that are no slip of their paper, by (mechanism, calibration, variant); None stands for any.
NOTES = {
    **{
        (None, "paper", name): "A control: half of the noise, put in by us. An attack that did not refute it would "
        "decide nothing."
        for name in ledgers.CONTROLS
    },
    **{
        (name, "paper", "gaussian"): "The classical formula σ = S√(2 log(1.25/δ))/ε is a theorem for ε < 1 only; below "
        "that it stands (docs/privacy.md)."
        for name in ("output", "stable_gaussian")
    },
}

# Data keys of a row, by which the table is filtered.
FILTERS = {
    "paper": "paper",
    "verdict": "verdict",
    "mechanism": "mechanism",
    "calibration": "calibration",
    "neighbours": "neighbours",
}
# Bars of a claim of 1: certified lower bound, whether it is proved, and what that means.
_CERTIFIED = "certified to be spent (computed, or with the confidence given in the line)"
LEGEND = (
    (0.6, True, f"{_CERTIFIED}, and up to the claim by proof: what is really spent lies in the hatched part"),
    (0.6, False, f"{_CERTIFIED}; no proof bounds it from above"),
    (1.25, False, "refuted: more than the claim (the line) is spent"),
    (9.0, False, "refuted by more than one and a half times"),
)
# The bar is linear: the claim stands at CLAIM, and beyond END an arrow says the factor.
_CLAIM, _END, _HEIGHT = 100.0, 150.0, 14


def context(privacy: str | Path, mutants: str | Path, errata: str | Path) -> dict[str, Any]:
    """Return what page/privacy.html shows of both ledgers and docs/errata.md.

    `counts` and `mutant_counts` (verdict -> number), `apart` (what the counts hold: `controls`, rows whose code
    draws the wrong `noise`, not audited ones that are other `budgets` of attacked laws, and those `undeclared`),
    `guarantees` and `mutants` (a mapping for each row, guarantees worst first), `errata` (paper -> the document's
    entries, texts rendered). CorruptFile if a ledger lacks a column, holds unknown verdicts or says a budget twice,
    or a row names an erratum that the document has not.
    """
    known = {name: _rendered(entry) for name, entry in errata_of.read(errata).items()}
    counts = ledgers.counts(privacy, ledgers.PRIVACY)
    ledger = tables.read_records(privacy)
    missing = [name for name in COLUMNS if name not in ledger]
    if missing:
        raise CorruptFile(f"{privacy} lacks the columns {', '.join(missing)}", made=privacy)
    # The file is sorted by its keys already, and sorting keeps that order among equals.
    guarantees = [_guarantee(line, known, privacy) for line in ledger.to_dict("records")]
    ids = pd.Series([row["id"] for row in guarantees], dtype=str)
    if ids.duplicated().any():
        raise CorruptFile(f"{privacy} says twice {ids[ids.duplicated()].iloc[0]}", made=privacy)
    guarantees.sort(key=lambda row: (ledgers.PRIVACY.index(row["verdict"]), -row["share"]))
    broken = _mutants(mutants)
    caught = ledgers.counts(mutants, ledgers.MUTANTS)
    return {
        "counts": counts,
        "apart": {
            "controls": sum(row["control"] for row in guarantees),
            "noise": sum(row["wrong_noise"] for row in guarantees),
            "budgets": sum(row["reason"].startswith(ledgers.OTHER_BUDGET) for row in guarantees),
            "undeclared": sum(
                not row["attacked"] and not row["reason"].startswith(ledgers.OTHER_BUDGET) for row in guarantees
            ),
        },
        "guarantees": guarantees,
        "legend": [(bar(bound, 1.0, proved), words) for bound, proved, words in LEGEND],
        "options": json.dumps({"filters": _filters(guarantees)}),
        "mutant_counts": caught,
        "mutant_words": _mutant_words(caught, broken),
        "mutants": [_mutant(line, known) for line in broken],
        "mutant_options": json.dumps({"filters": {"group": {"label": "group"}, "verdict": {"label": "verdict"}}}),
        "errata": _by_paper(known),
    }


def _filters(guarantees: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the filters of the table, with the words of their menus."""
    said = {"paper": places.called, "mechanism": names.mechanism, "calibration": names.constants}
    return {
        key: {"label": label, "words": {row[key]: said[key](row[key]) for row in guarantees} if key in said else {}}
        for key, label in FILTERS.items()
    }


def bar(bound: float, epsilon: float, proved: bool) -> Markup:
    """Draw, as SVG, the interval in which the epsilon really spent lies, as a share of the claim.

    A line at the claim, filled up to the certified lower bound (NaN: not attacked), hatched between bound and claim
    if the claim is proved to be an upper bound, an arrow where the bound is beyond one and a half times the claim.
    It repeats what stands beside it in words.
    """
    least = 0.0 if math.isnan(bound) else max(0.0, _CLAIM * bound / epsilon)
    parts = [f'<path class="axis" d="M0 7H{_END:g}"/>']
    if proved and least < _CLAIM:
        parts.append(f'<path class="most" d="M{least:.1f} 2H{_CLAIM:g}V12H{least:.1f}Z"/>')
    if least > _END:
        parts.append(f'<path class="least beyond" d="M0 2H{_END - 9:g}L{_END:g} 7L{_END - 9:g} 12H0Z"/>')
    elif least > 0:
        parts.append(f'<path class="least{" beyond" if least > _CLAIM else ""}" d="M0 2H{least:.1f}V12H0Z"/>')
    parts.append(f'<path class="claim" d="M{_CLAIM:g} 0V{_HEIGHT}"/>')
    return Markup(f'<svg class="interval" viewBox="0 0 152 {_HEIGHT}" aria-hidden="true">{"".join(parts)}</svg>')


def _guarantee(line: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]], path: str | Path) -> dict[str, Any]:
    """Return one row of the ledger, with its numbers in words."""
    bound, epsilon = float(line["audit_lower_bound"]), float(line["epsilon"])
    attacked, refuted = line["verdict"] != "not audited", line["verdict"] == "refuted"
    # Where the code draws other noise than promised, proofs and exact bounds say nothing of it.
    wrong_noise = NOISE in (line["reason"] or "")
    proved = line["guarantee"] in PROVED and not refuted and not wrong_noise
    # A bound beyond the claim need not refute it: one attack alone may err, and Holm's procedure over all decides.
    alone = attacked and not refuted and line["confidence"] < 1 and bound > epsilon
    shown_share, interval = "", ""
    if ledgers.unbounded(bound):
        shown_share = "no bound"
    elif attacked:
        shown_share = _share(bound / epsilon)
    if attacked or proved:
        # The bar of a claim that is not refuted ends at the line.
        interval = bar(min(bound, epsilon) if alone else bound, epsilon, proved)
    names = (line["errata"] or "").split() if isinstance(line["errata"], str) else []
    for name in names:
        if name not in known:
            raise CorruptFile(
                f"{path}: erratum {name!r} is not in docs/errata.md; write it there or mend config/audits.yaml"
            )
    variant = line["variant"] or ""
    key = (line["paper"], line["mechanism"], variant or "any", line["calibration"], line["neighbours"])
    budget = (repr(epsilon), repr(float(line["delta"])))
    row = {
        "id": "-".join(("guarantee", *key, *budget)).replace("+", ""),
        "verdict": line["verdict"],
        "paper": line["paper"],
        "mechanism": line["mechanism"],
        "calibration": line["calibration"],
        "neighbours": RELATIONS.get(line["neighbours"], line["neighbours"]),
        "variant": variant,
        "epsilon": f"{epsilon:.4g}",
        "delta": f"{float(line['delta']):.3g}",
        "guarantee": line["guarantee"],
        "exact": {
            "epsilon": repr(epsilon),
            "delta": repr(float(line["delta"])),
            "bound": repr(bound) if attacked else "",
            "share": repr(bound / epsilon) if attacked else "",
        },
        "share": bound / epsilon if attacked else -1.0,
        "shown_share": shown_share,
        "spent": _spent(bound if attacked else None, epsilon, proved, alone),
        "bar": interval,
        "errata": [known[name] for name in names],
        "note": _note(line) if refuted else "",
        "reason": line["reason"] or "",
        "attacked": attacked,
        "alone": alone,
        "control": refuted and variant in ledgers.CONTROLS,
        "unbounded": ledgers.unbounded(bound),
        "wrong_noise": wrong_noise,
    }
    row["sentence"] = _sentence(row, line)
    row["facts"] = _attack(line) if attacked else {}
    return row


def _spent(bound: float | None, epsilon: float, proved: bool, alone: bool) -> str:
    """Say in a few words in which interval the epsilon really spent lies."""
    if bound is None:
        return f"at most {epsilon:.4g}" if proved else "unknown"
    least, most = rounded_down(bound), f"{epsilon:.4g}"
    if alone:
        return f"{'at most ' + most if proved else 'unknown'}; {least} alone, not after Holm"
    if not proved:
        return ledgers.least(bound)
    return f"exactly {most}" if least == most else f"{least} to {most}"


def _share(share: float) -> str:
    """Say a share of the claim: in percent, from one and a half on as a factor."""
    if share > _END / _CLAIM:
        return f"{rounded_down(share)} times"
    return f"{math.floor(share * 1000 * (1 + 1e-12)) / 10:.4g} %"


def _sentence(row: Mapping[str, Any], line: Mapping[str, Any]) -> str:
    """Say what was claimed, what the attack shows and what a proof leaves open."""
    certified = rounded_down(float(line["audit_lower_bound"]))
    budget = f"ε = {row['epsilon']}" + (f", δ = {row['delta']}" if line["delta"] else "")
    law = f" ({names.law(row['variant'])})" if row["variant"] else ""
    claimed = f"{names.mechanism(row['mechanism'])}{law} claims {budget} for {row['neighbours']} neighbours"
    proof = GUARANTEES.get(row["guarantee"], row["guarantee"])
    if not row["attacked"]:
        return f"{claimed}; this budget was not attacked ({row['reason']}). Guarantee: {proof}."
    certainty = "exactly computed" if line["confidence"] == 1 else f"certified with confidence {line['confidence']:.4g}"
    least = f"an attack shows that at least ε = {certified} is spent ({certainty})"
    if row["unbounded"]:
        least = f"an attack finds {ledgers.NO_BOUND_WORDS} ({certainty})"
    if row["alone"]:
        least = (
            f"ε = {certified} was certified alone ({certainty}), not after Holm over the ledger: the claim is not "
            "refuted"
        )
    if row["verdict"] == "refuted":
        return f"{claimed}, but {least}: the claim is refuted."
    most = f"a proof says at most {row['epsilon']}" if row["guarantee"] in PROVED else "no proof bounds it from above"
    if row["wrong_noise"]:
        most = f"{NOISE}, of which alone proofs and computed bounds speak"
    return f"{claimed}; {least}, and {most}. Guarantee: {proof}."


def _attack(line: Mapping[str, Any]) -> dict[str, str]:
    """Return the attack in words, by heading."""
    draws = int(line["draws"]) if not pd.isna(line["draws"]) else 0
    facts = {
        "neighbours": f"{line['pair']} ({RELATIONS.get(line['neighbours'], line['neighbours'])})",
        "attack": f"{line['attack']}; {line['reason']}",
        "event": line["event"],
        # What is 0 in a double counts as 1e-300 (`dperm.audit.line`), so that the bound is a number.
        "seen": line["counts"] + ("; 0 counts as 1e-300" if "1e-300" in line["counts"] else ""),
        "draws": f"{draws:,} on each side" if draws else "none: the probabilities are computed",
        "confidence": "certain, for the law that the constants describe" if line["confidence"] == 1
        else f"{line['confidence']:.4g}",
        "p-value": f"{_p(line['p_value'])} of the claim; {_p(line['p_holm'])} by Holm over the ledger",
    }  # fmt: skip
    if not pd.isna(line["white_box_p"]):
        drawn = "is not" if NOISE in line["reason"] else "agrees with"
        facts["recovered noise"] = f"p = {_p(line['white_box_p'])}: it {drawn} the promised one; decides no verdict"
    return facts


def _p(value: float) -> str:
    return f"{value:.3g}"


def _note(line: Mapping[str, Any]) -> str:
    """Return why a refuted guarantee is no slip of its paper, where it is none."""
    mechanism, rest = line["mechanism"], (line["calibration"], line["variant"])
    return NOTES.get((mechanism, *rest)) or NOTES.get((None, *rest)) or ""


def _mutants(path: str | Path) -> list[dict[str, Any]]:
    broken = tables.read_records(path)
    missing = [name for name in MUTANT_COLUMNS if name not in broken]
    if missing:
        raise CorruptFile(f"{path} lacks the columns {', '.join(missing)}", made=path)
    return broken.to_dict("records")


def _mutant(line: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    sampled = not pd.isna(line["hits"])
    counts = "exact"
    if sampled:
        hits = [int(line[name]) for name in ("hits", "tries", "other_hits", "other_tries")]
        counts = "{:,} of {:,} against {:,} of {:,}".format(*hits)
    numbers = {name: float(line[name]) for name in ("epsilon", "delta", "mutant_bound", "twin_bound")}
    return {
        "id": f"mutant-{line['group']}-{line['name']}",
        **{
            name: line[name]
            for name in ("name", "group", "broken", "attack", "event", "verdict", "twin_verdict", "caught_by")
        },
        "caught": line["verdict"] != "not caught",
        # Of a mutant "refuted" is the good news.
        "shown_verdict": "caught" if line["verdict"] == "refuted" else line["verdict"],
        "wronged": line["twin_verdict"] != "holds up",
        "source": errata_of.links(line["source"], known),
        "neighbours": RELATIONS.get(line["neighbours"], line["neighbours"]),
        "epsilon": f"{line['epsilon']:.4g}",
        "delta": f"{line['delta']:.3g}",
        "counts": counts,
        **{
            name: "no bound" if ledgers.unbounded(numbers[f"{name}_bound"]) else rounded_down(numbers[f"{name}_bound"])
            for name in ("mutant", "twin")
        },
        "exact": {name: repr(value) for name, value in numbers.items()},
        "p": _p(line["p_holm"]),
        "white_box_p": "" if pd.isna(line["white_box_p"]) else _p(line["white_box_p"]),
    }


def _rendered(entry: errata_of.Erratum) -> dict[str, Any]:
    texts = {name: errata_of.html(getattr(entry, name)) for name in ("printed", "right", "what")}
    return {"name": entry.name, "paper": entry.paper, "privacy": entry.privacy, **texts}


def _by_paper(known: Mapping[str, Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    papers = sections.in_order(entry["paper"] for entry in known.values())
    return {paper: [entry for entry in known.values() if entry["paper"] == paper] for paper in papers}


def _mutant_words(counts: Mapping[str, int], broken: list[dict[str, Any]]) -> str:
    found = f"{sum(counts.values()) - counts['not caught']} of {len(broken)} mutants are caught"
    wronged = sum(line["twin_verdict"] != "holds up" for line in broken)
    return f"{found}, {wronged} of {len(broken)} twins are wronged"
