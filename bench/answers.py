"""Private answers of a batch, against one after another; and their exact bits, against one after another.

`predict` of many rows takes its turn once, and with a journal (`state=`) waits for the disk once, for charge and
answers. The naive way asks row by row. Without a journal both give the same answers to the same seed. Bits are
drawn in batches (`grid.bits`), or by a loop that encloses each probability anew; beside them what doubles take, whose
law is not the one that the proof speaks of. Least of some runs of ours, one of theirs, CPU time.
"""

import itertools
import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
from scipy.special import expit
from threadpoolctl import threadpool_limits

from bench.samp_agg import clock
from dperm import ExpPW, StableERM, grid, seeds
from dperm.mechanisms.prediction import soft_majority
from dperm.mechanisms.prediction.noisy_linear import NoisyLinear

ROWS, RECORDS, BITS, ROUNDS = 500, 2_000, 5_000, 5
SHARDS, EACH = 20, 0.1


def answered(kind: type, path: Path | None, *, batch: bool) -> tuple[float, np.ndarray]:
    """Return the seconds of all answers of a new model, and the answers."""
    rng = seeds.generator(0, "bench", "answers")
    X, Z = (rng.uniform(-0.5, 0.5, (n, 3)) for n in (RECORDS, ROWS))
    model = kind(queries=ROWS, classes=(0, 1), state=path, random_state=0).fit(X, (X[:, 0] > 0).astype(int))
    found = []

    def ask():
        found.extend([model.predict(Z)] if batch else [model.predict(row[None]) for row in Z])

    return clock(ask), np.concatenate(found)


def front_door() -> list[tuple[str, float, float]]:
    """Return name, seconds of an answer in a batch and alone."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        paths = (Path(folder, f"journal{k}") for k in itertools.count())
        for kind in (StableERM, ExpPW):
            for name, state in (("in memory", False), ("journal", True)):
                runs = [answered(kind, next(paths) if state else None, batch=True) for _ in range(ROUNDS)]
                alone, found = answered(kind, next(paths) if state else None, batch=False)
                if not state:
                    np.testing.assert_equal(runs[0][1], found)
                rows.append((f"{kind.__name__}, {name}", min(run[0] for run in runs) / ROWS, alone / ROWS))
    return rows


def generators() -> list[np.random.Generator]:
    """Return a generator for each bit, as a model has one for each query."""
    return [np.random.default_rng(k) for k in range(BITS)]


def least(draw: Callable[[list[np.random.Generator]], np.ndarray], rounds: int) -> tuple[float, np.ndarray]:
    """Return the least seconds of a bit in some runs, each with new generators, and the bits."""
    seconds, found = [], []
    for _ in range(rounds):
        rngs = generators()
        seconds.append(clock(lambda rngs=rngs: found.append(draw(rngs))))
    return min(seconds) / BITS, np.asarray(found[-1], dtype=bool)


def exact_bits() -> list[tuple[str, float, float, float]]:
    """Return name, seconds of a bit in a batch, alone, and from doubles; the exact bits must be equal."""
    rng = seeds.generator(0, "bench", "bits")
    counts, rows = rng.integers(0, SHARDS + 1, BITS), rng.normal(size=(BITS, 3))
    model, half = NoisyLinear(np.full(3, 0.1), 0.01, EACH, "proved"), Fraction(EACH) / 2
    values, scale = (rows @ model.w).tolist(), Fraction(model.scale)
    odds = soft_majority.log_odds(counts, SHARDS, EACH)

    def votes(rngs):
        drawn = zip(counts.tolist(), rngs, strict=True)
        return [grid.logistic_bit(half * (2 * count - SHARDS), grid.words(one)) for count, one in drawn]

    def signs(rngs):
        return [grid.laplace_sign(Fraction(v) / scale, grid.words(one)) for v, one in zip(values, rngs, strict=True)]

    tasks = (
        (
            f"votes of {SHARDS} shards",
            lambda rngs: soft_majority.bits(counts, SHARDS, EACH, "tight", rngs),
            votes,
            lambda rngs: np.array([one.random() for one in rngs]) < expit(odds),
        ),
        (
            "labels with Laplace noise",
            lambda rngs: model.labels(rows, rngs),
            signs,
            lambda rngs: model.answer(rows, rngs) > 0,
        ),
    )
    table = []
    for name, ours, naive, doubles in tasks:
        (batch, found), (alone, expected) = least(ours, ROUNDS), least(naive, 1)
        np.testing.assert_equal(found, expected)
        table.append((name, batch, alone, least(doubles, ROUNDS)[0]))
    return table


def report() -> None:
    """Print the tables."""
    with threadpool_limits(1):
        print(f"\n{ROWS:,} rows asked at once, and one after another; one thread, CPU time\n")
        print(f"{'':<28}{'us each':>10}{'alone us':>11}{'ratio':>9}")
        for name, batch, alone in front_door():
            print(f"{name:<28}{1e6 * batch:>10.1f}{1e6 * alone:>11.1f}{alone / batch:>8,.1f}x")
        print(f"\n{BITS:,} exact bits\n")
        print(f"{'':<28}{'us a bit':>10}{'alone us':>11}{'ratio':>9}{'doubles us':>12}")
        for name, batch, alone, doubles in exact_bits():
            print(f"{name:<28}{1e6 * batch:>10.2f}{1e6 * alone:>11.2f}{alone / batch:>8,.1f}x{1e6 * doubles:>12.2f}")


if __name__ == "__main__":
    report()
