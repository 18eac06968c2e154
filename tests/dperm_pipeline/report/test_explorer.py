"""The explorer shows what the rows say, and puts nothing beside each other that is not the same promise."""

import json
import math
import re

import fake_rows
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dperm.errors import DataError
from dperm_pipeline import places, report, tables
from dperm_pipeline.claims.ledger import NOISE
from dperm_pipeline.figures.comparison import SHAPES
from dperm_pipeline.report import explorer, sections

LEDGER = {
    "paper": "kifer2012", "variant": "gaussian", "guarantee": "proved", "audit_lower_bound": 0.9, "verdict": "holds up",
    "epsilon": 1.0, "delta": 1e-6, "neighbours": "add_remove", "reason": "",
}  # fmt: skip
HEAD = {"paper": "p", "variant": "", "calibration": "tight", "neighbours": "replace", "guarantee": "proved",
        "delta": 1e-6, "epsilon": 1.0, "status": "ok"}  # fmt: skip
NOTHING = {"mechanism": "nonprivate", "calibration": "", "neighbours": "", "guarantee": "none", "delta": 0.0,
           "epsilon": math.inf}  # fmt: skip


def ledger(folder, *entries):
    path = folder / "privacy.parquet"
    pd.DataFrame(
        [{**LEDGER, "mechanism": "output", "calibration": "tight", **entry} for entry in entries or ({},)]
    ).to_parquet(path)
    return path


def written(folder, key, *parts):
    """Write rows of one experiment; each part is (columns, values): a value a repeat from 0, or {repeat: value}."""
    frames = []
    for columns, values in parts:
        values = values if isinstance(values, dict) else dict(enumerate(values))
        given = {"experiment": key, **HEAD, **columns}
        frames.append(pd.DataFrame({**given, "repeat": list(values), "value": list(values.values())}))
    path = folder / key / "rows.parquet"
    tables.write(pd.concat(frames, ignore_index=True), path, metadata={})
    return path


def at(found, **wanted):
    """Return the explorer's view of the one choice that has these values."""
    lists = {name: found["neighbours" if name == "neighbours" else f"{name}s"] for name in explorer.KEYS}
    lists["source"] = [source["key"] for source in found["sources"]]
    lists["neighbours"] = [each["key"] for each in found["neighbours"]]
    choices = {key for key in zip(*(found["lines"][name] for name in explorer.KEYS), strict=True)}
    fitting = [
        choice
        for choice in (dict(zip(explorer.KEYS, key, strict=True)) for key in choices)
        if all(lists[name][choice[name]] == value for name, value in wanted.items())
    ]
    assert len(fitting) == 1, (wanted, fitting)
    return explorer.view(found, fitting[0], every=True)


def by_label(view):
    assert len({line["label"] for line in view["lines"]}) == len(view["lines"])
    return {line["label"].replace("\N{NO-BREAK SPACE}", " "): line for line in view["lines"]}


def test_a_task_and_its_paper_tell_an_experiment_from_the_others():
    named = [(source.title, places.called(key.split("-")[0])) for key, source in places.comparisons().items()]
    assert len(named) == len(set(named)) >= 10


@pytest.fixture(scope="module")
def kifer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explorer")
    frame = fake_rows.rows(datasets=("adult", "diabetes"), epsilons=(0.1, 1.0), repeats=9)
    frame = fake_rows.fail(frame, (frame["mechanism"] == "output") & (frame["repeat"] == 1) & (frame["epsilon"] == 1.0))
    rows = fake_rows.write(frame, folder / "kifer2012-output" / "rows.parquet")
    refuted = {
        "verdict": "refuted",
        "mechanism": "objective",
        "calibration": "paper",
        "epsilon": 3.0,
        "audit_lower_bound": 3.9,
    }
    return frame, explorer.payload([rows], ledger(folder, {}, refuted))


def test_means_intervals_and_gaps_are_those_of_the_rows(kifer):
    frame, found = kifer
    shown = by_label(at(found, dataset="adult", metric="test_loss", epsilon=1.0, delta=1e-6))
    own = frame[
        frame["chosen"] & (frame["dataset"] == "adult") & (frame["metric"] == "test_loss") & (frame["status"] == "ok")
    ]
    own = own[(own["epsilon"] == 1.0) & (own["mechanism"] != "nonprivate")]
    groups = {
        key: part.set_index("repeat")["value"] for key, part in own.groupby(["mechanism", "calibration", "delta"])
    }
    assert len(shown) == len(groups) == 9
    real = [line for line in shown.values() if line["real"]]
    best = min((line for line in real), key=lambda line: line["mean"])
    best_values = groups[best["mechanism"], best["calibration"], best["armDelta"]]
    for line in shown.values():
        values = groups[line["mechanism"], line["calibration"], line["armDelta"]]
        low, high = stats.t.interval(0.95, len(values) - 1, loc=values.mean(), scale=stats.sem(values))
        assert np.allclose([line["mean"], line["low"], line["high"]], [values.mean(), low, high], rtol=1e-5)
        # 9 repeats, of which one of output perturbation's failed.
        assert (line["n"], line["failed"]) == ((8, 1) if line["mechanism"] == "output" else (9, 0))
        if line is best:
            assert line["gap"] is None
            continue
        gaps = (values - best_values).dropna()
        low, high = stats.t.interval(0.95, len(gaps) - 1, loc=gaps.mean(), scale=stats.sem(gaps))
        assert np.allclose([line["gap"], line["gap_low"], line["gap_high"]], [gaps.mean(), low, high], rtol=1e-4)
    means = [line["mean"] for line in shown.values()]
    assert means == sorted(means)


def test_a_method_has_one_shape_whatever_its_delta(kifer):
    """And no other method of its colour has it."""
    own = {}
    for arm in kifer[1]["arms"]:
        own.setdefault((arm["mechanism"], arm["variant"], arm["calibration"]), set()).add((arm["colour"], arm["shape"]))
    assert {arm["armDelta"] for arm in kifer[1]["arms"]} >= {0.0, 1e-6}
    assert all(len(looks) == 1 for looks in own.values())
    assert len({next(iter(looks)) for looks in own.values()}) == len(own) > 2


def test_only_the_setting_chosen_beforehand_takes_part(kifer):
    frame, found = kifer
    # Three settings a method were run: one of them is chosen.
    assert frame.loc[frame["mechanism"] == "objective", "candidate"].nunique() == 3
    assert all(n <= 9 for n in found["lines"]["n"])


def test_a_smaller_delta_keeps_the_promise_and_a_larger_one_does_not(kifer):
    found = kifer[1]
    pure = by_label(at(found, dataset="adult", metric="test_loss", epsilon=1.0, delta=0.0))
    both = by_label(at(found, dataset="adult", metric="test_loss", epsilon=1.0, delta=1e-6))
    assert {line["armDelta"] for line in pure.values()} == {0.0}
    assert {line["armDelta"] for line in both.values()} == {0.0, 1e-6}
    assert "CMS11, Algorithm 2, δ = 0" in pure and set(pure) < set(both)


def test_a_refuted_method_is_no_best_and_is_said_to_be_refuted(kifer):
    found = kifer[1]
    shown = by_label(at(found, dataset="adult", metric="test_loss", epsilon=1.0, delta=1e-6))
    assert not shown["objective, Algorithm 1"]["real"]
    assert shown["objective, Algorithm 1"]["words"].endswith("claims ε = 3 and spends at least 3.9")
    # The attack was on Gaussian noise: it says nothing of pure privacy's.
    assert shown["objective, Algorithm 1, δ = 0"]["real"]
    assert shown["output"]["words"] == "proved for exact solutions; held up when attacked"
    begin = explorer.view(found, found["begin"])
    assert all(line["real"] for line in begin["lines"])
    assert len(explorer.view(found, found["begin"], every=True)["lines"]) == len(begin["lines"]) + 1


@pytest.mark.parametrize(
    ("entry", "guarantee", "real", "mark"),
    [
        ({}, "proved", True, "✓"),
        ({}, "proved_exact", True, "✓"),
        ({}, "claimed", False, "?"),
        ({}, "none", False, "?"),
        ({"verdict": "refuted"}, "proved", False, "✗"),
        ({"verdict": "not audited"}, "proved", True, "✓"),
        # Another relation, calibration, kind of noise or law: nothing is said of this one.
        ({"verdict": "refuted", "neighbours": "add_remove"}, "proved", True, "✓"),
        ({"verdict": "refuted", "calibration": "paper"}, "proved", True, "✓"),
        ({"verdict": "refuted", "delta": 0.0}, "proved", True, "✓"),
        ({"verdict": "refuted", "variant": "half-noise"}, "proved", True, "✓"),
        # The same mechanism in another paper, at another budget: the same code.
        ({"verdict": "refuted", "paper": "q", "epsilon": 7.0, "delta": 0.01}, "proved", False, "✗"),
        # The rows name no law: any that is refuted may be theirs, also one that nobody has thought of yet.
        ({"verdict": "refuted", "variant": "bit"}, "proved", False, "✗"),
        ({"verdict": "refuted", "variant": "a-law-to-come"}, "proved", False, "✗"),
        ({"reason": f"certified; {NOISE}: p = 1e-9"}, "proved", False, "✗"),
        ({"reason": f"{NOISE}: p = 1e-9", "variant": "half-noise"}, "proved", True, "✓"),
    ],
)
def test_whose_guarantee_is_real(tmp_path, entry, guarantee, real, mark):
    own = {"mechanism": "soft_majority", "dataset": "digits", "metric": "error", "series": "epsilon", "queries": 1}
    rows = written(tmp_path, "dwork2018-realdata", ({**own, "guarantee": guarantee}, [0.1, 0.2, 0.4]))
    privacy = ledger(tmp_path, {"mechanism": "soft_majority", "neighbours": "replace", **entry})
    found = explorer.payload([rows], privacy)
    (line,) = at(found)["lines"]
    assert (line["real"], line["mark"]) == (real, mark)
    # Without a method to lead there is no gap, and the page begins empty.
    assert bool(explorer.view(found, found["begin"])["lines"]) == real


SOFT = {"mechanism": "soft_majority", "dataset": "digits", "metric": "error", "series": "epsilon", "queries": 1}


def test_a_method_promises_no_more_than_the_weakest_of_its_releases(tmp_path):
    words = {0: "proved", 1: "proved_exact", 2: "proved"}
    parts = [({**SOFT, "guarantee": word}, {repeat: 0.1 * repeat}) for repeat, word in words.items()]
    found = explorer.payload([written(tmp_path, "dwork2018-realdata", *parts)], ledger(tmp_path))
    (line,) = at(found)["lines"]
    assert line["words"].startswith("proved for exact solutions")


@pytest.mark.parametrize(
    ("papers", "words"),
    [
        (("dwork2018", "kifer2012"), "proved; held up when attacked"),
        (("kifer2012", "jain2013"), "proved; the same mechanism held up when attacked (jain2013, kifer2012)"),
    ],
)
def test_whose_attack_failed_is_said(tmp_path, papers, words):
    attacked = {"mechanism": "soft_majority", "neighbours": "replace"}
    privacy = ledger(tmp_path, *({**attacked, "paper": paper} for paper in papers))
    found = explorer.payload([written(tmp_path, "dwork2018-realdata", (SOFT, [0.1, 0.2]))], privacy)
    assert [line["words"] for line in at(found)["lines"]] == [words]


@pytest.mark.parametrize(("bound", "words"), [(3.8996, "at least 3.899"), (686.6, "and has no bound (")])
def test_a_bound_is_never_rounded_up(tmp_path, bound, words):
    refuted = {"verdict": "refuted", "neighbours": "replace", "audit_lower_bound": bound}
    privacy = ledger(tmp_path, {"mechanism": "soft_majority", **refuted})
    found = explorer.payload([written(tmp_path, "dwork2018-realdata", (SOFT, [0.1, 0.2]))], privacy)
    (line,) = at(found)["lines"]
    assert words in line["words"]


def test_only_the_best_is_called_best(tmp_path):
    """Not one whose fits failed, nor one that shares no repeat with the best."""
    nan = {"status": "failed"}
    parts = [
        ({**SOFT}, {0: 0.1, 1: 0.2}), ({**SOFT, **nan}, {2: math.nan, 3: math.nan}),
        ({**SOFT, "mechanism": "averaged", **nan}, {0: math.nan, 1: math.nan}),
        ({**SOFT, "mechanism": "averaged"}, {2: 0.3, 3: 0.4}),
        ({**SOFT, "mechanism": "exppw", **nan}, dict.fromkeys(range(4), math.nan)),
        ({**SOFT, "mechanism": "stable_erm", "guarantee": "claimed"}, dict.fromkeys(range(4), 0.01)),
    ]  # fmt: skip
    rows = written(tmp_path, "dwork2018-realdata", *parts)
    found = explorer.payload([rows], ledger(tmp_path))
    lines = {line["mechanism"]: line for line in at(found)["lines"]}
    assert [name for name, line in lines.items() if line["best"]] == ["soft_majority"]
    page = report.render("choose.html", explorer=explorer.context([rows], ledger(tmp_path)), paper=sections.NOTHING)
    cells = {
        row[0]: re.findall(r">([^<]*)</td>", row[1]) for row in re.findall(r'data-mechanism="(\w+)"(.*)</tr>', page)
    }
    assert {name: (own[1], own[3]) for name, own in cells.items()} == {
        "soft_majority": ("0.1500", "best"), "averaged": ("0.3500", "not paired"),
        "exppw": ("no converged fit", ""),
    }  # fmt: skip
    # Without anybody to lead nobody is compared.
    alone = explorer.payload([written(tmp_path / "b", "dwork2018-realdata", parts[-1])], ledger(tmp_path))
    assert [(line["best"], line["led"]) for line in at(alone)["lines"]] == [(False, False)]


def test_relations_and_epsilons_are_never_in_one_view(tmp_path):
    own = {"mechanism": "stable_erm", "dataset": "digits", "metric": "error", "series": "epsilon", "queries": 1}
    parts = [
        ({**own, "neighbours": relation, "epsilon": epsilon}, [epsilon, epsilon + len(relation)])
        for relation in ("replace", "add_remove")
        for epsilon in (0.5, 1.0, 2.0)
    ]
    found = explorer.payload([written(tmp_path, "dwork2018-realdata", *parts)], ledger(tmp_path))
    for relation in ("replace", "add_remove"):
        for epsilon in (0.5, 1.0, 2.0):
            (line,) = at(found, neighbours=relation, epsilon=epsilon)["lines"]
            assert line["mean"] == epsilon + len(relation) / 2


def test_a_model_serves_every_number_of_queries_on_the_same_splits(tmp_path):
    own = {"dataset": "digits", "metric": "error"}
    labels = {**own, "mechanism": "soft_majority"}
    parts = [
        ({**labels, "series": "epsilon", "queries": 1}, [0.1, 0.1, 0.1]),
        ({**own, "mechanism": "objective", "series": "epsilon", "queries": 1}, [0.5, 0.5, 0.5]),
        # The same query in the other series does not count twice.
        ({**labels, "series": "queries", "queries": 1}, [0.1, 0.1, 0.1]),
        ({**labels, "series": "queries", "queries": 10}, {0: 0.3, 1: 0.4}),
        ({**own, "mechanism": "averaged", "series": "queries", "queries": 10}, {0: 0.35, 1: 0.45}),
        ({**own, "mechanism": "averaged", "series": "epsilon", "queries": 1}, [0.2, 0.2, 0.2]),
        # Asked of one mechanism alone: no comparison, so it is not offered.
        ({**labels, "series": "queries", "queries": 7}, [0.2, 0.2, 0.2]),
        ({**own, "mechanism": "objective", "series": "queries", "queries": 0}, [0.5, 0.6, 9.0]),
        ({**own, **NOTHING, "variant": "logistic", "series": "", "queries": 0}, [0.05, 0.07, 5.0]),
        ({**own, **NOTHING, "variant": "majority", "series": "", "queries": 0}, [0.4, 0.4, 0.4]),
    ]
    found = explorer.payload([written(tmp_path, "dwork2018-realdata", *parts)], ledger(tmp_path))
    assert found["firsts"] == [1, 10]
    one, ten = by_label(at(found, first=1)), at(found, first=10)
    assert one["objective, tight"]["mean"] == 0.5 and one["objective, tight"]["n"] == 3
    # The third split was not run for 10 queries: the model and the references are those of the first two.
    assert {label: (line["n"], line["mean"]) for label, line in by_label(ten).items()} == {
        "soft majority": (2, 0.35), "averaging": (2, 0.4), "objective, tight": (2, 0.55),
    }  # fmt: skip
    assert by_label(ten)["objective, tight"]["gap"] == pytest.approx(0.2)
    levels = {level["label"]: (level["mean"], level["n"]) for level in ten["levels"]}
    assert levels == {"logistic regression without privacy": (0.06, 2), "majority class": (0.4, 2)}


def test_logarithms_are_shown_as_geometric_means_and_gaps_as_ratios(tmp_path):
    own = {
        "mechanism": "napp",
        "neighbours": "add_remove",
        "metric": "error",
        "target": "lasso",
        "step": 6,
        "zeta": "range",
        "strength": 4.0,
    }
    values = {"erm": [0.1, 0.2, 0.6], "vs_plus": [1.0, 1.3, 1.4]}
    parts = [
        ({**own, "dataset": name, "variant": kind}, values[kind])
        for name in ("linear-200", "logistic-500")
        for kind in values
    ]
    level = {**own, **NOTHING, "variant": "lasso", "metric": "error_mean", "dataset": "linear-200"}
    found = explorer.payload([written(tmp_path, "li2021-simulations", *parts, (level, [-1.0]))], ledger(tmp_path))
    best, other = at(found, dataset="linear-200")["lines"]
    assert best["mean"] == pytest.approx(math.exp(0.3), rel=1e-5)
    assert other["gap"] == pytest.approx(math.exp(np.mean(values["vs_plus"]) - 0.3), rel=1e-5)
    assert at(found, dataset="linear-200")["levels"][0]["mean"] == pytest.approx(math.exp(-1), rel=1e-5)
    # A share of wrong labels is no logarithm.
    assert at(found, dataset="logistic-500")["lines"][0]["mean"] == pytest.approx(0.3, rel=1e-5)
    # What the experiment makes up it names in words.
    assert at(found, dataset="linear-200")["words"]["title"].startswith("linear regression, n = 200 (simulated")


def test_a_data_set_is_called_by_its_title_and_keeps_its_name_in_links(tmp_path):
    rows, privacy = written(tmp_path, "dwork2018-realdata", (SOFT, [0.1, 0.2])), ledger(tmp_path)
    shown = explorer.context([rows], privacy, titles={"digits": "Handwritten digits"})["view"]["words"]
    assert (shown["dataset"], shown["title"]) == ("digits", "Handwritten digits")
    assert explorer.context([rows], privacy)["view"]["words"]["title"] == "digits"


def test_accuracy_is_best_where_it_is_highest(tmp_path):
    own = {"dataset": "covertype", "metric": "accuracy", "scaling": "min-max+unit", "penalty": "C", "queries": 300}
    parts = [
        ({**own, "mechanism": "tddl", "calibration": word}, [mean, mean + 0.02])
        for word, mean in (("paper", 0.6), ("tight", 0.7))
    ]
    found = explorer.payload([written(tmp_path, "jain2013-covertype", *parts)], ledger(tmp_path))
    assert [line["label"] for line in at(found)["lines"]] == ["TDDL, tight", "TDDL, as printed"]
    assert at(found)["lines"][1]["gap"] == pytest.approx(-0.1)


def test_it_begins_with_the_setting_that_was_chosen_on_public_rows(tmp_path):
    own = {"mechanism": "tddl", "dataset": "kdd-like", "metric": "error"}
    parts = [({**own, "total": total, "headline": total == 10.0}, [1.0, 2.0]) for total in (1.0, 10.0, 100.0)]
    found = explorer.payload([written(tmp_path, "jain2013-kdd", *parts)], ledger(tmp_path))
    assert explorer.view(found, found["begin"])["words"]["first"] == 10.0


def test_two_values_for_one_repeat_are_refused(tmp_path):
    own = {"mechanism": "tddl", "dataset": "kdd-like", "metric": "error", "total": 1.0, "headline": True}
    rows = written(tmp_path, "jain2013-kdd", (own, [1.0, 2.0]), (own, [3.0]))
    with pytest.raises(DataError, match=r"tddl.*two values for one repeat.*comparison\.py"):
        explorer.payload([rows], ledger(tmp_path))


def test_rows_without_a_column_that_is_asked_for_are_refused(tmp_path):
    own = {"mechanism": "tddl", "dataset": "kdd-like", "metric": "error", "total": 1.0}
    rows = written(tmp_path, "jain2013-kdd", (own, [1.0, 2.0]))
    with pytest.raises(DataError, match=r"no column headline.*run jain2013-kdd again"):
        explorer.payload([rows], ledger(tmp_path))


def test_without_an_experiment_that_compares_there_is_no_payload(tmp_path):
    rows = written(
        tmp_path, "kifer2012-theorem4", ({"mechanism": "output", "dataset": "q1", "metric": "excess"}, [1.0])
    )
    assert explorer.context([rows], ledger(tmp_path))["packed"] is None


def test_equal_rows_give_equal_bytes_and_every_place_exists(kifer, tmp_path):
    frame, found = kifer
    rows = fake_rows.write(frame.sample(frac=1, random_state=3), tmp_path / "kifer2012-output" / "rows.parquet")
    again = explorer.context([rows], ledger(tmp_path))
    other = explorer.context([rows], ledger(tmp_path))
    assert again["packed"] == other["packed"] and again["default"] == other["default"]
    json.dumps(found, allow_nan=False)
    for name in explorer.KEYS:
        known = found["neighbours"] if name == "neighbours" else found[f"{name}s"]
        assert set(found["lines"][name]) | set(found["levels"][name]) <= set(range(len(known)))
    assert {arm["shape"] for arm in found["arms"]} <= set(SHAPES)
    # No two methods of an experiment look alike; at delta = 0 they are lighter.
    looks = [(arm["colour"], arm["shape"], arm["armDelta"] == 0) for arm in found["arms"]]
    assert len(set(looks)) == len(looks)


def test_no_experiment_leaves_more_open_than_the_page_can_ask():
    assert {key: len(found.choices) for key, found in places.comparisons().items() if len(found.choices) > 2} == {}
