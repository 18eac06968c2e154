"""Read and check the catalogue of claims.

This module is separate from the rules, so that rewording an error message does not re-run the verdicts.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dperm.errors import ConfigError
from dperm_pipeline import config_files
from dperm_pipeline.claims import forms, select

# What a test needs of the claim or of each of its variants, besides what the schema asks for.
NEEDED = {
    "bound": ("axes",),
    "crossing": ("at_least", "axis", "better", "worse"),
    "equal": ("comparisons", "points"),
    "monotone": ("axis", "comparisons", "points"),
    "ordered": ("comparisons", "points"),
    "slope": ("axis", "expected", "margin"),
    "vanishing": ("axis",),
    "weakest": ("members",),
    "within": ("comparisons", "points"),
}
# Column -> its values that need other words than their own, where the paper leaves the column open.
VALUES = {"zeta": {"range": "of the whole range", "typical": "of 99 % of records", "unit": "of 1"}}


@dataclass(frozen=True)
class Needs:
    """The experiments whose rows decide a claim, in order, and whether the privacy ledger does too."""

    experiments: tuple[str, ...]
    ledger: bool


def load(
    paths: str | Path | Sequence[str | Path], schema: str | Path, *, datasets: Collection[str] | None = None
) -> list[dict[str, Any]]:
    """Read the catalogue of claims, hold it against its JSON Schema, and add the variants that `again` stands for.

    Notes and remarks, which name variants of their claim, have them in words. Without `datasets` their names are not
    checked. ConfigError lists all mistakes at once, with their keys: a key missing or unknown, a value outside its
    range, an id twice, a metric that is reported but not tested, a data set that does not exist, two variants of a
    claim with the same words.
    """
    paths = [paths] if isinstance(paths, str | Path) else list(paths)
    catalogue = [_written_out(claim) for path in paths for claim in config_files.read(path, schema)]
    catalogue = _in_readable_words(catalogue)
    mistakes = list(_contradictions(catalogue, datasets))
    if mistakes:
        where = ", ".join(map(str, paths))
        raise ConfigError("\n".join(f"{where}: {mistake}" for mistake in mistakes))
    return catalogue


def _written_out(claim: Mapping[str, Any]) -> dict[str, Any]:
    """Return the claim with a variant more for every entry of a variant's `again`: the same on other rows.

    From `again: {unit: {zeta: unit}}`, `printed` has the sibling `printed-over-unit`, and `printed-over-error` has
    `printed-over-errorunit`: of their `where` the columns named here have these values. Each is a choice of what the
    paper leaves open; a `dataset` among them is none, but where the choice can be made.
    """
    variants, left_open = {}, {}
    for name, variant in claim["variants"].items():
        own = {key: value for key, value in variant.items() if key != "again"}
        others = variant.get("again", {})
        columns = {column: own["where"].get(column) for where in others.values() for column in _chosen(where)}
        left_open |= columns
        variants[name] = {**own, "choice": _in_words(columns)} if columns else own
        for word, where in others.items():
            sibling = f"{name}{word}" if forms.BETWEEN in name else f"{name}{forms.BETWEEN}{word}"
            if sibling in claim["variants"]:
                raise ConfigError(f"{claim['id']}: {sibling!r} stands among the variants and in `again`; rename one")
            variants[sibling] = {**own, "where": {**own["where"], **where}, "choice": _in_words(_chosen(where))}
    named = {"depends_on": " or ".join(left_open)} if left_open else {}
    return {**named, **claim, "variants": variants}


def _chosen(where: Mapping[str, Any]) -> dict[str, Any]:
    return {column: value for column, value in where.items() if column != "dataset"}


def _in_words(where: Mapping[str, Any]) -> str:
    return " with ".join(
        f"{column} {' and '.join(VALUES.get(column, {}).get(one, str(one)) for one in select.listed(value))}"
        for column, value in where.items()
    )


def _in_readable_words(catalogue: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the claims with the variants that their notes and remarks name in words; entries of one id share them."""
    variants: dict[str, dict[str, Any]] = {}
    for claim in catalogue:
        variants.setdefault(claim["id"], {}).update(claim["variants"])
    return [
        claim | {key: forms.named(claim[key], variants[claim["id"]]) for key in ("note", "remark") if key in claim}
        for claim in catalogue
    ]


def standing_on(catalogue: Sequence[Mapping[str, Any]], name: str) -> list[Mapping[str, Any]]:
    """Return the entries of one claim and of all that it sums up (`weakest`); ConfigError if no claim has this id."""
    ids = {claim["id"] for claim in catalogue}
    if name not in ids:
        raise ConfigError(f"no claim {name!r} in resources/claims{config_files.nearest(name, ids)}")
    wanted, waiting = set(), [name]
    while waiting:
        member = waiting.pop()
        wanted.add(member)
        for claim in catalogue:
            if claim["id"] == member:
                waiting += _members(claim) - wanted
    return [claim for claim in catalogue if claim["id"] in wanted]


def needs(catalogue: Sequence[Mapping[str, Any]], name: str) -> Needs:
    """Return what has to be there before one claim can be decided; ConfigError if no claim has this id."""
    experiments, ledger = set(), False
    for claim in standing_on(catalogue, name):
        for variant in claim["variants"]:
            rule = select.settings(claim, variant)
            # A summary reads no rows, nor does a variant that is not run.
            if claim["test"] == "weakest" or "not_run" in rule or "no_such_form" in rule:
                continue
            if claim.get("datasets"):
                experiments.add(claim["experiment"])
            ledger = ledger or "ledger" in rule
    return Needs(tuple(sorted(experiments)), ledger)


def _contradictions(catalogue: list[Mapping[str, Any]], datasets: Collection[str] | None) -> Iterator[str]:
    """Yield what a schema cannot see: names that do not agree with each other."""
    # A claim with two tests has an entry for each; their verdicts are told apart by the variant.
    names = [(claim["id"], variant) for claim in catalogue for variant in claim["variants"]]
    for name, variant in sorted({name for name in names if names.count(name) > 1}):
        yield f"id: {name!r} stands twice with the variant {variant!r}; give each its own"
    yield from _unclear(catalogue)
    ids = {claim["id"] for claim in catalogue}
    for claim in catalogue:
        for name in sorted(_members(claim)):
            if name not in ids:
                yield f"{claim['id']}.members: {name!r} is no claim{config_files.nearest(name, ids)}"
        metrics = claim.get("metrics", ())
        for key in ("measured", "ratio"):
            if key in claim and claim[key] not in metrics:
                allowed = ", ".join(metrics)
                yield (
                    f"{claim['id']}.{key}: {claim[key]!r} is not among metrics: must be one of {allowed}, or add it "
                    "there"
                )
        for variant in sorted(claim["variants"]):
            if not {"not_run", "no_such_form"} & set(claim["variants"][variant]):
                yield from _lacking(claim, variant)
        choices = sorted(variant for variant, settings in claim["variants"].items() if "choice" in settings)
        if choices and "depends_on" not in claim:
            yield f"{claim['id']}: the variant {choices[0]!r} has a choice, but depends_on does not say of what"
        for name in claim.get("beside", ()):
            known = {*claim["variants"], *claim.get("datasets", ())}
            if name not in known:
                hint = config_files.nearest(name, known)
                yield f"{claim['id']}.beside: {name!r} is neither a variant nor a data set of the claim{hint}"
        for name in claim.get("datasets", ()):
            if datasets is not None and name not in datasets:
                hint = config_files.nearest(name, datasets)
                yield f"{claim['id']}.datasets: {name!r} is neither in config/datasets.yaml nor a design{hint}"


def _unclear(catalogue: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what readers could not tell apart, or could not read."""
    first: dict[tuple[str, str], str] = {}
    for claim in catalogue:
        for variant, settings in claim["variants"].items():
            words = forms.told(variant, settings)
            other = first.setdefault((claim["id"], words), variant)
            if other != variant:
                yield f"{claim['id']}: {other!r} and {variant!r} have the same words, {words!r}; give each its own"
        for key in ("note", "remark"):
            if forms.BETWEEN in claim.get(key, ""):
                name = claim[key].partition(forms.BETWEEN)[2].split()[0].strip(".,:;()`")
                yield f"{claim['id']}.{key}: it names a variant {name!r}, which the claim does not have"


def _lacking(claim: Mapping[str, Any], variant: str) -> Iterator[str]:
    """Yield what the test needs of a variant that neither it nor its claim says."""
    test, rule = claim["test"], select.settings(claim, variant)
    for key in NEEDED.get(test, ()):
        if key not in rule:
            yield f"{claim['id']}: {key} is missing, for the variant {variant!r} too: {test} needs it"
    for number, comparison in enumerate(rule.get("comparisons", ())):
        terms = comparison.get("terms", [{}])
        if "metric" not in rule and "metric" not in comparison and not all("metric" in term for term in terms):
            yield f"{claim['id']}: the variant {variant!r}, comparisons.{number}: metric is missing"
    if test == "within" and "low" not in rule and "high" not in rule:
        yield f"{claim['id']}: the variant {variant!r} needs low or high, or both"
    if test == "threshold" and ("at_least" in rule) == ("at_most" in rule):
        yield f"{claim['id']}: the variant {variant!r} needs either at_least or at_most"


def _members(claim: Mapping[str, Any]) -> set[str]:
    """The claims that one entry sums up, as a whole or in any of its variants."""
    return {name for part in (claim, *claim["variants"].values()) for name in part.get("members", ())}
