"""Bounds on bits and labels (dwork2018, Sections 3, 4.1 to 4.3, 5 and 6), each beside its exact or drawn number.

Every function yields lines: `claim`, `place`, `series`, parameters, and `forms`, form -> (bound, value), as of
`dperm_papers.dwork2018.constants.experiment`; those of EACH at an epsilon. Neighbours: replace-one, if nothing else is
said.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import integrate, optimize

from dperm.accounting import filters, gaussian
from dperm.domain import Budget
from dperm.mechanisms.prediction import averaged, exppw, soft_majority
from dperm.solvers import intervals
from dperm_papers.dwork2018.generalization import experiment as generalization
from dperm_papers.dwork2018.shared import (
    alternating,
    best_bit,
    bounds,
    evaluation,
    flips,
    labellings,
    realizable,
    worst_bits,
)
from dperm_papers.dwork2018.softmajority import experiment as softmajority
from dperm_pipeline.experiments import Cell

Line = dict[str, Any]
# Answers together, records that change, shards of Lemma 4.6, rate and smoothness of Lemma 4.5, B of Lemma 6.3.
_ANSWERS, _CHANGES, _SHARDS, _RATE, _SMOOTHNESSES, _RANGE = 100, 3, 20, 0.5, (0.5, 2.0), 1.0
# All labels of so many records, in walks of this accuracy and epsilon.
_EXHAUSTIVE, _COARSE, _LOUD = 12, 0.5, 1.0


def _composition(cell: Cell, epsilon: float) -> Iterator[Line]:
    delta, each = cell.settings.delta, epsilon / 10
    said = filters.spent(each, _ANSWERS, delta, bounded_range=True)

    def excess(total: float) -> float:
        return worst_bits.worst_delta(total, _ANSWERS, each, bounded_range=True) - delta

    forms = {
        "printed": (
            filters.spent(each, _ANSWERS, delta, accountant="advanced"),
            filters.spent(each, _ANSWERS, delta, accountant="optimal"),
        ),
        "tight": (said, optimize.brentq(excess, said / 1000, said, xtol=1e-9)),
    }
    series = f"epsilon of {_ANSWERS} answers of a tenth of epsilon each"
    yield {"claim": "D-c01", "place": "Definition 1.1", "series": series, "forms": forms}
    ratio = gaussian.gaussian_ratio(epsilon, delta)
    measured = float(gaussian.hockey_stick(_CHANGES * epsilon, _CHANGES * ratio))
    forms = {"printed": (_CHANGES * math.exp(epsilon * (_CHANGES - 1)) * delta, measured)}
    yield {"claim": "D-c02", "place": "Lemma 3.1", "series": f"delta of {_CHANGES} changes", "forms": forms}
    # From one vote less than half to one more.
    low, high = soft_majority.probability(np.array([1, 2]), 3, epsilon)
    forms = {"printed": (math.tanh(epsilon / 2), float(high - low))}
    yield {"claim": "D-c03", "place": "Definition 1.2", "series": "advantage of membership inference", "forms": forms}


def _majority(cell: Cell, epsilon: float) -> Iterator[Line]:
    settings = cell.settings
    alpha, beta, d = settings.alphas[0], settings.gammas[0], settings.dimension
    for dataset, size in (("thr", 1), ("pts", d)):
        r, m = softmajority.promised(dataset, size, alpha, epsilon, beta)
        wrong = soft_majority.probability(np.arange(r + 1), r, epsilon)
        at = {"alpha": alpha, "d": size}
        needed = r * softmajority.needed(dataset, size, alpha, wrong)
        yield {
            **at, "claim": "D-c07", "place": "Theorem 4.1", "series": f"records, {dataset}",
            "forms": {"printed": (r * m, needed)},
        }  # fmt: skip
        rate = softmajority.logarithms(size, alpha, epsilon, beta) * size / (epsilon * alpha)
        yield {
            **at, "claim": "D-c08", "place": "Corollary 4.2", "series": f"records promised, {dataset}, O(·) with 1",
            "forms": {"printed": (rate, r * m)},
        }  # fmt: skip
    budget = Budget(epsilon, epsilon / 3)
    for claim, place, level, q, bound in (
        ("D-c09", "Theorem 4.3, even law", 0.25, 1 / d, d / (8 * epsilon)),
        ("D-c10", "Theorem 4.3", alpha, 4 * alpha / (d - 1), d / (32 * epsilon * alpha)),
    ):
        forms = {"printed": (bound, best_bit.records(q, budget, 1 / 3))}
        yield {"claim": claim, "place": place, "series": "records at least", "alpha": level, "d": d, "forms": forms}
    few = best_bit.few(d, epsilon)
    yield {
        "claim": "D-c11", "place": "Theorem 4.3, proof", "series": "Pr[t ≤ 1/(4ε)] at least", "d": d,
        "forms": {"printed": (1 / 24, few), "mended": (23 / 24, few)},
    }  # fmt: skip


def _noise(cell: Cell, epsilon: float) -> Iterator[Line]:
    b = _RATE / epsilon
    at = {"claim": "D-c13", "place": "Lemma 4.5", "series": "scale of the noise, γ = 1/2"}
    yield {**at, "forms": {"printed": (epsilon / _RATE, b), "mended": (b, b)}}

    def softplus(z: float) -> float:
        return (np.logaddexp(0, z) - math.log(2)) * math.exp(-abs(z) / b) / (2 * b)

    logistic = sum(integrate.quad(softplus, *ends, limit=200)[0] for ends in ((-50 * b, 0), (0, 50 * b)))
    bound = bounds.lemma45(_RATE, epsilon, lipschitz=1.0)
    for name, value in (("absolute", b), ("logistic", logistic)):
        at = {"claim": "D-c14", "place": "Lemma 4.5(1)", "series": f"cost of the noise, {name} loss"}
        yield {**at, "forms": {"printed": (bound, value)}}
    for smoothness in _SMOOTHNESSES:
        at = {
            "claim": "D-c15",
            "place": "Lemma 4.5(2)",
            "series": f"cost of the noise, squared loss, σ = {smoothness:g}",
        }
        yield {
            **at,
            "forms": {
                form: (bounds.lemma45_smooth(_RATE, epsilon, smoothness=smoothness, mended=mended), smoothness * b**2)
                for form, mended in (("printed", False), ("mended", True))
            },
        }


def _averaging(cell: Cell, epsilon: float) -> Iterator[Line]:
    alpha, beta = cell.settings.alphas[0], cell.settings.gammas[0]
    r = averaged.shards_needed(alpha, epsilon)
    needed = r * flips.least_records(alpha, r, averaged.scale(r, epsilon, "paper"))
    shares = {"printed": 2 * beta * alpha * epsilon, "mended": alpha * beta * epsilon / 2}
    promised = {
        "printed": 2 * flips.agnostic_size(alpha / 2, shares["printed"]) / (alpha * epsilon),
        "mended": r * flips.agnostic_size(alpha / 2, shares["mended"]),
    }
    at = {"alpha": alpha, "place": "Corollary 4.7", "series": "records, flip"}
    yield {**at, "claim": "D-c21", "forms": {form: (n, needed) for form, n in promised.items()}}
    rate = (1 + math.log(1 / (alpha * beta * epsilon))) / (epsilon * alpha**3)
    at |= {"place": "Corollary 4.8", "series": "records promised, flip, O(·) with 1"}
    yield {**at, "claim": "D-c23", "forms": {form: (rate, n) for form, n in promised.items()}}
    r = averaged.shards_needed(alpha, epsilon, "paper")
    costs = {
        form: (alpha, float(averaged.expected_clip(0.0, averaged.scale(r, epsilon, calibration, bits=True))))
        for form, calibration in (("printed", "paper"), ("tight", "tight"))
    }
    yield {"claim": "D-c22", "place": "Section 4.3", "series": "cost of the noise", "alpha": alpha, "forms": costs}


def _shards(cell: Cell) -> Iterator[Line]:
    alpha, beta = cell.settings.alphas[0], cell.settings.gammas[0]
    fails = (1 - alpha) ** realizable.thr_records(alpha, beta / _SHARDS)
    forms = {"printed": (_SHARDS * fails, -math.expm1(_SHARDS * math.log1p(-fails)))}
    at = {"claim": "D-c18", "place": "Lemma 4.6", "alpha": alpha}
    yield {**at, "series": f"failure of {_SHARDS} shards, thr", "forms": forms}


def _walks(cell: Cell, epsilon: float) -> Iterator[Line]:
    alpha, repeats = cell.settings.alphas[0], cell.settings.repeats
    T, k = exppw.walk_bound(alpha, epsilon), 1
    sizes = dict(zip(("printed", "mended"), alternating.promised(k, alpha, epsilon), strict=True))
    forms = {form: (alpha, labellings.lemma_bound(k, T, n, epsilon / 2)) for form, n in sizes.items()}
    at = {"claim": "D-c44", "place": "Theorem 5.3", "series": "(k + 2)T/n + exp(−εT/2), k = 1", "alpha": alpha}
    yield {**at, "forms": forms}

    for flip in (0.0, flips.FLIP):
        forms = {}
        for form, n in sizes.items():
            rng = cell.rng("walks", flip, epsilon, form)
            errors = alternating.errors(n, k, flip, T, exppw.step(epsilon), repeats, rng)
            forms[form] = (math.exp(epsilon) * (flip + alpha), errors.mean())
        series = f"mean error, share {flip:g} of labels flipped"
        yield {**at, "claim": "D-c43", "series": series, "drawn": 1, "forms": forms}


def _accuracies(cell: Cell) -> Iterator[Line]:
    """What Section 5 says at epsilons of its own."""
    settings = cell.settings
    alpha, beta, repeats = settings.alphas[0], settings.gammas[0], settings.repeats
    forms, each = {}, alpha / 2
    for form, accuracy in (("printed", alpha), ("mended", alpha / 2)):
        n = alternating.promised(1, accuracy, each)[1]
        rng = cell.rng("half", form)
        T = exppw.walk_bound(accuracy, each)
        errors = alternating.errors(n, 1, flips.FLIP, T, each / 2, repeats, rng)
        forms[form] = (flips.FLIP + alpha, errors.mean())
    at = {"place": "Theorem 5.3", "alpha": alpha, "drawn": 1}
    yield {**at, "claim": "D-c45", "series": "mean error at ε = α/2, flipped labels", "epsilon": each, "forms": forms}
    each = 1 / (16 * math.log(1 / beta))
    n = alternating.promised(1, alpha, each)[1]
    rng = cell.rng("tail")
    errors = alternating.errors(n, 1, 0.0, exppw.walk_bound(alpha, each), each / 2, repeats, rng)
    forms = {"printed": (3 * alpha, float(np.quantile(errors, 1 - 2 * beta)))}
    series = "error exceeded with probability 2β, no flips"
    yield {**at, "claim": "D-c46", "series": series, "epsilon": each, "n": n, "forms": forms}


def _enumerated(cell: Cell) -> Iterator[Line]:
    """Lemmas 5.1 and 5.2 over all labels."""
    n, T = _EXHAUSTIVE, exppw.walk_bound(_COARSE, _LOUD)
    labels = labellings.exhaustive(n)
    v = exppw.walks(labels, T)
    replaced = removed = 0.0
    for i in range(n):
        other = labels.copy()
        other[:, i] ^= 1
        replaced = max(replaced, np.abs(exppw.walks(other, T) - v).max())
        shorter = exppw.walks(np.delete(labels, i, axis=1), T)
        removed = max(removed, np.abs(shorter[:, i:] - v[:, i + 1 :]).max())
    at = {"claim": "D-c39", "place": "Lemma 5.1", "n": n, "epsilon": _LOUD}
    for series, bound, value in (("V moves, one removed", 1.0, removed), ("V moves, one replaced", 2.0, replaced)):
        yield {**at, "series": series, "forms": {"printed": (bound, value)}}
    own = labellings.sample_errors(labels, T, exppw.step(_LOUD))
    excess = (own - intervals.fewest_errors(labels.astype(int), 1 - labels.astype(int), 1)).max() / n
    forms = {"printed": (labellings.lemma_bound(1, T, n, _LOUD / 2), excess)}
    yield {
        "claim": "D-c41", "place": "Lemma 5.2", "series": "largest Err_S − Opt_S, k = 1", "n": n, "epsilon": _LOUD,
        "alpha": _COARSE, "forms": forms,
    }  # fmt: skip


def _generalization(cell: Cell, epsilon: float) -> Iterator[Line]:
    delta, beta = cell.settings.delta, cell.settings.gammas[0]
    gap = evaluation.largest_gap(epsilon, 0.1, _RANGE)
    at = {"claim": "D-c51", "place": "Lemma 6.3", "series": "largest E[U] − exp(ε)E[V], δ = 0.1"}
    yield {**at, "forms": {"printed": (0.1 * _RANGE, gap)}}
    a = evaluation.member(epsilon)
    for k in (1, 2, 3):
        at = {"claim": "D-c52", "place": "Lemma 6.4", "series": f"log ratio of moments, k = {k}, member"}
        # All records outside the sample: a e^eps against a.
        yield {**at, "forms": {"printed": (k**2 * epsilon, k * epsilon)}}
        outside = (a * math.exp(epsilon) + delta) ** k
        own = {
            form: (math.exp(k**2 * epsilon) * (a + extra) ** k, outside)
            for form, extra in (("printed", k * delta), ("tight", k * delta * math.exp(-epsilon)))
        }
        at |= {"claim": "D-c53", "series": f"moment on a fresh sample, with δ, k = {k}, member"}
        yield {**at, "forms": own}
    factors = {form: (generalization.factor(epsilon, beta, form), math.exp(epsilon)) for form in ("printed", "mended")}
    at = {"claim": "D-c54", "place": "Lemma 6.5", "series": f"factor at β = {beta:g}, member"}
    yield {**at, "forms": factors}


ONCE = (_shards, _enumerated, _accuracies)
EACH = (_composition, _majority, _noise, _averaging, _walks, _generalization)
