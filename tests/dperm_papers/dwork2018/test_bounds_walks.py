"""The bounds inside the claims on ExpPW, beyond aggregation and on composition, written anew from the paper.

As in test_bounds_aggregation, what is measured is planted, so that a row is a constant minus the bound.
"""

import itertools
import types
from math import ceil, exp, log, sqrt

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit
from written_anew import agree, rows_of, select

from dperm_papers.dwork2018.beyond import mean_walk
from dperm_papers.dwork2018.exppw import experiment as exppw
from dperm_papers.dwork2018.queries import experiment as queries
from dperm_papers.dwork2018.shared import alternating, flips, multisets, ties, worst_bits
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

# In place of what is measured; of the drawn errors, in units of the level that they are compared with.
PLANTED, LEVELS = 0.375, np.array([0.5, 1 - 1e-6, 1 + 1e-6, 1.2, 1.9, 3.0])


@pytest.fixture(scope="module")
def walked():
    """Rows of ExpPW; errors on fresh samples, on ties and of enumerations are planted."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alternating, "errors", planted_errors)
        patch.setattr(ties, "sorted_population_error", lambda *args: PLANTED)
        patch.setattr(ties, "random_population_error", lambda *args: PLANTED)
        patch.setattr(ties, "sorted_error", lambda *args: PLANTED)
        drawn = [np.full(3, error) for error in (0.5, 0.75, 0.625, 0.125)]
        patch.setattr(ties, "drawn", lambda *args: drawn)
        patch.setattr(exppw, "RECORDS", 2)
        patch.setattr(multisets, "greatest_ratios", lambda *args: {"replace": 0.5, "add_remove": 0.25, "range": 0.75})
        patch.setattr(multisets, "greatest_moves", lambda *args: {"replace": 5, "add_remove": 7})
        return rows_of(
            "exppw", ends=[1, 2], epsilons=[1.0, 0.5], alphas=[0.1], repeats=6, batch=2, tail_repeats=6, draws=6
        )


def planted_errors(n, k, flip, bound, step, repeats, rng):
    """Of Theorem 5.3's tail around Opt + 3 alpha, alpha = 0.1; else PLANTED plus what tells n, T and the step apart."""
    return flip + 0.3 * LEVELS if repeats == 6 and step < 0.02 else np.full(repeats, told(n, bound, step))


def told(n, bound, step):
    return PLANTED + 1e-7 * n + 1e-4 * bound + 1e-3 * step


def T(alpha, epsilon):
    """ceil(2 ln(2/alpha)/eps), Theorem 5.3."""
    return ceil(2 * log(2 / alpha) / epsilon)


# Theorem 5.3: 4 (k + 2) ln(2/alpha)/(alpha eps), and 2 (k + 2) T/alpha (D13).
RECORDS = {
    "printed": lambda k, alpha, epsilon: ceil(4 * (k + 2) * log(2 / alpha) / (alpha * epsilon)),
    "mended": lambda k, alpha, epsilon: ceil(2 * (k + 2) * T(alpha, epsilon) / alpha - 1e-9),
}


@pytest.mark.parametrize("form", ["printed", "mended"])
def test_theorem_53(walked, form):
    """D-c43: the mean error is at most e^eps (Opt + alpha)."""
    where = {"series": "theorem", "form": form}
    agree(walked, lambda row: RECORDS[form](row.k, row.alpha, row.epsilon), "n", **where)
    assert set(select(walked, dataset="tie", **where)["flip"]) == {0.25}

    def excess(row):
        own = told(RECORDS[form](row.k, row.alpha, row.epsilon), T(row.alpha, row.epsilon), row.epsilon / 2)
        # As printed ties are sorted: that number is planted too.
        own = PLANTED if (form, row.dataset) == ("printed", "tie") else own
        return own - exp(row.epsilon) * (row.flip + row.alpha)

    agree(walked, excess, **where)


@pytest.mark.parametrize(("form", "share"), [("printed", 1.0), ("mended", 0.5)])
def test_theorem_53_agnostic(walked, form, share):
    """D-c45: eps = alpha/2 gives Opt + alpha; mended, accuracy alpha/2 is asked for too (D13)."""

    def excess(row):
        accuracy, epsilon = share * row.alpha, row.alpha / 2
        n = RECORDS[form](row.k, accuracy, epsilon)
        return told(n, T(accuracy, epsilon), epsilon / 2) - (row.flip + row.alpha)

    agree(walked, excess, series="agnostic", form=form)
    # D-c45a: e^eps (Opt + accuracy) against Opt + alpha.
    agree(
        walked,
        lambda row: exp(row.alpha / 2) * (row.flip + share * row.alpha) - row.flip - row.alpha,
        series="step",
        form=form,
    )


def test_theorem_53_tail(walked):
    """D-c46: eps = 1/(16 ln(1/beta)), n as printed: 3 alpha or more with probability 2 beta at most."""
    tail = select(walked, series="tail")
    agree(tail, lambda row: 1 / (16 * log(2 / row.gamma)), "epsilon")
    agree(tail, lambda row: RECORDS["printed"](row.k, row.alpha, row.epsilon), "n")
    assert set(tail["gamma"].round(9)) == {0.1, 0.4}
    for _, found in tail.groupby(["gamma", "k", "flip"]):
        assert found["value"].tolist() == (LEVELS > 1).tolist()


def lemma_52(k, T, n, step):
    """(k + 2) T/n + e^{-eps T/2}, step = eps/2; Section 2.2's factor e^eps a step has e^{-eps T}."""
    return (k + 2) * T / n + exp(-step * T)


def test_lemma_52_and_the_choice_of_n(walked):
    """D-c40 to D-c42 and D-c44."""
    for variant, share in (("", 0.5), ("strict", 1.0)):
        lemma = select(walked, series="lemma", variant=variant)
        ratio = select(lemma, metric="ratio").reset_index(drop=True)
        excess = select(lemma, metric="excess").reset_index(drop=True).assign(ratio=ratio["value"])
        # The excess error is ratio times the bound.
        agree(excess, lambda row, s=share: (row.ratio - 1) * lemma_52(row.k, row.bound, row.n, s * row.epsilon))
    ones = {"sorted": PLANTED - 0.25, "": 0.5 - 0.125, "fresh": 0.75 - 0.125, "random": 0.625 - 0.125}
    for variant, own in ones.items():
        agree(
            walked,
            lambda row, own=own: own - lemma_52(1, T(row.alpha, row.epsilon), row.n, row.epsilon / 2),
            series="ties", variant=variant, metric="excess",
        )  # fmt: skip
    agree(
        walked, lambda row: 0.25 + lemma_52(1, T(row.alpha, row.epsilon), row.n, row.epsilon / 2),
        series="ties", metric="allowed",
    )  # fmt: skip
    for form, records in RECORDS.items():

        def choice(row, records=records):
            n, bound = records(row.k, row.alpha, row.epsilon), T(row.alpha, row.epsilon)
            return lemma_52(row.k, bound, n, row.epsilon / 2) - row.alpha

        agree(walked, choice, series="choice", form=form)
    half = select(walked, series="choice", kind="half")
    assert max(half["epsilon"].max(), half["alpha"].max()) == 0.5 and len(half) > 20


def test_all_labellings_of_eight_records(walked):
    """D-c41: Err_S - Opt_S for k = 1 ends, by walking every labelling."""
    for row in select(
        walked, series="lemma", metric="ratio", kind="exhaustive", k=1, variant="", epsilon=1.0
    ).itertuples():
        largest = 0.0
        for labels in itertools.product((0, 1), repeat=row.n):
            v, wrong = 0, 0.0
            for label in labels:
                v = max(-row.bound, min(row.bound, v + 2 * label - 1))
                wrong += 1 - expit(row.epsilon * v / 2) if label else expit(row.epsilon * v / 2)
            best = min(sum(labels[:cut]) + row.n - cut - sum(labels[cut:]) for cut in range(row.n + 1))
            largest = max(largest, (wrong - best) / row.n)
        assert row.value == pytest.approx(largest / lemma_52(1, row.bound, row.n, row.epsilon / 2))


def test_lemma_51(walked):
    """D-c39, D-c40: V moves by 1 and by 2, log ratios by eps; the range of the bias."""
    for kind, own in (("", {"replace": 0.5, "add_remove": 0.25}), ("range", {"replace": 0.75})):
        agree(walked, lambda row, own=own: own[row.neighbours] - row.epsilon, series="privacy", kind=kind)
    allowed = {"replace": 5 - 2, "add_remove": 7 - 1}
    agree(walked, lambda row: allowed[row.neighbours], series="moves", variant=["sorted", "strict"])
    # Section 2.2's T: the bias stays within [alpha, 1 - alpha].
    agree(walked, lambda row: log((1 - row.alpha) / row.alpha) / row.epsilon, "bound", series="range", variant="strict")
    agree(walked, lambda row: T(row.alpha, row.epsilon), "bound", series="range", variant="")
    assert select(walked, series="range")["value"].max() < 1e-12


def test_the_exact_moves():
    """D-c39: random pairs of 50 records reach 1 and 2, no more."""
    rows = Rows()
    exppw.moves(Cell("dwork2018", "dwork2018-exppw", 0, {}, types.SimpleNamespace(instances=200)), rows)
    assert rows.frame().set_index("neighbours")["value"].to_dict() == {"add_remove": 0, "replace": 0}


@pytest.fixture(scope="module")
def beyond():
    """Rows of beyond; n* of ExpPW is made of what it depends on, that of averages of their calibration."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mean_walk, "least_records", lambda *args: (needed(*args), 0.1))
        patch.setattr(
            flips, "best_split", lambda alpha, epsilon, calibration: (2, {"paper": 50, "tight": 30}[calibration])
        )
        return rows_of("beyond", ends=[1, 3], log_domains=[4, 8])


def needed(bound, step, flip, k, alpha):
    return round(1e6 * bound + 1e4 * k + 1e3 * flip + 1e2 * step + 10 * alpha)


def test_records_beyond_aggregation(beyond):
    """D-c48, D-c49: Theorem 5.3 at epsilon at most alpha/2 (D13), Corollary 4.7 (D8)."""
    beta = 0.05

    def walk(row, k):
        return needed(T(row.alpha, row.epsilon), row.epsilon / 2, row.flip, k, row.alpha)

    agree(beyond, lambda row: walk(row, 1), form="alpha", metric="needed", mechanism="exppw")
    agree(beyond, lambda row: walk(row, row.k), form="ends", metric="needed")
    for variant, records in (("printed", 100), ("tight", 60)):
        agree(beyond, lambda row, n=records: n, form="alpha", metric="needed", mechanism="averaged", variant=variant)
    agree(beyond, lambda row: RECORDS["mended"](row.k, row.alpha, row.epsilon), form="ends", metric="promised")
    failure = {"printed": 2.0, "mended": 0.5}
    for variant, accuracy in (("printed", 1.0), ("mended", 0.5)):

        def theorem_53(row, variant=variant, accuracy=accuracy):
            return RECORDS[variant](1, accuracy * row.alpha, min(row.epsilon, row.alpha / 2))

        def corollary_47(row, variant=variant):
            m = ceil(8 * log(4 / (failure[variant] * row.alpha * beta * row.epsilon)) / (row.alpha / 2) ** 2)
            return ceil(2 * m / (row.alpha * row.epsilon) - 1e-9)

        where = {"form": "alpha", "metric": "promised", "variant": variant}
        agree(beyond, theorem_53, mechanism="exppw", **where)

        def nearly_optimal(row, records=theorem_53):
            """D-c67: Section 2.1's lower bound at d = 1, a logarithm and the constant 100."""
            bound = (1 / row.alpha**2 + 1 / (row.epsilon * row.alpha)) * log(2 / row.alpha)
            return log(records(row) / (100 * bound))

        agree(beyond, nearly_optimal, mechanism="exppw", **where | {"metric": "excess"})
        agree(beyond, corollary_47, mechanism="averaged", **where)


def test_records_over_the_domain(beyond):
    """D-c47: the spread; and the exponential mechanism, weights e^{-eps errors/2} on N + 1 thresholds."""
    walks = select(beyond, form="domain", metric="needed", mechanism="exppw")["value"]
    agree(beyond, lambda row: max(walks) / min(walks) - 1, metric="spread")
    for row in select(beyond, mechanism="exp_mech").itertuples():
        errors = [exponential_error(n, 2**row.log_domain, row.epsilon) for n in (row.n, row.n - 1)]
        assert errors[0] <= row.alpha < errors[1]


def exponential_error(n, N, epsilon):
    """At c = N/2, labelled 0, and at c + 1, labelled 1, each with probability 1/2; thresholds 1[x >= a], a = 1..N+1."""
    c, a, found = N // 2, np.arange(1, N + 2), 0.0
    for first in range(n + 1):
        weights = np.exp(-epsilon / 2 * (first * (a <= c) + (n - first) * (a > c + 1)))
        wrong = ((a <= c) + (a > c + 1)) / 2
        found += stats.binom.pmf(first, n, 0.5) * (weights @ wrong) / weights.sum()
    return found


def test_composition(monkeypatch):
    """D-c01: m eps, and sqrt(2 m ln(1/delta)) eps + m eps (e^eps - 1) (advanced); the excess over delta is relative."""
    monkeypatch.setattr(worst_bits, "worst_delta", lambda total, m, each, **kind: 1e-6 * (1 + total + m + each))
    monkeypatch.setattr(worst_bits, "adaptive_delta", lambda epsilon, m, each: 1e-6 * (1 + epsilon + m + each))
    settings = {"epsilon": 1.0, "delta": 1e-6, "each": 0.01, "queries": [1, 10, 1000], "attacked_queries": [10, 50]}
    measured = Rows()
    for measure in (queries.totals, queries.attacks):
        measure(types.SimpleNamespace(**settings), measured)
    rows = measured.frame()
    totals = {
        "basic": lambda m, each: m * each,
        "advanced": lambda m, each: sqrt(2 * m * log(1e6)) * each + m * each * (exp(each) - 1),
    }
    for name, total in totals.items():
        agree(rows, lambda row, f=total: f(row.m, row.each), metric="total_epsilon", accountant=name)
    agree(rows, lambda row: 0.01, "each", series="total")
    agree(rows, lambda row: row.epsilon + row.m + row.each, metric="excess")
    # m answers fill the budget.
    advanced = select(rows, series="adaptive", accountant="advanced")
    for row in advanced.itertuples():
        assert totals["advanced"](row.m, row.each) == pytest.approx(1.0, rel=1e-6)
    agree(rows, lambda row: 1.0, "epsilon", series="adaptive")
