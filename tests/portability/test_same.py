"""The comparison itself: what it must find, and what it must let pass."""

import pyarrow as pa
import pytest
from same import TOLERANCE, differences


def rows(**columns) -> dict[str, pa.Table]:
    made = {"metric": ["risk", "risk", "certificate"], "value": [2.0, 1e-3, 1e-12], "status": ["ok", "ok", "ok"]}
    return {"cells/it.parquet": pa.table({**made, **columns})}


@pytest.mark.parametrize(
    "other",
    [
        {"value": [2.0 + 1e-10, 1e-3, 1e-12]},
        {"value": [2.0, 1e-3 + 1e-9, 1e-12]},  # beside a risk of 2
        {"value": [2.0, 1e-3, 0.0]},
        {"value": [2.0, 1e-3, 9e-6]},
    ],
)
def test_rounding_passes_where_it_is_allowed_and_only_there(other):
    assert list(differences(rows(), rows(**other), TOLERANCE)) == []
    assert len(list(differences(rows(), rows(**other)))) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"value": [2.0 + 1e-8, 1e-3, 1e-12]},
        {"value": [2.0, 1e-3, 2e-5]},
        {"value": [2.0, float("nan"), 1e-12]},
        {"value": [2.0, None, 1e-12]},
        {"status": ["ok", "failed", "ok"]},
        {"metric": ["risk", "excess", "certificate"]},
    ],
)
def test_what_is_more_than_rounding_is_found(other):
    assert len(list(differences(rows(), rows(**other), TOLERANCE))) == 1
    assert len(list(differences(rows(**other), rows(), TOLERANCE))) == 1


def test_files_rows_and_columns_that_are_not_there_are_found():
    whole = rows()
    assert len(list(differences(whole, {}, TOLERANCE))) == 1
    assert len(list(differences(whole, {name: table[:2] for name, table in whole.items()}, TOLERANCE))) == 1
    assert len(list(differences(whole, {name: table.drop(["status"]) for name, table in whole.items()}))) == 1


def test_what_follows_from_a_learned_event_may_differ_between_libraries_and_only_there():
    def attack(event, hits, epsilon=1.0):
        return {"audits/it.parquet": pa.table({"event": [event], "hits": [hits], "epsilon": [epsilon]})}

    learned = attack("score learned by gradient-boosted trees < 1", 10)
    assert list(differences(learned, attack("output >= 2", 12), TOLERANCE)) == []
    assert len(list(differences(learned, attack("output >= 2", 12)))) == 2
    assert len(list(differences(learned, attack("output >= 2", 12, epsilon=2.0), TOLERANCE))) == 1
    assert len(list(differences(attack("output >= 2", 10), attack("output >= 2", 12), TOLERANCE))) == 1


def test_a_value_below_what_its_solver_left_open_is_zero_and_no_other():
    def cell(excess, other=0.0):
        columns = {
            "row": ["a", "b", "a"],
            "metric": ["excess", "excess", "slack"],
            "value": [excess, 1.0 + other, 1e-7],
        }
        return {"cells/it.parquet": pa.table(columns)}

    assert list(differences(cell(1e-8), cell(9e-8), TOLERANCE)) == []
    assert len(list(differences(cell(1e-8), cell(2e-7), TOLERANCE))) == 1
    assert len(list(differences(cell(1e-8), cell(9e-8)))) == 1
    assert len(list(differences(cell(1e-8), cell(1e-8, other=1e-8), TOLERANCE))) == 1


def test_of_an_exact_attack_the_bound_counts_and_not_the_words_of_the_event():
    def attack(event, bound, attack="exact"):
        return {"audits/it.parquet": pa.table({"attack": [attack], "event": [event], "exact_bound": [bound]})}

    assert list(differences(attack("{1}", 1.0), attack("{1, 2}", 1.0), TOLERANCE)) == []
    assert len(list(differences(attack("{1}", 1.0), attack("{1, 2}", 1.0)))) == 1
    assert len(list(differences(attack("{1}", 1.0), attack("{1, 2}", 1.1), TOLERANCE))) == 1
    assert len(list(differences(attack("{1}", 1.0, "sampled"), attack("{1, 2}", 1.0, "sampled"), TOLERANCE))) == 1
