r"""Attacks on noisy answers: TDDL, a Gaussian path, Gaussian noise on an explicit w (jain2013, Theorem 4).

    laplace       (paper, corrected) T near-copies of x: w^ tells all T noisy answers, each moved by c Delta_1 in units
                  of nu. The exact law of the loss of T aligned shifts (`privacy_loss`), for T from 1 to 1,000: the row
                  shows the worst. One answer spends all of epsilon; the more there are, the less Theorem 11 leaves.
    gaussian      (tight; the path; explicit noise) what is told of w* along u is N(<w*, u>, sigma^2), however many
                  queries: exact on a line, attained by a public point at x.
    bare          (paper) nu = L R^2 sqrt(T log(1/delta))/(total epsilon): O(.) with constant 1.
    loose-solver  (paper) nu for the exact minimiser, which is a solver's (erratum J9).
    bias          (paper) nu for a model without bias, and LibSVM's, whose bias is not regularised (J8).
    fresh         (tight) fresh noise for each of T queries, of sd sqrt(T) sigma R: the mean of T answers at x is one
                  answer of the path. (With sd sigma R it is a mutant.)

Corrected and tight solutions err by the public slack, away from each other. Beside each law the mechanism's own
releases: their noise is held against the promised one, and 16 near-copies are attacked by sampling.

Neighbouring relation: each row's.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dperm import kernels
from dperm.audit import columns, white_box
from dperm.audit.events import Event
from dperm.audit.kernel import pairs
from dperm.audit.kernel.pairs import Pair
from dperm.audit.target import Target
from dperm.domain import Budget
from dperm.laws import privacy_loss
from dperm.laws.tails import lower_tail
from dperm.mechanisms.kernel import constants, explicit, rkhs, tddl
from dperm.noise import Gaussian, Laplace, SphericalLaplace

# T that are tried.
QUERIES = (1, 10, 100, 300, 1_000)
# Near-copies whose answers are recovered; and sampled.
_FEW, _SIXTEEN = 5, 16
_WHITE_BOX = 400
# So few paths are walked query by query; more are released at once.
_PATHS = _WHITE_BOX
# Beside an exact law the sampled attack looks at the code alone.
_MOST_DRAWS = 20_000


class Answering(NamedTuple):
    """Noisy answers on near-copies of x.

    `draw` maps w's position along u, repeats and a generator to the mechanism's own answers, shape (repeats, T);
    `noise` maps answers and position to what was added, of the law below.
    """

    draw: Callable[[float, int, np.random.Generator], np.ndarray]
    noise: Callable[[np.ndarray, float], np.ndarray]
    law: Laplace | Gaussian


def attacks(job: Mapping[str, Any], row: Mapping[str, Any], rng: Callable) -> Iterator[dict[str, Any]]:
    """Give the attacks on one budget."""
    variant, budget = row["variant"], Budget(row["epsilon"], row["delta"])
    pair = paired(row["calibration"], variant, row["neighbours"])
    made = _MAKERS[job["mechanism"]]
    few, guarantee = made(pair, budget, row, _FEW)
    outputs = few.draw(pair.first, _WHITE_BOX, rng("noise"))
    record = {
        "guarantee": guarantee if variant in PROPER else "none",
        "loss": "hinge",
        "white_box_p": white_box.noise_test(few.noise(outputs, pair.first), few.law).p_value,
    }
    yield record | exact(pair, budget, row)
    sixteen, _ = made(pair, budget, row, _SIXTEEN)
    model = "gaussian" if isinstance(sixteen.law, Gaussian) else "none"
    found = columns.sampled(
        Target(draw=sixteen.draw), pair.first, pair.second, delta=budget.delta, draws=min(job["draws"], _MOST_DRAWS),
        confidence=job["confidence"], rng=rng("draws"), model=model, events=(_SUM,),
    )  # fmt: skip
    yield record | {"pair_words": f"{pair.words}; {_SIXTEEN} near-copies of x"} | found


# Of an explicit w only the first coordinate tells, and the sampler looks at each by itself.
_SUM = Event("the sum of the answers", lambda outputs: outputs.sum(axis=1))
# What the mechanism speaks of; of the others nothing is promised.
PROPER = ("laplace", "gaussian", "fresh", "bare")


def paired(calibration: str, variant: str, neighbours: str) -> Pair:
    """Return the pair that a row is attacked at."""
    of = pairs.setting(neighbours)
    if variant in _OTHER_SOLVERS:
        return _OTHER_SOLVERS[variant](of)
    return pairs.flip(of, erring=0.0 if calibration == "paper" else of.slack)


_OTHER_SOLVERS = {"loose-solver": pairs.loose, "bias": pairs.majority}


def exact(pair: Pair, budget: Budget, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the exact attack: aligned Laplace shifts, or a Gaussian on a line; with `pair_words`."""
    distance, norm = pair.second - pair.first, pair.setting.feature_norm
    if row["variant"] in ("gaussian", "fresh"):
        # Of "fresh" the mean of all answers, in units of w.
        law = Gaussian(constants.sigma(pair.setting, budget))
        what = "the mean of T answers at x" if row["variant"] == "fresh" else "one answer at x"
        found = columns.on_a_line(on_a_line(law), pair.first, pair.second, delta=budget.delta)
        return {"pair_words": f"{pair.words}; {what}"} | found
    tried = []
    for queries in QUERIES:
        nu, _ = tddl.scale(pair.setting, budget, queries, row["calibration"], bare=row["variant"] == "bare")
        law = privacy_loss.aligned_laplace(pairs.near(queries) * norm * distance / nu, queries)
        words = f"{pair.words}; {queries:,} near-copies of x" if queries > 1 else f"{pair.words}; one answer at x"
        # A shift of Laplace noise spends as much in either direction.
        tried.append({"pair_words": words} | columns.of_losses(law, law, budget.delta, "what w^ tells"))
    return max(tried, key=lambda found: found["exact_bound"])


def points(queries: int) -> np.ndarray:
    """Return near-copies of x as vectors (queries: T); shape (T, T + 1)."""
    c = pairs.near(queries)
    apart = np.sqrt(1 - c**2) * np.eye(queries)
    return pairs.FEATURE_NORM * np.column_stack([np.full(queries, c), apart])


def on_a_line(law: Gaussian | SphericalLaplace) -> Target:
    """Return additive noise as the auditor sees it; its data are the values without noise."""
    return Target(
        draw=lambda centre, repeats, rng: centre + law.sample((repeats, 1), rng),
        law=law,
        cdf=lambda points, centre: lower_tail(law, (points - centre) / law.scale),
        sf=lambda points, centre: lower_tail(law, (centre - points) / law.scale),
    )


def _tddl(pair: Pair, budget: Budget, row: Mapping[str, Any], queries: int) -> tuple[Answering, str]:
    """Return w^ of T near-copies, seen at the public points: with all of space as its ball it interpolates."""
    K, near = pairs.copies(queries), pairs.near(queries) * pair.setting.feature_norm
    spectrum = tddl.spectrum(K)
    fixed = {"calibration": row["calibration"], "bare": row["variant"] == "bare"}
    scale, guarantee = tddl.scale(pair.setting, budget, queries, **fixed)
    root = np.linalg.cholesky(K)

    def draw(position, repeats, rng):
        answers = np.full(queries, near * position)
        return tddl.release(spectrum, answers, pair.setting, budget, **fixed, rng=rng, repeats=repeats).at(K)

    def noise(outputs, position):
        added = outputs - near * position
        return np.linalg.solve(root, added.T).T if row["calibration"] == "tight" else added

    return Answering(draw, noise, Gaussian(scale) if row["calibration"] == "tight" else Laplace(scale)), guarantee


def _rkhs(pair: Pair, budget: Budget, row: Mapping[str, Any], queries: int) -> tuple[Answering, str]:
    """Return answers of a kept path; or, "fresh", of a path of its own, T times as dear, for every answer."""
    Z, of = points(queries), pair.setting
    K, near = Z @ Z.T, pairs.near(queries) * of.feature_norm
    spectrum, root = tddl.spectrum(K), np.linalg.cholesky(K)
    # sigma is proportional to L.
    dear = replace(of, lipschitz=of.lipschitz * np.sqrt(queries), slack=of.slack * np.sqrt(queries))

    def kept(position, repeats, rng):
        answers = np.full(queries, near * position)
        if repeats > _PATHS:
            return rkhs.release(spectrum, answers, of, budget, rng=rng, repeats=repeats).answers
        found = []
        for _ in range(repeats):
            path = rkhs.Path(kernels.linear(of.feature_norm), of, budget, rng)
            # The first again among all: a path that is not kept shows.
            path.answer(Z[:2], answers[:2])
            found.append(path.answer(Z, answers))
        return np.array(found)

    def fresh(position, repeats, rng):
        alone, exact = tddl.spectrum(K[:1, :1]), np.array([near * position])
        asked = rkhs.release(alone, exact, dear, budget, rng=rng, repeats=repeats * queries)
        return asked.answers.reshape(repeats, queries)

    stated = rkhs.release(spectrum, np.zeros(queries), of, budget, rng=np.random.default_rng(0)).guarantee
    if row["variant"] == "fresh":
        law = Gaussian(constants.sigma(dear, budget) * of.feature_norm)
        return Answering(fresh, lambda outputs, position: outputs - near * position, law), stated

    def noise(outputs, position):
        return np.linalg.solve(root, (outputs - near * position).T).T

    return Answering(kept, noise, Gaussian(constants.sigma(of, budget))), stated


def _explicit(pair: Pair, budget: Budget, row: Mapping[str, Any], queries: int) -> tuple[Answering, str]:
    """Return w itself, in so many coordinates."""
    u = np.eye(queries)[0]
    law = Gaussian(constants.sigma(pair.setting, budget))

    def draw(position, repeats, rng):
        return explicit.release(position * u, pair.setting, budget, rng=rng, repeats=repeats).theta

    stated = explicit.release(u, pair.setting, budget, rng=np.random.default_rng(0)).guarantee
    return Answering(draw, lambda outputs, position: outputs - position * u, law), stated


_MAKERS = {"tddl": _tddl, "rkhs_gaussian": _rkhs, "explicit_output": _explicit}
KNOWN = {
    ("tddl", "paper"): ("laplace", "bare", "loose-solver", "bias"),
    ("tddl", "corrected"): ("laplace",),
    ("tddl", "tight"): ("gaussian",),
    ("rkhs_gaussian", "tight"): ("gaussian", "fresh"),
    ("explicit_output", "tight"): ("gaussian",),
}
