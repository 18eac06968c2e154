"""ExpPW's experiment: the enumerations, the lemma's errors, ties and exact errors, each against the walk itself."""

import itertools
import math

import fake_dwork2018
import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from dperm.mechanisms.prediction import exppw
from dperm.solvers import intervals
from dperm_papers.dwork2018.shared import alternating, labellings, multisets, ties


def records(counts):
    """x and y of a multiset."""
    pairs = [(g, y) for g in range(len(counts)) for y in (0, 1) for _ in range(counts[g][y])]
    x, y = np.array(pairs, dtype=float).reshape(-1, 2).T
    return x, y


@pytest.mark.parametrize("rule", multisets.RULES)
def test_laws_are_those_of_the_walk(rule):
    counts, T = multisets.data_sets(2, 3), 2
    law = multisets.laws(counts, T, rule)
    np.testing.assert_allclose(law.sum(axis=2), 1)
    for row, found in zip(counts, law, strict=True):
        x, y = records(row)
        n, expected = len(x), np.zeros((2, 2 * T + 1))
        if rule == "lifted":
            # All orders of the keys, the query's among them.
            for order in itertools.permutations(range(n + 1)):
                keys = np.array(order, dtype=float)
                v = exppw.value(exppw.prepare(x, y, keys[:n], T), [0.0, 1.0], keys[n])
                expected[[0, 1], v.astype(int) + T] += 1 / math.factorial(n + 1)
        else:
            v = exppw.value(exppw.prepare(x, y, None, T), [0.0, 1.0], math.inf if rule == "sorted" else -math.inf)
            expected[[0, 1], v.astype(int) + T] = 1
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_families_hold_all_neighbours_and_ratios_are_the_greatest():
    counts = multisets.data_sets(2, 3)
    assert len(counts) == math.comb(3 + 4, 4) == len(np.unique(counts.reshape(len(counts), -1), axis=0))
    bases, larger = multisets.families(counts)
    law, step = multisets.laws(counts, 2, "lifted"), 0.4
    found = multisets.greatest_ratios(law, step, bases, larger)
    one = law @ expit(step * np.arange(-2, 3))
    flat = counts.reshape(len(counts), -1)
    worst = {"replace": 0.0, "add_remove": 0.0, "range": 0.0}
    for a, b in itertools.permutations(range(len(counts)), 2):
        apart = flat[a] - flat[b]
        ratios = np.abs([np.log(one[a] / one[b]), np.log((1 - one[a]) / (1 - one[b]))])
        if apart.sum() == 0 and np.abs(apart).sum() == 2:
            worst["replace"] = max(worst["replace"], ratios.max())
            worst["range"] = max(worst["range"], ratios.sum(axis=0).max())
        elif np.abs(apart).sum() == 1:
            worst["add_remove"] = max(worst["add_remove"], ratios.max())
    assert found == pytest.approx(worst)
    assert found["range"] == pytest.approx(2 * step) and found["replace"] < 2 * step and found["add_remove"] < step


def test_a_step_of_twice_the_size_is_found_out():
    counts = multisets.data_sets(4, 5)
    bases, larger = multisets.families(counts)
    law = multisets.laws(counts, 3, "strict")
    assert multisets.greatest_ratios(law, 1.0, bases, larger)["replace"] > 1.5
    assert multisets.greatest_moves(law, bases, larger) == {"replace": 2.0, "add_remove": 1.0}


@pytest.mark.parametrize("own", [True, False])
def test_sample_errors_are_those_of_the_walk(own):
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=(5, 30)).astype(np.int8)
    found = labellings.sample_errors(labels, 3, 0.2, own=own)
    x = np.arange(30.0)
    for row, total in zip(labels, found, strict=True):
        v = exppw.value(exppw.prepare(x, row, None, 3), x, math.inf if own else -math.inf)
        one = expit(0.2 * v)
        assert total == pytest.approx(np.where(row == 1, 1 - one, one).sum())


def test_kinds_of_labels():
    assert len(np.unique(labellings.exhaustive(6), axis=0)) == 64
    np.testing.assert_array_equal(labellings.blocks(5, [1, 2]), [[0, 1, 0, 1, 0], [0, 0, 1, 1, 0]])
    rng = np.random.default_rng(0)
    real = labellings.drawn("realizable", 200, 3, 0.2, 3, rng)
    assert (np.abs(np.diff(real)).sum(axis=1) == 3).all()
    assert intervals.fewest_errors(real, 1 - real, 3).max() == 0 < intervals.fewest_errors(real, 1 - real, 2).min()
    wrong = intervals.fewest_errors(flipped := labellings.drawn("flipped", 2000, 3, 0.2, 3, rng), 1 - flipped, 3)
    assert (np.abs(wrong / 2000 - 0.2) < 0.04).all()


def test_lemma_bound():
    assert labellings.lemma_bound(1, 6, 360, 0.5) == pytest.approx(18 / 360 + math.exp(-3))


@pytest.mark.parametrize(("points", "n"), [pytest.param(1, 12, marks=pytest.mark.slow), (3, 12)])
def test_errors_with_ties_are_those_of_the_walk(points, n):
    T, step, rng = 2, 0.5, np.random.default_rng(points)
    x, every = np.repeat(np.arange(points), n // points), labellings.exhaustive(n)
    weight = 0.25 ** every.sum(axis=1) * 0.75 ** (n - every.sum(axis=1))
    wrong = np.empty(len(every))
    for i, row in enumerate(every):
        one = expit(step * exppw.value(exppw.prepare(x, row, None, T), x))
        wrong[i] = np.where(row == 1, 1 - one, one).mean()
    assert ties.sorted_error(points, n, T, step) == pytest.approx(weight @ wrong)
    if points == 1:
        one = np.array([expit(step * exppw.value(exppw.prepare(x, row, None, T), [0.0])[0]) for row in every])
        assert ties.sorted_population_error(n, T, step) == pytest.approx(weight @ (0.25 * (1 - one) + 0.75 * one))
        one = np.array([_after(row, T, step)[-1] for row in every])
        assert ties.random_population_error(n, T, step) == pytest.approx(weight @ (0.25 * (1 - one) + 0.75 * one))
    found = ties.drawn(points, n, T, step, 3000, rng)
    drawn = np.array([_asked(points, n, T, step, rng) for _ in range(3000)])
    for ours, theirs in zip(found, drawn.T, strict=True):
        error = math.hypot(ours.std(), theirs.std()) / math.sqrt(3000)
        assert abs(ours.mean() - theirs.mean()) < 4 * error


def _after(labels, T, step):
    """Pr[1] after each record of a walk over labels in the order given."""
    v, found = 0, []
    for label in labels:
        v = max(-T, min(T, v + (1 if label else -1)))
        found.append(1 / (1 + math.exp(-step * v)))
    return found


def _asked(points, n, T, step, rng):
    """Errors of one draw: each record asks with its own key, with a new one, after all of its point; the best one's."""
    x, y, keys = np.repeat(np.arange(points), n // points), rng.random(n) < 0.25, rng.random(n)
    walk, found = exppw.prepare(x, y, keys, T), []
    for asked in (keys, rng.random(n)):
        one = expit(step * exppw.value(walk, x, asked))
        found.append(np.where(y, 1 - one, one).mean())
    last = np.repeat(_after(y, T, step)[n // points - 1 :: n // points], n // points)
    found.append(np.where(y, 1 - last, last).mean())
    return *found, intervals.minimise(x, y, 1)[1] / n


def error(walk: exppw.Walk, k: int, flip: float, step: float) -> float:
    """Return Err_P of ExpPW on one sample of points in [0, 1] without ties, exactly; `step` is that of `exppw.step`."""
    ends = np.arange(1, k + 1) / (k + 1)
    # Between two cuts both the target and the walk are constant.
    cuts = np.unique(np.concatenate([[0.0], walk.x, ends, [1.0]]))
    middle = (cuts[1:] + cuts[:-1]) / 2
    one = expit(step * exppw.value(walk, cuts[:-1]))
    wrong = np.where(alternating.target(middle, k) == 1, 1 - one, one)
    return float(flip + (1 - 2 * flip) * np.sum(np.diff(cuts) * wrong))


def test_error_on_fresh_points_is_the_integral():
    rng, T, step = np.random.default_rng(1), 3, 0.4
    x, y = alternating.draw(40, 2, 0.2, rng)
    walk = exppw.prepare(x, y, None, T)
    grid = (np.arange(400_000) + 0.5) / 400_000
    one, said = expit(step * exppw.value(walk, grid)), alternating.target(grid, 2)
    wrong = np.where(said == 1, 1 - one, one).mean()
    assert error(walk, 2, 0.2, step) == pytest.approx(0.2 + 0.6 * wrong, abs=1e-4)
    assert alternating.target([0.0, 0.3, 0.34, 0.7, 1.0], 2).tolist() == [0, 0, 1, 0, 0]


@pytest.mark.parametrize(("k", "flip"), [(0, 0.25), (1, 0.0), (3, 0.0), (3, 0.2)])
def test_errors_have_the_law_of_the_error(k, flip):
    n, T, step, rng = 60, 5, 0.3, np.random.default_rng(10 * k)
    fast = alternating.errors(n, k, flip, T, step, 4000, rng)
    slow = [error(exppw.prepare(*alternating.draw(n, k, flip, rng), None, T), k, flip, step)
            for _ in range(2000)]  # fmt: skip
    assert stats.ks_2samp(fast, slow).pvalue > 1e-3


def test_promised():
    assert alternating.promised(1, 0.1, 1.0) == (360, 360)
    printed, mended = alternating.promised(3, 0.02, 5.0)
    assert printed == math.ceil(20 * math.log(100) / 0.1) and mended == 10 * 2 / 0.02


def test_rows():
    rows = fake_dwork2018.exppw()
    assert set(rows["series"]) == {
        "privacy", "moves", "range", "lemma", "ties", "theorem", "choice", "agnostic", "step", "tail", "size"
    }  # fmt: skip
    key = [name for name in rows.columns if name != "value"]
    assert not rows.duplicated(key).any() and np.isfinite(rows["value"]).all()
    assert rows["value"].equals(fake_dwork2018.exppw.__wrapped__()["value"])
    excess = rows[rows["metric"] == "excess"]
    worst = excess.groupby(["series", "variant", "form"])["value"].max()
    assert worst["lemma", "", ""] <= 1e-9 and worst["range", "strict", ""] <= 1e-9
    assert worst["privacy", "", ""] <= 1e-9 < worst["privacy", "strict", ""]
    assert worst["ties", "", ""] <= 0 < worst["ties", "sorted", ""]
    assert worst["choice", "", "mended"] <= 1e-9 < worst["choice", "", "printed"]
    assert worst["step", "", "mended"] <= 0 < worst["step", "", "printed"]
    assert set(rows.loc[rows["variant"] == "strict", "calibration"]) == {"paper"}
    assert set(rows.loc[rows["series"] == "size", "alpha"]) == {0.1}
    violated = rows[rows["metric"] == "violated"]
    assert set(violated["value"]) <= {0.0, 1.0} and set(violated["gamma"]) == {0.4}


def test_all_labellings_are_tried_where_the_bound_is_below_their_largest_error():
    rows = fake_dwork2018.exppw()
    part = rows[(rows["series"] == "lemma") & (rows["kind"] == "exhaustive") & (rows["variant"] == "")]
    assert set(part["epsilon"]) == {0.5, 1.0, 8.0} and set(part["n"]) == {14}
    is_open = part[part["form"] == "open"]
    assert set(is_open["epsilon"]) == {8.0} and set(is_open["k"]) == {1} and set(is_open["bound"]) == {1.0}
    # At T = 1: labels in turn, from 1 on, err by expit(-4) and 1/2 in turn; the bound is 3/14 + e^-4.
    most, largest = 3 / 14 + math.exp(-4), (expit(-4) + 0.5) / 2
    assert most < largest and 5 / 14 + math.exp(-4) > largest
    excess, ratio = (is_open.loc[is_open["metric"] == name, "value"].item() for name in ("excess", "ratio"))
    assert excess == pytest.approx(ratio * most - most) and -most < excess < 0
    others = rows[(rows["series"] == "lemma") & (rows["kind"] != "exhaustive")]
    assert set(others["epsilon"]) == {0.5, 1.0}
