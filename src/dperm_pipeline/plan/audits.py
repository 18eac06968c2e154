"""From config/audits.yaml to audits and their jobs.

An *audit* is one mechanism x calibration at one pair family, or one group of mutants. Calibrations of a mechanism that
are attacked in seconds may be one audit (`together`): each budget then names its own calibration. Pairs in inner
brackets share a job, as values on an axis of a grid do (dperm_pipeline.plan.grids); the rows of an audit do not depend
on the brackets.
"""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from dperm.audit.families import FAMILIES
from dperm.errors import ConfigError
from dperm.mechanisms import REGISTRY
from dperm_pipeline import config_files
from dperm_pipeline.plan import grids

# The path name under which groups of mutants stand beside mechanisms.
MUTANTS = "mutants"


def read(path: str | Path, schema: str | Path) -> dict[str, Any]:
    """Read and validate the file; ConfigError lists all mistakes at once, a line each."""
    declared = config_files.read(path, schema)
    mistakes = list(_unknown(declared))
    seen = set()
    for k, attack in enumerate(declared["attacks"]):
        if (attack["mechanism"], attack["family"]) in seen:
            mistakes.append(
                f"attacks.{k}.mechanism: {attack['mechanism']!r} is there twice; put all its budgets of the family "
                f"{attack['family']!r} in one"
            )
        seen.add((attack["mechanism"], attack["family"]))
        for scale, pairs in attack["pairs"].items():
            mistakes += grids.repeated(f"attacks.{k}.pairs.{scale}", pairs)
    for scale, groups in declared["mutants"].items():
        mistakes += grids.repeated(f"mutants.{scale}", groups)
    if mistakes:
        raise ConfigError("\n".join(f"{path}: {mistake}" for mistake in mistakes))
    return declared


def _unknown(declared: Mapping[str, Any]) -> Iterator[str]:
    for k, attack in enumerate(declared["attacks"]):
        name, family = attack["mechanism"], attack["family"]
        if name not in REGISTRY:
            yield f"attacks.{k}.mechanism: {name!r} is no mechanism{config_files.nearest(name, REGISTRY)}"
        else:
            offered = REGISTRY[name].calibrations
            for budget in attack["budgets"]:
                if budget["calibration"] not in offered:
                    yield (
                        f"attacks.{k}.budgets: calibration {budget['calibration']!r} is not offered by {name!r}: "
                        f"must be one of {', '.join(offered)}"
                    )
        if family not in FAMILIES:
            yield f"attacks.{k}.family: {family!r} is no family{config_files.nearest(family, FAMILIES)}"
            continue
        for scale, pairs in attack["pairs"].items():
            yield from _missing(
                f"attacks.{k}.pairs.{scale}",
                grids.flat(pairs),
                f"pair of the family {family!r}",
                FAMILIES[family].pairs,
            )
    for scale, groups in declared["mutants"].items():
        yield from _missing(f"mutants.{scale}", grids.flat(groups), "group of mutants", FAMILIES[MUTANTS].pairs)


def _missing(place: str, names: Collection[str], what: str, known: Collection[str]) -> Iterator[str]:
    for name in names:
        if name not in known:
            yield f"{place}: {name!r} is no {what}{config_files.nearest(name, known)}"


def jobs(
    declared: Mapping[str, Any], settings: Mapping[str, Any], scale: str, seed: int, papers: Collection[str]
) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Return the audits of each job of one scale, by (path name of the mechanism, pairs); mutants by "mutants", groups.

    Names of pairs that share a job are joined by hyphens, and cut where that is too long for a file's name.
    """
    head = {"draws": int(settings["draws"][scale]), "confidence": float(settings["confidence"]), "seed": seed}
    found = {}
    for attack in declared["attacks"]:
        if attack["paper"] not in papers:
            continue
        together = attack.get("together", False)
        calibrations = dict.fromkeys(budget["calibration"] for budget in attack["budgets"])
        # One audit for each calibration, or for all of them, whose rows then name their own.
        for calibration in [None] if together else calibrations:
            rows = [
                {
                    **({"calibration": budget["calibration"]} if together else {}),
                    "neighbours": budget["neighbours"],
                    "variant": budget["variant"],
                    "epsilon": float(budget["epsilon"]),
                    "delta": float(budget["delta"]),
                }
                for budget in attack["budgets"]
                if together or budget["calibration"] == calibration
            ]
            name = attack["mechanism"] if together else f"{attack['mechanism']}.{calibration}"
            audit = {
                **head,
                **{key: attack[key] for key in ("paper", "mechanism", "family")},
                **({} if together else {"calibration": calibration}),
                "rows": rows,
            }
            for pairs in grids.batches(attack["pairs"][scale]):
                found[name.replace("_", "-"), _joined(pairs)] = [{**audit, "pair": pair} for pair in pairs]
    for groups in grids.batches(declared["mutants"][scale]):
        found[MUTANTS, _joined(groups)] = [{**head, "family": "mutants", "group": group} for group in groups]
    return found


def _joined(names: list[str]) -> str:
    return grids.capped("-".join(names), names)


def single(found: Mapping[tuple[str, str], Collection[dict[str, Any]]]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the audits of all jobs by (path name of the mechanism, pair), whichever job they are in."""
    return {
        (name, audit["group"] if name == MUTANTS else audit["pair"]): audit
        for (name, _), audits in found.items()
        for audit in audits
    }


def errata(declared: Mapping[str, Any], papers: Collection[str]) -> list[dict[str, Any]]:
    """Return the budgets that name errata: the ledger's key columns, and `errata` ("J1 J9").

    They are no part of a job: an erratum is said of a guarantee, and attacks it no differently.
    """
    return [
        {
            **{key: attack[key] for key in ("paper", "mechanism")},
            **{key: budget[key] for key in ("variant", "calibration", "neighbours")},
            **{key: float(budget[key]) for key in ("epsilon", "delta")},
            "errata": " ".join(budget["errata"]),
        }
        for attack in declared["attacks"]
        for budget in attack["budgets"]
        if attack["paper"] in papers and budget.get("errata")
    ]
