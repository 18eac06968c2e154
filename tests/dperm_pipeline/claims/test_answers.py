"""One answer a claim: the words follow from its tests, and every claim of the catalogue has one."""

import math
import re
from pathlib import Path

import pandas as pd
import together
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from dperm_pipeline.claims import VERDICTS, answers

ROOT = Path(__file__).parents[3]
YES, NO, OPEN, ABSENT = VERDICTS


def line(variant, verdict, **own):
    known = {
        "id": "K-c38", "paper": "kifer2012", "place": "Section 1", "statement": "a", "test": "paired", "dataset": "",
        "measured": math.nan, "expected": math.nan, "certified": math.nan, "held": 1, "points": 2, "headline": False,
        "figure": "f", "depends_on": "", "choice": "", "remark": "", "beside": False,
    }  # fmt: skip
    return {**known, "variant": variant, "verdict": verdict, **own}


def answer(*lines):
    (found,) = answers.answers(pd.DataFrame(lines))
    return found


@together.over(
    ("forms", "words"),
    [
        ({"printed": YES}, "holds as printed"),
        ({"printed": YES, "tight": NO}, "holds as printed"),
        ({"printed": NO, "corrected": YES}, "holds when mended"),
        ({"printed": NO, "corrected": NO, "tight": YES}, "holds when mended"),
        ({"printed": OPEN, "mended": YES}, "holds when mended"),
        ({"mended": YES}, "holds when mended"),
        ({"printed": NO, "tight": OPEN}, "fails"),
        ({"printed": OPEN, "tight": NO}, "undecided"),
        ({"printed": ABSENT, "tight": ABSENT}, "not run"),
        ({"printed": YES, "printed-over-n": NO}, "fails"),
        ({"printed": YES, "printed-over-n": OPEN}, "undecided"),
        ({"printed": YES, "printed-over-n": ABSENT}, "holds as printed"),
        ({"printed": NO, "corrected": YES, "corrected-over-n": NO}, "fails"),
    ],
)
def test_a_claim_of_one_statement(forms, words):
    assert answer(*(line(variant, verdict) for variant, verdict in forms.items())).words == words


def test_the_weakest_part_decides_and_may_be_mended_by_itself():
    mended = [line("printed", NO, id="K-c20a", statement="b"), line("mended", YES, id="K-c20a", statement="b")]
    found = answer(line("printed", YES, id="K-c20"), *mended)
    assert (found.claim, found.words, found.form) == ("K-c20", "holds when mended", "mended")
    assert answer(line("printed", NO, id="K-c20"), *mended).words == "fails"
    assert answer(line("printed", ABSENT, id="K-c20"), *mended).words == "holds when mended"


def test_a_summary_is_no_evidence_but_says_the_whole():
    summary = line("printed", NO, id="D-c01", test="weakest", statement="all")
    found = answer(summary, line("printed", YES, id="D-c01a"))
    assert (found.words, found.statement, found.tests) == ("holds as printed", "all", 1)
    assert answers.answers(pd.DataFrame([summary])) == []


def test_what_a_claim_depends_on_is_named_with_where_it_holds():
    def tests(*verdicts, **own):
        names = ("adult", "digits", "toy")
        return [line("printed", v, dataset=name, **own) for name, v in zip(names, verdicts, strict=False)]

    found = answer(*tests(YES, NO, OPEN, depends_on="the data set"))
    assert found.words == "depends on the data set"
    assert found.where == "holds at adult; fails at digits; undecided at toy"
    assert answer(*tests(YES, NO)).words == "fails"
    assert answer(*tests(YES, OPEN, depends_on="the data set")).where == "holds at adult; undecided at digits"
    assert answer(*tests(NO, OPEN, depends_on="the data set")).words == "fails"
    assert answer(*tests(NO, NO, depends_on="the data set")).words == "fails"


def test_variants_with_a_choice_are_alternatives_and_others_hold_for_all():
    one = line("printed", YES, depends_on="zeta", choice="1")
    other = line("printed-over-large", NO, depends_on="zeta", choice="20")
    assert answer(one, other).where == "holds at 1; fails at 20"
    assert answer(one, other, line("printed-over-n", NO, depends_on="zeta")).words == "fails"
    more = [line(f"printed-over-{k}", NO, depends_on="zeta", choice=str(k)) for k in range(20, 29)]
    assert answer(one, *more).where == "holds at 1; fails at 9 other choices"


def test_what_is_left_open_has_to_fail_at_every_choice():
    """At the others nothing refutes the claim: undecided, or not run."""
    failed = line("printed", NO, depends_on="zeta", choice="1")
    for verdict, words in ((OPEN, "undecided"), (ABSENT, "not run")):
        found = answer(failed, line("printed-over-large", verdict, depends_on="zeta", choice="20"))
        assert (found.words, found.where) == ("undecided", f"shown at none: fails at 1; {words} at 20")
    assert answer(failed, line("printed-over-large", NO, depends_on="zeta", choice="20")).words == "fails"
    assert answer(failed, line("corrected", YES, depends_on="zeta")).words == "holds when mended"


def test_of_several_things_left_open_those_count_that_make_a_difference():
    def at(variant, verdict, choice):
        return line(variant, verdict, depends_on="zeta or delta", choice=choice)

    base, other, delta = (
        ("printed", NO, "zeta range with delta 0.01"), ("printed-over-unit", YES, "zeta unit"),
        ("printed-over-tabled", NO, "delta 0.1"),
    )  # fmt: skip
    found = answer(at(*base), at(*other), at(*delta))
    assert (found.words, found.where) == ("depends on zeta", "holds at zeta unit; fails at zeta range")
    found = answer(at(*base), at(*other), at(delta[0], YES, delta[2]))
    assert found.words == "depends on zeta or delta"
    assert found.where == "holds at zeta unit, delta 0.1; fails at zeta range with delta 0.01"
    assert answer(at(*base), at(other[0], NO, other[2]), at(*delta)).words == "fails"
    # Alone neither makes a difference, and together they do.
    both = at("printed-over-tabledunit", YES, "delta 0.1 with zeta unit")
    found = answer(at(*base), at(other[0], NO, other[2]), at(*delta), both)
    assert found.words == "depends on zeta or delta"
    assert found.where == (
        "holds at delta 0.1 with zeta unit; fails at zeta range with delta 0.01, zeta unit, delta 0.1"
    )


def test_an_answer_says_which_parts_fare_better_than_the_weakest():
    found = answer(line("printed", YES, statement="The main clause."), line("printed", NO, id="K-c38a", statement="b"))
    assert (found.words, found.where) == ("fails", "but “The main clause” holds as printed")


def test_an_answer_names_parts_that_depend_on_something_else():
    def part(name, choice, *verdicts):
        return [
            line(f"printed-over-{k}", v, id=name, statement=f"{name}.", depends_on=choice, choice=str(k))
            for k, v in enumerate(verdicts)
        ]

    found = answer(*part("K-c38", "zeta", YES, NO), *part("K-c38a", "the law", OPEN, YES))
    assert found.words == "depends on zeta"
    assert found.where == "holds at 0; fails at 1; and “K-c38a” depends on the law (holds at 1; undecided at 0)"


def test_a_stated_number_between_what_two_choices_give_depends_on_them():
    def at(choice, measured):
        return line(f"printed-over-{choice}", NO, choice=choice, measured=measured, expected=0.7, depends_on="scaling")

    found = answer(at("raw", 0.6), at("unit", 0.8))
    assert found.words == "depends on scaling" and found.where == "from 0.6 to 0.8, on both sides of 0.7"
    assert answer(at("raw", 0.75), at("unit", 0.8)).words == "fails"


def test_range_and_points_are_those_of_the_tests():
    lines = [
        line("printed", NO, measured=0.5, held=1, points=4), line("printed", NO, measured=0.2, held=None, points=None),
        line("tight", NO, measured=9.0, held=3, points=3),
    ]  # fmt: skip
    found = answer(*lines)
    assert (found.low, found.high, found.held, found.points, found.tests) == (0.2, 0.5, 1, 4, 3)


def test_what_stands_beside_a_claim_decides_nothing_and_remarks_are_read_with_the_answer():
    control = line("printed-over-control", NO, beside=True, points=90)
    found = answer(line("printed", YES, remark="by construction"), control)
    assert (found.words, found.where, found.points, found.tests) == ("holds as printed", "by construction", 2, 1)
    assert answers.answers(pd.DataFrame([control])) == []


def test_a_promise_says_what_is_spent_and_that_nothing_bounds_it():
    spent = line("printed", NO, test="ledger", measured=1.5, certified=1.5)
    endless = line("printed-over-gap", NO, test="ledger", measured=229.0, certified=687.0)
    found = answer(spent, endless)
    assert (found.quantity, found.range) == ("epsilon spent over claimed", "1.5 to ∞")
    by_quadrature = line("printed", YES, test="ledger", measured=0.0)
    assert answer(by_quadrature).quantity == "excess over the bound"


def test_what_is_stated_is_the_number_of_the_printed_form_and_points_are_its_own():
    printed, mended = line("printed", NO, expected=0.5), line("mended", YES, expected=1.0, held=7, points=7)
    found = answer(mended, printed)
    assert (found.words, found.expected, found.held, found.points) == ("holds when mended", 0.5, 1, 2)
    assert math.isnan(answer(mended, printed, line("printed-over-n", YES, expected=-1.0)).expected)
    alone = answer(mended)
    assert (alone.words, alone.where, alone.points) == ("holds when mended", "the printed form has no test", 0)
    assert math.isnan(alone.expected)


def test_points_are_those_of_all_printed_parts_that_ran():
    """Those of the weakest part alone would say nothing of the others."""
    weak = line("printed", NO, id="K-c38a", statement="b", held=0, points=3)
    absent = line("printed", ABSENT, id="K-c38b", statement="c", held=None, points=None)
    found = answer(line("printed", YES, held=1000, points=1000), line("tight", YES, points=7), weak, absent)
    assert (found.words, found.held, found.points) == ("fails", 1000, 1003)
    mended = line("mended", YES, id="K-c38a", statement="b", held=3, points=3)
    found = answer(line("printed", YES, held=1000, points=1000), mended)
    assert (found.words, found.points) == ("holds when mended", 1000)
    assert "the printed form has no test" in found.where


TESTS = st.tuples(st.sampled_from(["printed", "mended", "tight"]), st.sampled_from(VERDICTS))


@given(st.lists(TESTS, min_size=1, max_size=5))
@settings(max_examples=40, deadline=None)
def test_a_test_that_turns_out_well_never_makes_an_answer_worse(tests):
    order = ["holds as printed", "holds when mended", "undecided", "fails"]
    found = answer(*(line(variant, verdict) for variant, verdict in tests)).words
    if found == "not run":
        return
    for k, (variant, verdict) in enumerate(tests):
        if verdict != ABSENT:
            better = [*tests[:k], (variant, YES), *tests[k + 1 :]]
            assert order.index(answer(*(line(*test) for test in better)).words) <= order.index(found)


def test_numbers_group_every_entry_of_the_catalogue():
    entries = [e for path in (ROOT / "resources/claims").glob("*.yaml") for e in yaml.safe_load(path.read_text())]
    numbers = {answers.number(entry["id"]) for entry in entries}
    assert all(re.fullmatch(r"[KJDN]-c\d\d", name) for name in numbers)
    assert len(numbers) >= 223
