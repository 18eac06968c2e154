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

`variant` is "" for lifted ties, "sorted" for ties sorted by (x, y), "strict" for Section 2.2's walk, "fresh" where a
record asks with a new key; `form`, but for `lemma`, is "printed" or "mended" where a constant of the paper is (erratum
D13).

References
----------
dwork2018, Sections 2.2 and 5; errata D4, D5, D6, D13.
"""

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from dperm import seeds
from dperm.errors import ConfigError
from dperm.mechanisms.prediction import exppw
from dperm.solvers import intervals
from dperm_papers.dwork2018.shared import alternating, labellings, multisets, ties

# The exhaustive parts: points and records of the data sets, and T, at which all is enumerated.
_POINTS, _RECORDS, _BOUNDS = 4, 6, (1, 2, 3, 8)
# Records of the random pairs, and over how many points their ties are spread.
_PAIR_RECORDS, _PAIR_POINTS = 50, 12
# Erratum D13's condition on epsilon and alpha under which the printed n suffices.
_HALF = 0.5
# The columns of some rows that are alike in them, and their values.
_Rows = tuple[dict[str, Any], np.ndarray]


def run(cell: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows of all series.

    - cell: as `dperm_pipeline.plan` made it.
    - Raises ConfigError: if the cell's part is another than `all`.
    """
    if cell["point"]["part"] != "all":
        raise ConfigError(f"part: {cell['point']['part']!r} is none of dwork2018-exppw; there is: all")
    settings = cell["settings"]

    def rng(*names):
        return seeds.generator(cell["seed"], cell["experiment"], *names)

    parts = (_privacy, _moves, _range, _lemma, _ties, _theorem, _choice, _agnostic, _tail, _size)
    found = [points for part in parts for points in part(settings, rng)]
    lengths = [len(values) for _, values in found]
    rows = {name: np.repeat([told[name] for told, _ in found], lengths) for name in found[0][0]}
    rows["repeat"] = np.concatenate([np.arange(length) for length in lengths])
    rows["value"] = np.concatenate([values for _, values in found])
    head = {
        "paper": cell["paper"],
        "experiment": cell["experiment"],
        "mechanism": "exppw",
        "delta": 0.0,
        "status": "ok",
    }
    return pd.DataFrame(rows).assign(**head)


def _rows(series: str, values: Any, *, variant: str = "", metric: str = "excess", **told: Any) -> _Rows:
    """Return the columns of one point and its values, a row each; the defaults say nothing."""
    guarantee = exppw.guarantee(_calibration(variant))
    known = {
        "calibration": _calibration(variant), "guarantee": guarantee, "neighbours": "replace", "dataset": "alternating",
        "form": "", "kind": "", "epsilon": 0.0, "alpha": 0.0, "k": 0, "flip": 0.0, "n": 0, "bound": 0.0, "domain": 0,
        "share": 0.0, "gamma": 0.0,
    }  # fmt: skip
    columns = {name: type(default)(told.pop(name, default)) for name, default in known.items()}
    if told:
        raise TypeError(f"no such columns: {', '.join(told)}")
    return {"series": series, "variant": variant, "metric": metric, **columns}, np.atleast_1d(values).astype(float)


def _calibration(variant: str) -> str:
    return "paper" if variant == "strict" else "tight"


def _privacy(settings, rng) -> Iterator[_Rows]:
    counts = multisets.data_sets(_POINTS, _RECORDS)
    bases, larger = multisets.families(counts)
    for T, rule in itertools.product(_BOUNDS, multisets.RULES):
        law, variant = multisets.laws(counts, T, rule), "" if rule == "lifted" else rule
        calibration = _calibration(variant)
        where = {"dataset": "multisets", "variant": variant, "bound": T}
        for epsilon, neighbours in itertools.product(settings["epsilons"], ("replace", "add_remove")):
            step = exppw.step(epsilon, calibration, neighbours)
            found = multisets.greatest_ratios(law, step, bases, larger)
            promise = exppw.guarantee(calibration, neighbours)
            told = where | {"epsilon": epsilon, "neighbours": neighbours, "guarantee": promise}
            yield _rows("privacy", found[neighbours] - epsilon, **told)
            if neighbours == "replace":
                yield _rows("privacy", found["range"] - epsilon, kind="range", **told)
        if rule != "lifted":
            for neighbours, most in (("add_remove", 1), ("replace", 2)):
                moved = multisets.greatest_moves(law, bases, larger)[neighbours]
                yield _rows("moves", moved - most, neighbours=neighbours, **where)


def _moves(settings, rng) -> Iterator[_Rows]:
    """Random pairs: ties over few points, lifted by keys that the records keep, queries at every record."""
    generator, worst = rng("pairs"), {"add_remove": 0.0, "replace": 0.0}
    for _ in range(settings["instances"]):
        n, T = _PAIR_RECORDS, int(generator.integers(1, 21))
        x = generator.integers(_PAIR_POINTS, size=n + 1).astype(float)
        y, keys = generator.integers(2, size=n + 1), generator.random(n + 1)
        # The first n records; without the last of these; with another one in its place.
        chosen = (np.arange(n), np.arange(n - 1), np.delete(np.arange(n + 1), n - 1))
        first, less, other = (
            exppw.value(exppw.prepare(x[rows], y[rows], keys[rows], T), x, keys) for rows in chosen
        )  # fmt: skip
        worst["add_remove"] = max(worst["add_remove"], np.abs(first - less).max())
        worst["replace"] = max(worst["replace"], np.abs(first - other).max())
    for neighbours, most in (("add_remove", 1), ("replace", 2)):
        yield _rows("moves", worst[neighbours] - most, dataset="multisets", kind="pairs", neighbours=neighbours)


def _range(settings, rng) -> Iterator[_Rows]:
    for alpha, epsilon, variant in itertools.product(settings["alphas"], settings["epsilons"], ("", "strict")):
        calibration = _calibration(variant)
        bound = exppw.walk_bound(alpha, epsilon, calibration)
        least = exppw.probability(exppw.walks(np.zeros((1, math.ceil(bound) + 1)), bound), epsilon, calibration).min()
        said = alpha if variant else 1 / (1 + math.exp(epsilon * bound / 2))
        where = {"dataset": "multisets", "variant": variant, "epsilon": epsilon, "alpha": alpha, "bound": bound}
        yield _rows("range", abs(least - said), **where)


def _lemma(settings, rng) -> Iterator[_Rows]:
    small, n, flip = settings["enumerated"], settings["records"], max(settings["flips"])
    for kind in ("exhaustive", "realizable", "flipped", "random", "blocks"):
        for k in settings["ends"]:
            if kind == "exhaustive":
                labels = labellings.exhaustive(small)
            elif kind == "blocks":
                labels = labellings.blocks(n, sorted({2**j for j in range(int(math.log2(n)))}))
            else:
                labels = labellings.drawn(kind, n, k, flip, settings["draws"], rng("lemma", kind, k))
            size = labels.shape[1]
            best = intervals.fewest_errors(labels, 1 - labels, k)
            within = [T for T in settings["walk_bounds"] if size >= T]
            epsilons = settings["epsilons"] + (settings["enumerated_epsilons"] if kind == "exhaustive" else [])
            for T, epsilon, variant in itertools.product(within, epsilons, ("", "strict")):
                step = exppw.step(epsilon, _calibration(variant))
                wrong = labellings.sample_errors(labels, T, step, own=variant != "strict")
                excess, most = (wrong - best).max() / size, labellings.lemma_bound(k, T, size, step)
                where = {"dataset": "labellings", "variant": variant, "kind": kind, "epsilon": epsilon, "k": k}
                where |= {"bound": T, "n": size, "flip": flip if kind == "flipped" else 0.0}
                where["form"] = "open" if most < wrong.max() / size else ""
                yield _rows("lemma", excess - most, **where)
                yield _rows("lemma", excess / most, metric="ratio", **where)


def _ties(settings, rng) -> Iterator[_Rows]:
    alpha, most = max(settings["alphas"]), max(settings["domains"])
    for epsilon, points in itertools.product(settings["epsilons"], settings["domains"]):
        T, step = exppw.walk_bound(alpha, epsilon), exppw.step(epsilon)
        # A multiple of every N, so that points hold equally many records.
        n = math.lcm(*settings["domains"]) * -(-alternating.promised(1, alpha, epsilon)[1] // most)
        allowed = labellings.lemma_bound(1, T, n, step)
        where = {"dataset": "tie", "epsilon": epsilon, "alpha": alpha, "k": 1, "n": n, "bound": T, "domain": points}
        exact = ties.sorted_error(points, n, T, step)
        # E Opt_S <= 1/4: the excess is at least this.
        yield _rows("ties", exact - ties.SHARE - allowed, variant="sorted", **where)
        yield _rows("ties", exact, variant="sorted", metric="error", **where)
        yield _rows("ties", ties.SHARE + allowed, metric="allowed", **where)
        own, fresh, best = ties.lifted(points, n, T, step, settings["draws"], rng("ties", epsilon, points))
        for variant, found in (("", own), ("fresh", fresh)):
            yield _rows("ties", found - best - allowed, variant=variant, **where)
            yield _rows("ties", found, variant=variant, metric="error", **where)


def _theorem(settings, rng) -> Iterator[_Rows]:
    repeats, batch = settings["repeats"], settings["batch"]
    laws = [("alternating", k, k, flip) for k, flip in itertools.product(settings["ends"], settings["flips"])]
    # Lifted, tie(1) is the target 0 on a line; it is learned as a threshold.
    laws.append(("tie", 1, 0, ties.SHARE))
    for epsilon, alpha in itertools.product(settings["epsilons"], settings["alphas"]):
        T, step = exppw.walk_bound(alpha, epsilon), exppw.step(epsilon)
        for (law, k, ends, flip), form in itertools.product(laws, ("printed", "mended")):
            n = dict(zip(("printed", "mended"), alternating.promised(k, alpha, epsilon), strict=True))[form]
            most = math.exp(epsilon) * (flip + alpha)
            where = {"dataset": law, "form": form, "epsilon": epsilon, "alpha": alpha, "k": k, "flip": flip, "n": n}
            where |= {"bound": T}
            if (law, form) == ("tie", "printed"):
                # The printed algorithm sorts ties; the mended one lifts them.
                yield _rows("theorem", ties.sorted_population_error(n, T, step) - most, variant="sorted", **where)
                continue
            generator = rng("theorem", law, k, flip, epsilon, alpha, form)
            found = alternating.errors(n, ends, flip, T, step, repeats, generator)
            yield _rows("theorem", found.reshape(-1, batch).mean(axis=1) - most, **where)


def _choice(settings, rng) -> Iterator[_Rows]:
    for k, alpha, epsilon in itertools.product(
        settings["ends"], settings["choice_alphas"], settings["choice_epsilons"]
    ):
        T, kind = exppw.walk_bound(alpha, epsilon), "half" if max(alpha, epsilon) <= _HALF else "beyond"
        for form, n in zip(("printed", "mended"), alternating.promised(k, alpha, epsilon), strict=True):
            value = labellings.lemma_bound(k, T, n, exppw.step(epsilon)) - alpha
            where = {"dataset": "no-data", "form": form, "kind": kind, "epsilon": epsilon, "alpha": alpha}
            yield _rows("choice", value, k=k, n=n, bound=T, **where)


def _agnostic(settings, rng) -> Iterator[_Rows]:
    forms = {"printed": 1.0, "mended": 0.5}
    for alpha, optimum in itertools.product(settings["choice_alphas"], (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)):
        for form, share in forms.items():
            value = math.exp(alpha / 2) * (optimum + share * alpha) - (optimum + alpha)
            if alpha <= _HALF:
                yield _rows("step", value, dataset="no-data", form=form, alpha=alpha, flip=optimum, epsilon=alpha / 2)
    flip = max(settings["flips"])
    for alpha, k, form in itertools.product(settings["agnostic_alphas"], settings["ends"], forms):
        epsilon, accuracy = alpha / 2, forms[form] * alpha
        n = alternating.promised(k, accuracy, epsilon)[list(forms).index(form)]
        T, generator = exppw.walk_bound(accuracy, epsilon), rng("agnostic", alpha, k, form)
        found = alternating.errors(n, k, flip, T, exppw.step(epsilon), settings["repeats"], generator)
        where = {"form": form, "epsilon": epsilon, "alpha": alpha, "k": k, "flip": flip, "n": n, "bound": T}
        yield _rows("agnostic", found.reshape(-1, settings["batch"]).mean(axis=1) - (flip + alpha), **where)


def _tail(settings, rng) -> Iterator[_Rows]:
    alpha = max(settings["alphas"])
    for beta, k, flip in itertools.product(settings["gammas"], (1, max(settings["ends"])), settings["flips"]):
        epsilon = 1 / (16 * math.log(1 / beta))
        T, n = exppw.walk_bound(alpha, epsilon), alternating.promised(k, alpha, epsilon)[0]
        # Beyond the theorem, so beside it: with flips, from fewer samples.
        repeats = settings["tail_repeats"] if flip == 0 else settings["draws"]
        found = alternating.errors(n, k, flip, T, exppw.step(epsilon), repeats, rng("tail", beta, k, flip))
        where = {"epsilon": epsilon, "alpha": alpha, "k": k, "flip": flip, "n": n, "bound": T, "gamma": 2 * beta}
        yield _rows("tail", found >= flip + 3 * alpha, metric="violated", **where)


def _size(settings, rng) -> Iterator[_Rows]:
    grid = itertools.product(settings["alphas"], settings["size_epsilons"], settings["ends"], settings["flips"])
    for alpha, epsilon, k, flip in grid:
        T, whole = exppw.walk_bound(alpha, epsilon), alternating.promised(k, alpha, epsilon)[1]
        for share in settings["size_shares"]:
            n = max(1, round(share * whole))
            generator = rng("size", alpha, epsilon, k, flip, share)
            found = alternating.errors(n, k, flip, T, exppw.step(epsilon), settings["draws"], generator)
            where = {"epsilon": epsilon, "alpha": alpha, "k": k, "flip": flip, "n": n, "bound": T, "share": share}
            yield _rows("size", (found - flip) / alpha, metric="scaled", **where)
