r"""ExpPW, Section 5 of dwork2018: its privacy, its error on the sample, and what it promises of fresh points.

Series of rows (column `series`), exact given the samples:

    privacy    greatest log ratio over all neighbours among all small data sets, less epsilon (`multisets`)
    moves      how far V moves between neighbours, less 1 (add/remove) or 2 (replace): all small data sets, sorted or
               strict, and random pairs with lifted ties
    range      least bias of the walk, less what Section 2.2 (strict) or T says it is, in absolute value
    lemma      Err_S - Opt_S - bound of Lemma 5.2 (`labellings`), the worst row of a kind; metric `ratio`: the excess
               Err_S - Opt_S over the bound. `form` is "open" where the bound is below the largest Err_S of the kind, so
               that it could fail: of all labellings of a few points it is so only at `enumerated_epsilons`
    ties       the same on tie(N) (`ties`); metric `error`: Err_S
    theorem    Err_P - e^eps (Opt + alpha), Theorem 5.3 (`alternating`, and tie(1)), means over `batch` samples
    choice     (k + 2) T/n + e^{-eps T/2} - alpha at the n of Theorem 5.3
    agnostic   Err_P - (Opt + alpha) at eps = alpha/2
    step       e^{alpha/2} (Opt + accuracy) - (Opt + alpha)
    tail       metric `violated`: Err_P >= Opt + 3 alpha at eps = 1/(16 ln(1/beta)), gamma = 2 beta
    size       metric `scaled`: (Err_P - Opt)/alpha over n in units of Theorem 5.3's

`variant` is "" for lifted ties, "sorted" for ties sorted by (x, y), "random" for ties in random order, "strict" for
Section 2.2's walk, "fresh" where a record asks with a new key; `form`, but for `lemma`, is "printed" or "mended" where
a constant of the paper is (erratum D13).

References
----------
dwork2018, Sections 2.2 and 5; errata D4, D5, D6, D13.
"""

import itertools
import math

import numpy as np

from dperm.mechanisms.prediction import exppw
from dperm.solvers import intervals
from dperm_papers.dwork2018.shared import alternating, labellings, multisets, ties
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

# The exhaustive parts: points and records of the data sets, and T, at which all is enumerated.
_POINTS, RECORDS, _BOUNDS = 4, 6, (1, 2, 3, 8)
# Records of the random pairs, and over how many points their ties are spread.
_PAIR_RECORDS, _PAIR_POINTS = 50, 12
# Erratum D13's condition on epsilon and alpha under which the printed n suffices.
_HALF = 0.5


def run(cell: Cell, rows: Rows) -> None:
    """Measure all series."""
    cell.parts()
    rows = rows.at(
        mechanism="exppw", dataset="alternating", epsilon=0.0, delta=0.0, **_walk(""), form="",
        kind="", alpha=0.0, k=0, flip=0.0, n=0, bound=0.0, domain=0, share=0.0, gamma=0.0,
    )  # fmt: skip
    for measure in (_privacy, moves, _range, _lemma, _ties, _theorem, _choice, _agnostic, _tail, _size):
        measure(cell, rows)


def _walk(variant: str, neighbours: str = "replace") -> dict[str, str]:
    """Return the columns that tell a walk."""
    calibration = _calibration(variant)
    return {
        "variant": variant, "calibration": calibration, "guarantee": exppw.guarantee(calibration, neighbours),
        "neighbours": neighbours,
    }  # fmt: skip


def _calibration(variant: str) -> str:
    return "paper" if variant == "strict" else "tight"


def _privacy(cell: Cell, rows: Rows) -> None:
    counts = multisets.data_sets(_POINTS, RECORDS)
    bases, larger = multisets.families(counts)
    for T, rule in itertools.product(_BOUNDS, multisets.RULES):
        law, variant = multisets.laws(counts, T, rule), "" if rule == "lifted" else rule
        here = rows.at(dataset="multisets", bound=T)
        for epsilon, neighbours in itertools.product(cell.settings.epsilons, ("replace", "add_remove")):
            step = exppw.step(epsilon, _calibration(variant), neighbours)
            found = multisets.greatest_ratios(law, step, bases, larger)
            own = here.at(series="privacy", epsilon=epsilon, **_walk(variant, neighbours))
            own.add("excess", found[neighbours] - epsilon)
            if neighbours == "replace":
                own.add("excess", found["range"] - epsilon, kind="range")
        if rule != "lifted":
            greatest = multisets.greatest_moves(law, bases, larger)
            for neighbours, most in (("add_remove", 1), ("replace", 2)):
                own = here.at(series="moves", **{**_walk(variant), "neighbours": neighbours})
                own.add("excess", greatest[neighbours] - most)


def moves(cell: Cell, rows: Rows) -> None:
    """Random pairs: ties over few points, lifted by keys that the records keep, queries at every record."""
    rng, worst = cell.rng("pairs"), {"add_remove": 0.0, "replace": 0.0}
    for _ in range(cell.settings.instances):
        n, T = _PAIR_RECORDS, int(rng.integers(1, 21))
        x = rng.integers(_PAIR_POINTS, size=n + 1).astype(float)
        y, keys = rng.integers(2, size=n + 1), rng.random(n + 1)
        # The first n records; without the last of these; with another one in its place.
        chosen = (np.arange(n), np.arange(n - 1), np.delete(np.arange(n + 1), n - 1))
        first, less, other = (
            exppw.value(exppw.prepare(x[some], y[some], keys[some], T), x, keys) for some in chosen
        )  # fmt: skip
        worst["add_remove"] = max(worst["add_remove"], np.abs(first - less).max())
        worst["replace"] = max(worst["replace"], np.abs(first - other).max())
    here = rows.at(series="moves", dataset="multisets", kind="pairs")
    for neighbours, most in (("add_remove", 1), ("replace", 2)):
        here.add("excess", worst[neighbours] - most, neighbours=neighbours)


def _range(cell: Cell, rows: Rows) -> None:
    settings = cell.settings
    for alpha, epsilon, variant in itertools.product(settings.alphas, settings.epsilons, ("", "strict")):
        calibration = _calibration(variant)
        bound = exppw.walk_bound(alpha, epsilon, calibration)
        least = exppw.probability(exppw.walks(np.zeros((1, math.ceil(bound) + 1)), bound), epsilon, calibration).min()
        said = alpha if variant else 1 / (1 + math.exp(epsilon * bound / 2))
        here = rows.at(series="range", dataset="multisets", epsilon=epsilon, alpha=alpha, bound=bound)
        here.add("excess", abs(least - said), **_walk(variant))


def _lemma(cell: Cell, rows: Rows) -> None:
    settings = cell.settings
    small, n, flip = settings.enumerated, settings.records, max(settings.flips)
    kinds = ("exhaustive", "realizable", "flipped", "random", "blocks")
    for kind, k in itertools.product(kinds, settings.ends):
        if kind == "exhaustive":
            labels = labellings.exhaustive(small)
        elif kind == "blocks":
            labels = labellings.blocks(n, sorted({2**j for j in range(int(math.log2(n)))}))
        else:
            labels = labellings.drawn(kind, n, k, flip, settings.draws, cell.rng("lemma", kind, k))
        size = labels.shape[1]
        best = intervals.fewest_errors(labels, 1 - labels, k)
        within = [T for T in settings.walk_bounds if size >= T]
        epsilons = settings.epsilons + (settings.enumerated_epsilons if kind == "exhaustive" else [])
        here = rows.at(series="lemma", dataset="labellings", kind=kind, k=k, n=size)
        here = here.at(flip=flip if kind == "flipped" else 0.0)
        for T, epsilon, variant in itertools.product(within, epsilons, ("", "strict")):
            step = exppw.step(epsilon, _calibration(variant))
            wrong = labellings.sample_errors(labels, T, step, own=variant != "strict")
            excess, most = (wrong - best).max() / size, labellings.lemma_bound(k, T, size, step)
            own = here.at(epsilon=epsilon, bound=T, **_walk(variant))
            own = own.at(form="open" if most < wrong.max() / size else "")
            own.add("excess", excess - most)
            own.add("ratio", excess / most)


def _ties(cell: Cell, rows: Rows) -> None:
    settings = cell.settings
    alpha, most = max(settings.alphas), max(settings.domains)
    for epsilon, points in itertools.product(settings.epsilons, settings.domains):
        T, step = exppw.walk_bound(alpha, epsilon), exppw.step(epsilon)
        # A multiple of every N, so that points hold equally many records.
        n = math.lcm(*settings.domains) * -(-alternating.promised(1, alpha, epsilon)[1] // most)
        allowed = labellings.lemma_bound(1, T, n, step)
        here = rows.at(series="ties", dataset="tie", epsilon=epsilon, alpha=alpha, k=1, n=n, bound=T, domain=points)
        exact = ties.sorted_error(points, n, T, step)
        # E Opt_S <= 1/4: the excess is at least this.
        here.add("excess", exact - ties.SHARE - allowed, variant="sorted")
        here.add("error", exact, variant="sorted")
        here.add("allowed", ties.SHARE + allowed)
        rng = cell.rng("ties", epsilon, points)
        own, fresh, random, best = ties.drawn(points, n, T, step, settings.draws, rng)
        for variant, found in (("", own), ("fresh", fresh)):
            here.add("excess", found - best - allowed, variant=variant)
            here.add("error", found, variant=variant)
        # The order is the algorithm's own draw, over which the lemma's error is a mean.
        here.add("excess", float((random - best).mean() - allowed), variant="random")
        here.add("error", random, variant="random")


def _theorem(cell: Cell, rows: Rows) -> None:
    settings = cell.settings
    laws = [("alternating", k, k, flip) for k, flip in itertools.product(settings.ends, settings.flips)]
    # Lifted, tie(1) is the target 0 on a line; it is learned as a threshold.
    laws.append(("tie", 1, 0, ties.SHARE))
    for epsilon, alpha in itertools.product(settings.epsilons, settings.alphas):
        T, step = exppw.walk_bound(alpha, epsilon), exppw.step(epsilon)
        for law, k, ends, flip in laws:
            most = math.exp(epsilon) * (flip + alpha)
            for form, n in zip(("printed", "mended"), alternating.promised(k, alpha, epsilon), strict=True):
                here = rows.at(series="theorem", dataset=law, form=form, epsilon=epsilon, alpha=alpha, k=k)
                here = here.at(flip=flip, n=n, bound=T)
                if (law, form) == ("tie", "printed"):
                    # The printed algorithm sorts the points, and does not say in which order equal ones come.
                    here.add("excess", ties.sorted_population_error(n, T, step) - most, variant="sorted")
                    here.add("excess", ties.random_population_error(n, T, step) - most, variant="random")
                    continue
                rng = cell.rng("theorem", law, k, flip, epsilon, alpha, form)
                found = alternating.errors(n, ends, flip, T, step, settings.repeats, rng)
                here.add("excess", found.reshape(-1, settings.batch).mean(axis=1) - most)


def _choice(cell: Cell, rows: Rows) -> None:
    settings = cell.settings
    for k, alpha, epsilon in itertools.product(settings.ends, settings.choice_alphas, settings.choice_epsilons):
        T, kind = exppw.walk_bound(alpha, epsilon), "half" if max(alpha, epsilon) <= _HALF else "beyond"
        here = rows.at(series="choice", dataset="no-data", kind=kind, epsilon=epsilon, alpha=alpha, k=k, bound=T)
        for form, n in zip(("printed", "mended"), alternating.promised(k, alpha, epsilon), strict=True):
            here.add("excess", labellings.lemma_bound(k, T, n, exppw.step(epsilon)) - alpha, form=form, n=n)


def _agnostic(cell: Cell, rows: Rows) -> None:
    settings, forms = cell.settings, {"printed": 1.0, "mended": 0.5}
    for alpha, optimum in itertools.product(settings.choice_alphas, (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)):
        if alpha > _HALF:
            continue
        here = rows.at(series="step", dataset="no-data", alpha=alpha, flip=optimum, epsilon=alpha / 2)
        for form, share in forms.items():
            here.add("excess", math.exp(alpha / 2) * (optimum + share * alpha) - (optimum + alpha), form=form)
    flip = max(settings.flips)
    for alpha, k, form in itertools.product(settings.agnostic_alphas, settings.ends, forms):
        epsilon, accuracy = alpha / 2, forms[form] * alpha
        n = alternating.promised(k, accuracy, epsilon)[list(forms).index(form)]
        T = exppw.walk_bound(accuracy, epsilon)
        rng = cell.rng("agnostic", alpha, k, form)
        found = alternating.errors(n, k, flip, T, exppw.step(epsilon), settings.repeats, rng)
        here = rows.at(series="agnostic", form=form, epsilon=epsilon, alpha=alpha, k=k, flip=flip, n=n, bound=T)
        here.add("excess", found.reshape(-1, settings.batch).mean(axis=1) - (flip + alpha))


def _tail(cell: Cell, rows: Rows) -> None:
    settings = cell.settings
    alpha = max(settings.alphas)
    for beta, k, flip in itertools.product(settings.gammas, (1, max(settings.ends)), settings.flips):
        epsilon = 1 / (16 * math.log(1 / beta))
        T, n = exppw.walk_bound(alpha, epsilon), alternating.promised(k, alpha, epsilon)[0]
        # Beyond the theorem, so beside it: with flips, from fewer samples.
        repeats = settings.tail_repeats if flip == 0 else settings.draws
        found = alternating.errors(n, k, flip, T, exppw.step(epsilon), repeats, cell.rng("tail", beta, k, flip))
        here = rows.at(series="tail", epsilon=epsilon, alpha=alpha, k=k, flip=flip, n=n, bound=T, gamma=2 * beta)
        here.add("violated", found >= flip + 3 * alpha)


def _size(cell: Cell, rows: Rows) -> None:
    settings = cell.settings
    grid = itertools.product(settings.alphas, settings.size_epsilons, settings.ends, settings.flips)
    for alpha, epsilon, k, flip in grid:
        T, whole = exppw.walk_bound(alpha, epsilon), alternating.promised(k, alpha, epsilon)[1]
        here = rows.at(series="size", epsilon=epsilon, alpha=alpha, k=k, flip=flip, bound=T)
        for share in settings.size_shares:
            n = max(1, round(share * whole))
            rng = cell.rng("size", alpha, epsilon, k, flip, share)
            found = alternating.errors(n, k, flip, T, exppw.step(epsilon), settings.draws, rng)
            here.add("scaled", (found - flip) / alpha, n=n, share=share)
