r"""Generalization from private evaluation (dwork2018, Section 6): moments and tails of the loss on a fresh sample.

L(S, z) = E_M[M(S, z)], E_S = mean of L(S, z_i) over S itself, E_S' over a fresh sample S' of n records of the same law:

    Lemma 6.4    E (E_S')^k <= e^{k^2 eps} E (E_S + k delta B)^k;    tight: k e^{-eps} delta B, as the proof gives it
    Lemma 6.5    if E_S <= alpha for all S:   Pr[E_S' >= alpha c] <= beta,   c = e^{2 sqrt(eps log(1/beta))};
                 mended: c = min over integers k >= 1 of beta^{-1/k} e^{k eps} (erratum D13)

`member` has Pr[1] = a for its own records and a e^eps (+ delta) for all others; the law is continuous, so E_S = a and
E_S' = a e^eps: the ratio of moments is e^{k eps}, what differential privacy of the model allows, and Lemma 6.5 fails as
printed where beta >= e^{-eps/4} (erratum D14).

`exppw` on x ~ U[0, 1] with Pr[y = 1 | x] = q_left below 1/2 and q_right above. A record's own query has a fresh key,
which is above the record's own with probability 1/2: L(S, z_i) is the mean of the losses before and after it. Given the
labels in order and the number m of records below 1/2, the losses are constant on gaps, and the lengths of the gaps of
either half are half of a uniform point of a simplex. With A_j = sum over gaps of length times E_y[loss^j],

    E[(E_S')^2 | S] = A_2/n + (1 - 1/n) A_1^2,    E[(E_S')^3 | S] = (A_3 + 3 (n-1) A_2 A_1 + (n-1)(n-2) A_1^3)/n^2,

whose means over the lengths are closed (`simplex`): for small n all labels and all m are enumerated, and nothing is
drawn; the moments of E_P = A_1, the loss on the law itself, come with them. For large n S is drawn, the moments given S
are exact; the tail has S' drawn too, on the realizable law, where alpha = max over m of E_S.

Section 2.3 compares. `classical`: with gamma = tanh(eps/2), the prediction stability that eps-privacy implies, and
E_S <= a, Theorem 12 of Bousquet and Elisseeff (2002, quoted from knowledge) says of E_P in [0, 1]

    E_P <= a + 2 gamma + (4 n gamma + 1) sqrt(log(1/beta)/(2n))         with probability 1 - beta,

Lemma 6.5 and Hoeffding's inequality for E_S' given S, at beta/2 each, E_P <= a c + sqrt(log(2/beta)/(2n)).

`shattered`: 2 T records with one label, just before a point, bring ExpPW's walk from one end to the other, so that
labels of N points can be chosen freely: of n records the hypotheses have a VC dimension of n/(2T) at least, and
sqrt(dimension/n), by which such bounds go, does not fall with n.
"""

import itertools
import math
from typing import Any

import numpy as np
from scipy import special

from dperm.mechanisms.prediction import exppw
from dperm_papers.dwork2018.generalization.settings import Settings
from dperm_papers.dwork2018.shared import evaluation
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

# Law -> Pr[y = 1] below and above 1/2: a threshold, the same with a fifth of the labels flipped, a biased coin.
LAWS = {"thr": (0.0, 1.0), "flip": (0.2, 0.8), "coin": (0.25, 0.25)}
# B of a bounded evaluation with delta.
_BOUNDS = (1.0, 2.0)
# Where bounds are compared: empirical losses a, and epsilons beside those of the settings.
_LOSSES, _SMALL = (0.001, 0.01, 0.1), (0.001, 0.01)
# The most points whose labellings are all tried.
_POINTS = 8


def run(cell: Cell, rows: Rows) -> None:
    """Measure Lemmas 3.1 and 6.2 to 6.5, membership inference and the comparisons of Section 2.3.

    `excess` is what is measured minus what is said (moments enumerated: of the logarithms), `log_ratio` that of the
    k-th moments of E_S' and E_S, `ratio` E_S'/alpha of a repeat, and `violated` whether that is at least the factor of
    Lemma 6.5, `factor`, at beta = `gamma`.
    """
    cell.parts()
    rows = rows.at(
        calibration="", neighbours="", guarantee="proved", dataset="no-data", delta=0.0, series="", k=0, n=0, bound=1.0,
        gamma=0.0, alpha=0.0, row="",
    )  # fmt: skip
    evaluation.check(cell, rows)
    _member(cell.settings, rows)
    _classical(cell.settings, rows)
    rows = rows.at(mechanism="exppw", calibration="tight", neighbours="replace")
    _enumerated(cell.settings, rows)
    _shattered(cell.settings, rows)
    _drawn(cell, rows)
    _tails(cell, rows)


def factor(epsilon: float, beta: float, form: str) -> float:
    """Return c of Lemma 6.5, by how much E_S' may exceed alpha except with probability beta in (0, 1)."""
    log = math.log(1 / beta)
    if form == "printed":
        return math.exp(2 * math.sqrt(epsilon * log))
    # k eps + log(1/beta)/k is convex in k: its integer minimum is beside its minimum.
    best = max(1, math.floor(math.sqrt(log / epsilon)))
    return math.exp(min(k * epsilon + log / k for k in (best, best + 1)))


def simplex(sums: list[np.ndarray], count: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the first three moments of sum_g f_g D_g, D uniform on the simplex, from sum f_g, sum f_g^2 and sum f_g^3.

    E[D_g D_h D_i] = (number of permutations of g, h, i that fix it)/(count (count + 1)(count + 2)).
    """
    one, two, three = sums
    first = one / count
    second = (one**2 + two) / (count * (count + 1))
    third = (one**3 + 3 * one * two + 2 * three) / (count * (count + 1) * (count + 2))
    return first, second, third


def fresh(first: Any, squares: Any, mixed: Any, cubes: Any, n: int, k: int) -> Any:
    """Return the k-th moment (k <= 3) of a mean of n independent losses, mixed over S.

    The arguments are E A_1; E A_2 and E A_1^2; E A_2 A_1; E A_3 and E A_1^3.
    """
    if k == 1:
        return first
    if k == 2:
        return squares[0] / n + (1 - 1 / n) * squares[1]
    return (cubes[0] + 3 * (n - 1) * mixed + (n - 1) * (n - 2) * cubes[1]) / n**2


def moments(law: tuple[float, float], epsilon: float, bound: float, n: int) -> dict[int, tuple[float, float, float]]:
    """Return E (E_S')^k, E (E_S)^k and E (E_P)^k of ExpPW for k = 1, 2, 3, over all 2^n labels and all m.

    `law` is Pr[y = 1] below and above 1/2, `bound` is T.
    """
    labels = np.array(list(itertools.product((0, 1), repeat=n)), dtype=float)
    p = exppw.probability(exppw.walks(labels, bound), epsilon)
    own = np.where(labels == 1, 1 - (p[:, :-1] + p[:, 1:]) / 2, (p[:, :-1] + p[:, 1:]) / 2).mean(axis=1)
    total = np.zeros((3, 3))
    for m in range(n + 1):
        left = np.arange(n) < m
        chances = np.where(left, law[0], law[1])
        weight = np.prod(np.where(labels == 1, chances, 1 - chances), axis=1) * special.comb(n, m) / 2.0**n
        halves = []
        # Gaps 0..m have a part below 1/2, gaps m..n one above.
        for part, q in ((p[:, : m + 1], law[0]), (p[:, m:], law[1])):
            powers = [q * (1 - part) ** j + (1 - q) * part**j for j in (1, 2, 3)]
            halves.append((powers, part.shape[1]))
        first, squares, mixed, cubes = _over_lengths(halves)
        population = (first, squares[1], cubes[1])
        for k in (1, 2, 3):
            on_fresh = fresh(first, squares, mixed, cubes, n, k)
            total[k - 1] += weight @ on_fresh, weight @ own**k, weight @ population[k - 1]
    return {k: tuple(total[k - 1]) for k in (1, 2, 3)}


def _over_lengths(halves: list[tuple[list[np.ndarray], int]]) -> tuple[Any, ...]:
    """Return E A_1, (E A_2, E A_1^2), E A_2 A_1, (E A_3, E A_1^3) over the lengths of the gaps of both halves."""
    one, two, three, squares, mixed = [], [], [], [], []
    for powers, gaps in halves:
        f, f2, _ = powers
        first, second, third = simplex([f.sum(axis=1), (f**2).sum(axis=1), (f**3).sum(axis=1)], gaps)
        one.append(first / 2)
        two.append(second / 4)
        three.append(third / 8)
        squares.append(f2.sum(axis=1) / gaps / 2)
        product = f.sum(axis=1) * f2.sum(axis=1) + (f * f2).sum(axis=1)
        mixed.append(product / (gaps * (gaps + 1)) / 4)
    cubes = sum(powers[2].sum(axis=1) / gaps / 2 for powers, gaps in halves)
    both = two[0] + two[1] + 2 * one[0] * one[1]
    third = three[0] + three[1] + 3 * two[0] * one[1] + 3 * one[0] * two[1]
    cross = mixed[0] + mixed[1] + squares[0] * one[1] + squares[1] * one[0]
    return one[0] + one[1], (squares[0] + squares[1], both), cross, (cubes, third)


def _member(settings: Settings, rows: Rows) -> None:
    """Add the moments and the tail of `member`, in closed form."""
    rows = rows.at(mechanism="member", dataset="member", neighbours="replace")
    for epsilon in settings.epsilons:
        a, e = evaluation.member(epsilon), math.exp(epsilon)
        for k, delta, bound in itertools.product(settings.moments, settings.deltas, _BOUNDS):
            here = rows.at(series="moments", epsilon=epsilon, k=k, delta=delta, bound=bound)
            outside = math.log(bound * (a * e + delta))
            for form, extra in (("printed", k * delta), ("tight", k * delta / e)):
                excess = k * outside - k**2 * epsilon - k * math.log(bound * (a + extra))
                here.add("excess", excess, variant=form)
            if delta == 0 and bound == 1:
                here.add("log_ratio", k * (outside - math.log(a)))
        tail = rows.at(series="tail", epsilon=epsilon)
        tail.add("ratio", e)
        for beta, form in itertools.product(settings.gammas, ("printed", "mended")):
            c = factor(epsilon, beta, form)
            # A rounding of the exponential is no violation.
            fails = 1.0 if epsilon >= math.log(c) * (1 + 1e-12) else 0.0
            here = tail.at(variant=form, gamma=beta, row="below" if beta < math.exp(-epsilon / 4) else "above")
            here.add("excess", fails - beta)
            here.add("factor", c)


def _enumerated(settings: Settings, rows: Rows) -> None:
    """Add the moments of ExpPW on small samples, exactly."""
    grid = itertools.product(settings.epsilons, settings.alphas, settings.enumerated_sizes, LAWS)
    for epsilon, alpha, n, law in grid:
        found = moments(LAWS[law], epsilon, exppw.walk_bound(alpha, epsilon), n)
        here = rows.at(series="moments", dataset=law, epsilon=epsilon, n=n, alpha=alpha)
        for k in settings.moments:
            ratio = math.log(found[k][0]) - math.log(found[k][1])
            here.add("log_ratio", ratio, k=k)
            here.add("excess", ratio - k**2 * epsilon, k=k, variant="printed")
            population = math.log(found[k][2]) - math.log(found[k][1])
            here.add("excess", population - k**2 * epsilon, k=k, variant="population")


def classical(a: float, epsilon: float, n: int, beta: float) -> float:
    """Return what uniform stability alone promises of E_P in [0, 1], but for a probability beta."""
    gamma = math.tanh(epsilon / 2)
    return min(a + 2 * gamma + (4 * n * gamma + 1) * math.sqrt(math.log(1 / beta) / (2 * n)), 1.0)


def _classical(settings: Settings, rows: Rows) -> None:
    """Add what Lemma 6.5 promises of E_P less what uniform stability does, where the lemma says something."""
    rows, epsilons = rows.at(series="classical", mechanism="bound", neighbours="replace"), (*_SMALL, *settings.epsilons)
    for epsilon, n, a, beta in itertools.product(epsilons, settings.sizes, _LOSSES, settings.tail_gammas):
        for form in ("printed", "mended"):
            promised = a * factor(epsilon, beta / 2, form) + math.sqrt(math.log(2 / beta) / (2 * n))
            # For smaller n epsilon both are little but the sampling error, of which ours has a little more.
            if promised < 1 and n * epsilon >= 1:
                here = rows.at(epsilon=epsilon, n=n, alpha=a, gamma=beta, variant=form)
                here.add("excess", promised - classical(a, epsilon, n, beta))


def realised(points: int, epsilon: float, alpha: float) -> int:
    """Return how many of the 2^points labellings ExpPW's more likely bit gives, with 2 T records before each point."""
    bound = exppw.walk_bound(alpha, epsilon)
    wanted = np.array(list(itertools.product((0, 1), repeat=points)))
    each = int(2 * bound)
    walks = exppw.walks(np.repeat(wanted, each, axis=1).astype(float), bound)[:, each::each]
    return int(((walks > 0) == wanted).all(axis=1).sum())


def _shattered(settings: Settings, rows: Rows) -> None:
    """Add how many labellings of N points ExpPW cannot give; `n` is the number of records that it takes."""
    for epsilon, alpha, points in itertools.product(settings.epsilons, settings.alphas, range(1, _POINTS + 1)):
        n = int(points * 2 * exppw.walk_bound(alpha, epsilon))
        missing = 2**points - realised(points, epsilon, alpha)
        rows.add("excess", missing, series="shattered", dataset="no-data", epsilon=epsilon, alpha=alpha, k=points, n=n)


def _drawn(cell: Cell, rows: Rows) -> None:
    """Add means over batches of E[(E_S')^k | S] - e^{k^2 eps} (E_S)^k, S drawn: their mean is at most 0."""
    settings = cell.settings
    alpha, batch = settings.alphas[0], settings.batch
    for epsilon, n, law in itertools.product(settings.tail_epsilons, settings.sizes, LAWS):
        batches = _repeats(settings.repeats, settings, n) // batch
        repeats = batches * batch
        rng = cell.rng("moments", epsilon, n, law)
        sums, own = np.empty((3, repeats)), np.empty(repeats)
        for repeat in range(repeats):
            x = np.sort(rng.random(n))
            p, losses = walked(x, LAWS[law], epsilon, alpha, rng)
            own[repeat] = losses.mean()
            edges = np.concatenate([[0.0], x, [1.0]])
            below = np.diff(np.minimum(edges, 0.5))
            lengths = ((below, LAWS[law][0]), (np.diff(edges) - below, LAWS[law][1]))
            for j in (1, 2, 3):
                sums[j - 1, repeat] = sum(part @ (q * (1 - p) ** j + (1 - q) * p**j) for part, q in lengths)
        first, second, third = sums
        for k in settings.moments:
            moment = fresh(first, (second, first**2), second * first, (third, first**3), n, k)
            value = (moment - math.exp(k**2 * epsilon) * own**k).reshape(batches, batch).mean(axis=1)
            here = rows.at(series="drawn", dataset=law, epsilon=epsilon, n=n, alpha=alpha, k=k)
            here.add("excess", value, variant="printed")


def _repeats(count: int, settings: Settings, n: int) -> int:
    """Return how many samples of n records are drawn: as many records in all as of the smallest."""
    return max(settings.batch, count * min(settings.sizes) // n)


def _tails(cell: Cell, rows: Rows) -> None:
    """Add E_S'/alpha on the realizable law, and whether it is beyond the factors of Lemma 6.5."""
    settings = cell.settings
    alpha = settings.alphas[0]
    for epsilon, n in itertools.product(settings.tail_epsilons, settings.sizes):
        repeats = _repeats(settings.side_repeats, settings, n)
        rng = cell.rng("tail", epsilon, n)
        most, values = worst_empirical(epsilon, exppw.walk_bound(alpha, epsilon), n), np.empty(repeats)
        for repeat in range(repeats):
            x, fresh_x = np.sort(rng.random(n)), rng.random(n)
            p, _ = walked(x, LAWS["thr"], epsilon, alpha, rng)
            bits = p[np.searchsorted(x, fresh_x)]
            values[repeat] = np.where(fresh_x < 0.5, bits, 1 - bits).mean() / most
        here = rows.at(series="tail", dataset="thr", epsilon=epsilon, n=n, alpha=alpha)
        here.add("ratio", values)
        for beta, form in itertools.product(settings.tail_gammas, ("printed", "mended")):
            here.add("violated", values >= factor(epsilon, beta, form), variant=form, gamma=beta)


def worst_empirical(epsilon: float, bound: float, n: int) -> float:
    """Return the largest E_S of ExpPW over data sets of n records that agree with a threshold; `bound` is T.

    Labels are m zeros, then ones: after j zeros v = -min(j, T), after i ones more min(i - min(m, T), T).
    """
    steps = np.arange(n + 1)
    down = special.expit(-0.5 * epsilon * np.minimum(steps, bound))
    # A record's own loss is the mean of those before and after it.
    zeros = np.concatenate([[0.0], np.cumsum((down[:-1] + down[1:]) / 2)])
    worst = 0.0
    for m in range(n + 1):
        up = special.expit(-0.5 * epsilon * np.minimum(steps[: n - m + 1] - min(m, bound), bound))
        worst = max(worst, (zeros[m] + ((up[:-1] + up[1:]) / 2).sum()) / n)
    return worst


def walked(
    x: np.ndarray, law: tuple[float, float], epsilon: float, alpha: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw labels of sorted points; return Pr[1] in each gap and each record's own loss."""
    labels = (rng.random(len(x)) < np.where(x < 0.5, *law)).astype(float)
    p = exppw.probability(exppw.walks(labels[None], exppw.walk_bound(alpha, epsilon))[0], epsilon)
    both = (p[:-1] + p[1:]) / 2
    return p, np.where(labels == 1, 1 - both, both)
