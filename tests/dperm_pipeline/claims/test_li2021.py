"""The claims of li2021 are decided by the rules of the catalogue: which test, margin, shares, points."""

import real_claims
import together

from dperm_pipeline.claims import select

CLAIMS = real_claims.of("li2021")
POISSON = {"poisson-500", "poisson-1000"}
# AUC, share, log distance; error is log mean squared error (0.02) or misclassification (0.005).
ERROR = {0.02, 0.005}
# id -> (test, margins, share of points that hold ("general": 0.6), data sets); as the catalogue has them.
RULES = {
    "N-c01": ("ordered", {0.05}, 0.8, 6),
    "N-c01b": ("ordered", {0.05}, 0.8, 6),
    "N-c03": ("ordered", {0.02}, 0.8, 6),
    "N-c08": ("equal", {0.01}, 0.8, 3),
    "N-c08b": ("equal", {0.02}, 0.8, 2),
    "N-c08c": ("equal", {0.005}, 0.8, 1),
    "N-c08d": ("equal", {0.02}, 0.8, 2),
    "N-c08e": ("equal", {0.005}, 0.8, 1),
    "N-c13": ("equal", ERROR, 0.8, 6),
    "N-c28": ("monotone", {0.0}, 0.8, 2),
    "N-c28a": ("ordered", {0.0}, 0.8, 2),
    "N-c29": ("ordered", {0.02}, 0.6, 2),
    "N-c30": ("monotone", {0.0}, 0.8, 2),
    "N-c30 settles": ("equal", {0.05}, 0.8, 2),
    "N-c41": ("ordered", {0.02}, 0.8, 3),
    "N-c42": ("equal", {0.05}, 0.8, 6),
    "N-c43": ("ordered", {0.05}, 0.95, 4),
    "N-c44": ("ordered", {0.05}, 0.8, 2),
    "N-c44a": ("ordered", {0.05}, 0.8, 6),
    "N-c45": ("ordered", ERROR, 0.6, 6),
    "N-c45a": ("ordered", {0.02}, 0.6, 1),
    "N-c45b": ("ordered", ERROR, 0.6, 6),
    "N-c45c": ("ordered", {0.02}, 0.6, 1),
    "N-c46": ("monotone", {0.0}, 0.8, 6),
    "N-c46a": ("monotone", {0.0}, 0.8, 6),
    "N-c47a": ("ordered", ERROR, 0.6, 6),
    "N-c47b": ("ordered", ERROR, 0.6, 6),
    "N-c50": ("equal", {0.002}, 0.8, 1),
    "N-c51": ("equal", {0.003}, 0.8, 1),
    "N-c52": ("equal", {0.005}, 0.8, 1),
    "N-c53": ("ordered", {0.005}, 0.6, 1),
    "N-c54a": ("equal", {0.002}, 0.8, 1),
    "N-c55": ("monotone", {0.0}, 0.8, 6),
    "N-c55 plateau": ("equal", {0.02}, 0.8, 6),
    "N-c56": ("ordered", {0.02}, 0.8, 6),
    "N-c56a": ("equal", {0.02}, 0.8, 6),
    "N-c57": ("ordered", {0.02}, 0.8, 6),
    "N-c58": ("ordered", {0.02}, 0.8, 6),
    "N-c59": ("equal", {0.05}, 0.6, 6),
    "N-c59 small": ("ordered", {0.0}, 0.8, 3),
    "N-c60": ("ordered", {0.02}, 0.8, 1),
    "N-c61": ("equal", {0.05}, 0.8, 2),
    "N-c62": ("equal", {0.05}, 0.8, 2),
    "N-c63a": ("ordered", {0.02}, 0.8, 2),
    "N-c63b": ("ordered", {0.02}, 0.8, 2),
    "N-c64": ("ordered", {0.0}, 0.8, 2),
    "N-c65a": ("ordered", {0.0}, 0.8, 6),
    "N-c65b": ("ordered", {0.0}, 0.8, 2),
    "N-c65c": ("ordered", {0.0}, 0.8, 4),
    "N-c65d": ("ordered", {0.0}, 0.8, 2),
    "N-c65e": ("ordered", {0.0}, 0.8, 4),
    "N-c67a": ("equal", {0.05}, 0.8, 6),
    "N-c67b": ("equal", {0.04, 0.01}, 0.8, 6),
    "N-c67c": ("equal", {0.05}, 0.8, 6),
    "N-c73a": ("ordered", {0.02}, 0.8, 6),
    "N-c73b": ("ordered", {0.02}, 0.8, 6),
}
ENTRIES = [claim for claim in CLAIMS if claim["test"] in ("equal", "monotone", "ordered")]


def names(claim):
    """The id, and what an entry of two that share it is about."""
    words = {variant.partition("-over-")[2] for variant in claim["variants"]}
    found = [f"{claim['id']} {word}" for word in words if f"{claim['id']} {word}" in RULES]
    return found or [claim["id"]]


def margins(claim):
    found = set()
    for variant in claim["variants"]:
        rule = select.settings(claim, variant)
        if not {"not_run", "no_such_form"} & set(rule):
            found |= {part.get("margin", rule.get("margin", 0.0)) for part in rule["comparisons"]}
    return found


@together.over("claim", ENTRIES)
def test_orders_equalities_and_trends_are_decided_as_the_catalogue_says(claim):
    (name,) = names(claim)
    hold = claim.get("hold", 0.6 if claim.get("general", False) else 0.8)
    assert (claim["test"], margins(claim), hold, len(claim["datasets"])) == RULES[name]
    assert "reversed" not in claim
    by_rank, poisson = set(claim.get("wilcoxon_for", ())), POISSON & set(claim["datasets"])
    if claim["test"] == "monotone":
        assert not by_rank  # a mean of correlations
    elif name == "N-c44a":
        assert by_rank == set(claim["datasets"]) - POISSON  # every point, named by its first term, has a Poisson term
    elif name == "N-c03" or claim.get("metric") == "share_mean":
        assert not by_rank  # a rate, and a formula without repeats
    else:
        assert by_rank == poisson


def test_every_rule_of_the_table_has_its_claim():
    assert {name for claim in ENTRIES for name in names(claim)} == set(RULES)


def test_what_may_happen_needs_one_point():
    """ "In some cases" (N-c48, N-c55) and an effect of either sign (N-c54b): one point suffices, the level shared."""
    some = {claim["id"]: claim for claim in CLAIMS if claim.get("some", False)}
    least = {"N-c48a": 0, "N-c48b": 0, "N-c48c": 0, "N-c48d": 0, "N-c55": 0.98}
    least |= {"N-c54b": 0.002, "N-c54c": 0.002, "N-c79": 0.005, "N-c79b": 0.02, "N-c80": 0}
    assert {name: claim["low"] for name, claim in some.items()} == least
    assert all(claim["test"] == "within" and claim["holm"] for claim in some.values())


def test_points_with_nothing_to_compare_are_left_out_in_words_only():
    """Where a variant leaves points out, its name or its entry's note says so."""
    for claim in ENTRIES:
        for variant in claim["variants"]:
            filtered = "informative" in select.settings(claim, variant).get("where", {})
            assert not filtered or "informative" in variant or "left out" in claim["note"], (claim["id"], variant)


def test_privacy_s_twins():
    """Every claim about the published mechanisms has a twin for the corrected ones, run or with the reason why not."""
    of_no_mechanism = {"N-c48", "N-c49", "N-c50"}
    variants = {}
    for claim in CLAIMS:
        variants.setdefault(claim["id"], set()).update(claim["variants"])
    for name, own in variants.items():
        assert own & {"corrected", "tight"} or name in of_no_mechanism, name
