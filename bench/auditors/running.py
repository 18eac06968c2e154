"""Run one auditor on every mechanism, and print a line of JSON for each audit; it needs NumPy alone."""

import json
import time
from collections.abc import Callable, Iterator

import numpy as np
from mechanisms import Mechanism, mechanisms

DRAWS, CONFIDENCE, SEEDS = 20_000, 0.95, 5
# False alarms: audits of mechanisms that spend all that they claim, at fewer draws.
ATTAINED, AUDITS, FEWER = ("Laplace", "randomised response, 4 answers"), 400, 4_000

# `audit(mechanism, draws, seed)` returns a certified epsilon; it draws `draws` a side, in all that it does.
Audit = Callable[[Mechanism, int, int], float]


def drawn(mechanism: Mechanism, draws: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return outputs on the data and on its neighbour."""
    first, second = np.random.default_rng(seed).spawn(2)
    return mechanism.draw(1, draws, first), mechanism.draw(0, draws, second)


def lines(tool: str, audit: Audit, seeds: int, *, alarms: bool, pure: bool) -> Iterator[dict]:
    """Give a line for each mechanism and seed, and for the false alarms of each mechanism that attains its claim.

    A tool that is `pure` knows no delta, and is asked only where it is 0.
    """
    for seed in range(seeds):
        for mechanism in mechanisms():
            if pure and mechanism.delta:
                continue
            start = time.process_time()
            found = audit(mechanism, DRAWS, seed)
            line = {"tool": tool, "mechanism": mechanism.name, "seed": seed, "epsilon": round(float(found), 6)}
            yield {**line, "seconds": round(time.process_time() - start, 3)}
    for mechanism in mechanisms():
        if alarms and mechanism.name in ATTAINED:
            count = sum(audit(mechanism, FEWER, 1_000 + k) > mechanism.epsilon + 1e-9 for k in range(AUDITS))
            yield {"tool": tool, "mechanism": mechanism.name, "audits": AUDITS, "alarms": int(count)}


def run(tool: str, audit: Audit, seeds: int = SEEDS, *, alarms: bool = False, pure: bool = False) -> None:
    """Print the lines."""
    for line in lines(tool, audit, seeds, alarms=alarms, pure=pure):
        print(json.dumps(line), flush=True)
