"""Bounds on single answers and votes (dwork2018, Sections 2.2, 4.1, 4.3, 5 and 6), each beside its number.

Every function yields lines as those of `dperm_papers.dwork2018.constants.promised_labels`. Neighbours: replace-one.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import log_expit

from dperm.laws.finite import closeness
from dperm.mechanisms.prediction import averaged, exppw, soft_majority
from dperm.solvers import intervals
from dperm_papers.dwork2018.shared import averages, flips, labellings, multisets, realizable, ties
from dperm_pipeline.experiments import Cell

Line = dict[str, Any]
# Shards of a soft majority, and of an average of losses with so many records.
_VOTES, _SHARDS, _RECORDS = 20, 5, 20
# Shards, their records and points of all small data sets; points, records and T of all multisets.
_SMALL, _MULTISETS = (3, 2, 4), (3, 4, 2)
# All labels of so many records, in walks of this T and epsilon, at which the bound is below 1/2.
_EXHAUSTIVE, _SHORT, _LOUD = 12, 1, 8.0
# Points that share all records of tie(N).
_DOMAINS = (1, 10)


def _ratios(cell: Cell, epsilon: float) -> Iterator[Line]:
    forms = {}
    for form, calibration in (("printed", "paper"), ("mended", "tight")):
        odds = soft_majority.log_odds(np.arange(_VOTES + 1), _VOTES, epsilon, calibration)
        forms[form] = (epsilon, max(float(np.abs(np.diff(log_expit(sign * odds))).max()) for sign in (1, -1)))
    yield {"claim": "D-c04", "place": "Section 4.1", "series": f"log ratio of a bit, {_VOTES} shards", "forms": forms}
    alpha, forms = cell.settings.alphas[0], {}
    for form, calibration in (("printed", "paper"), ("tight", "tight")):
        r = averaged.shards_needed(alpha, epsilon)
        values = averaged.expected_clip(np.arange(r + 1) / r, averaged.scale(r, epsilon, calibration, bits=True))
        # That of the other bit is its mirror image.
        forms[form] = (epsilon, float(np.abs(np.diff(np.log(values))).max()))
    at = {"claim": "D-c20", "place": "Corollary 4.7", "series": "log ratio of a bit", "alpha": alpha}
    yield {**at, "forms": forms}
    points, records, T = _MULTISETS
    counts = multisets.data_sets(points, records)
    forms = {}
    for form, rule, calibration in (("printed", "strict", "paper"), ("mended", "lifted", "tight")):
        law = multisets.laws(counts, T, rule)
        found = multisets.greatest_ratios(law, exppw.step(epsilon, calibration), *multisets.families(counts))
        forms[form] = (epsilon, found["replace"])
    at = {"claim": "finding", "place": "Section 2.2", "series": f"log ratio of a bit, T = {T}", "n": records}
    yield {**at, "forms": forms}


def _votes(cell: Cell, epsilon: float) -> Iterator[Line]:
    settings = cell.settings
    alpha, beta = settings.alphas[0], settings.gammas[0]
    r = soft_majority.shards_needed(alpha, epsilon)
    n = realizable.thr_records(alpha / 4, beta / r)
    errors = realizable.thr_errors(n, r, settings.repeats, cell.rng("votes"))
    for least, factor, words in ((r // 4 + 1, 4, "over r/4"), (-(-r // 3), 3, "r/3 or more")):
        # At 1/2 + t the shards with an error above t are wrong.
        share = float((errors[:, r - least] / errors[:, -1]).max())
        series = f"share of x with {words} of the shards wrong, over their largest error, worst draw"
        at = {"claim": "D-c06", "place": "Theorem 4.1, proof", "series": series, "alpha": alpha, "n": n, "drawn": 1}
        yield {**at, "forms": {"printed": (factor, share)}}


def _averages(cell: Cell) -> Iterator[Line]:
    r, m, points = _SMALL
    x, y, pairs = averages.small_shards(m, points)
    queries = (np.arange(points + 1) + 0.5) / (points + 1)
    said = {"thresholds": (flips.erm(x, y)[:, None] <= queries).astype(float), "means": y.mean(axis=1)[:, None]}
    for learner, table in said.items():
        gamma = float(np.abs(table[pairs[:, 0]] - table[pairs[:, 1]]).max())
        series = f"rate γ/r of an average, γ = {gamma:g}, r = {r}, {learner}"
        forms = {"printed": (gamma / r, averages.largest_change(table, pairs, r))}
        yield {"claim": "D-c16", "place": "Lemma 4.6", "series": series, "n": r * m, "forms": forms}
    rng = cell.rng("averages")
    means = rng.random((cell.settings.repeats, _SHARDS, _RECORDS)).mean(axis=2)
    # Of labels uniform on [0, 1]: E (a - y)^2 = (a - 1/2)^2 + 1/12.
    mean, own = ((means - 0.5) ** 2).mean(axis=1) + 1 / 12, (means.mean(axis=1) - 0.5) ** 2 + 1 / 12
    worst = np.argmin(mean / own)
    series = f"loss of an average of {_SHARDS} means, squared, worst draw"
    forms = {"printed": (float(mean[worst]), float(own[worst]))}
    yield {"claim": "D-c17", "place": "Lemma 4.6", "series": series, "n": _RECORDS, "drawn": 1, "forms": forms}


def _walks(cell: Cell) -> Iterator[Line]:
    n, T, epsilon = _EXHAUSTIVE, _SHORT, _LOUD
    labels = labellings.exhaustive(n)
    best, forms = intervals.fewest_errors(labels.astype(int), 1 - labels.astype(int), 1), {}
    for form, own, calibration in (("printed", False, "paper"), ("mended", True, "tight")):
        step = exppw.step(epsilon, calibration)
        excess = (labellings.sample_errors(labels, T, step, own=own) - best).max() / n
        forms[form] = (labellings.lemma_bound(1, T, n, step), float(excess))
    at = {"place": "Section 2.2", "series": "largest Err_S − Opt_S, k = 1", "n": n, "epsilon": epsilon}
    yield {**at, "claim": "finding", "forms": forms}


def _ties(cell: Cell, epsilon: float) -> Iterator[Line]:
    alpha, repeats = cell.settings.alphas[0], cell.settings.repeats
    T, step, n = exppw.walk_bound(alpha, epsilon), exppw.step(epsilon), cell.settings.sizes[0]
    for points in _DOMAINS:
        rng = cell.rng("ties", epsilon, points)
        bound = labellings.lemma_bound(1, T, n, step)
        own, _, _, best = ties.drawn(points, n, T, step, min(repeats, 400), rng)
        # E Opt_S is at most 1/4: the excess is at least this.
        found = {"printed": ties.sorted_error(points, n, T, step) - ties.SHARE, "mended": float((own - best).max())}
        series = f"Err_S − Opt_S, k = 1, N = {points}: mean, sorted; worst draw, lifted"
        forms = {form: (bound, value) for form, value in found.items()}
        yield {
            "claim": "D-c42", "place": "Lemma 5.2, ties", "series": series, "alpha": alpha, "n": n, "drawn": 1,
            "forms": forms,
        }  # fmt: skip


def _losses(cell: Cell, epsilon: float) -> Iterator[Line]:
    rng, largest = cell.rng("losses", epsilon), 0.0
    for _ in range(cell.settings.repeats):
        outcomes = int(rng.integers(2, 9))
        laws = rng.dirichlet(np.full(outcomes, 0.5), size=2)
        values = rng.integers(0, outcomes, size=outcomes)
        after = [np.bincount(values, weights=law, minlength=outcomes) for law in laws]
        before = closeness(*laws, epsilon)
        largest = max(largest, closeness(*after, epsilon) / before if before > 0 else 0.0)
    series = "δ of a loss over δ of the answer, worst of random laws"
    yield {"claim": "D-c50", "place": "Lemma 6.2", "series": series, "drawn": 1, "forms": {"printed": (1.0, largest)}}


ONCE = (_averages, _walks)
EACH = (_ratios, _votes, _ties, _losses)
