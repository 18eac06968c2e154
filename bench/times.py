"""What the time of an answer tells of one record: the auditor on response times of every mechanism that is served.

Of each pair of neighbours (`replace`: one record is moved to the edge and relabelled) both models answer new single
rows near that record, one at a time, in the service but without network and disk, which only add noise; `StableERM` as
it is served, too, by two servers over the loopback, where the time is the client's. Which of them answers next is a
fair coin, so that whatever drifts on the machine is the same for both. The auditor (`dperm.audit.lower_bound`) then
sees the times alone, and certifies an epsilon with confidence 99 %: 0.00 is no evidence of a leak with so many answers,
and no proof that there is none.

Two measures of time: of the thread that answers, which is more than any client can see, and the wall's. Two controls:
the same records twice, where all that could be found is where an object lies in memory; and some microseconds more for
one of the two, which say how small a leak this run would have found on this machine.
"""

import contextlib
import gc
import http.client
import json
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

import dperm
from bench import service as served
from dperm import seeds
from dperm.audit import lower_bound
from dperm.serve import files, pack
from dperm.serve.service import Asked, Service

DRAWS, RECORDS, CONFIDENCE = 1000, 600, 0.99
CLASSES = ("no", "yes")
FIXED = {"epsilon": 4.0, "clip": True, "classes": CLASSES}
MANY = {**FIXED, "queries": 20_000}
SHARDS = {**MANY, "shards": 10}
SERVED = {
    "StableERM": (dperm.StableERM, MANY),
    "StableSGD": (dperm.StableSGD, MANY),
    "ExpPW": (dperm.ExpPW, MANY),
    "RKHSGaussian": (dperm.RKHSGaussian, {**FIXED, "C": 0.01}),
    "PINP": (dperm.PINP, {**MANY, "C": 0.01, "epsilon": 500.0}),
    "SoftMajority": (dperm.SoftMajority, SHARDS),
    "SoftMajority of deep trees": (dperm.SoftMajority, {**SHARDS, "base": DecisionTreeClassifier()}),
    "SoftMajority of nearest neighbours": (dperm.SoftMajority, {**SHARDS, "base": KNeighborsClassifier()}),
    "AveragedPrediction": (dperm.AveragedPrediction, SHARDS),
}


def pair(*, same: bool = False) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return two data sets that differ in the first record, or not at all."""
    X = np.random.default_rng(0).uniform(-0.7, 0.7, (RECORDS, 2))
    y = np.where(X[:, 0] > 0, "yes", "no")
    other, label = X.copy(), y.copy()
    if not same:
        other[0], label[0] = (-0.7, 0.7), "yes"
    return [(X, y), (other, label)]


@contextlib.contextmanager
def within(file: Path) -> Iterator[Callable[[np.ndarray], None]]:
    """Give what asks a service of this process one row."""
    service = Service(files.load(file), None)
    with service.serving.turn():
        key = service.accounts.add("bench", rate=10**9)

    def ask(row: np.ndarray) -> None:
        (told,) = service.answer([Asked(key, row)])
        if told.status != 200:
            raise RuntimeError(told.detail)

    yield ask


@contextlib.contextmanager
def over_http(file: Path) -> Iterator[Callable[[np.ndarray], None]]:
    """Give what asks a server one row, by one connection."""
    with served.server(file, workers=1) as (port, key, _):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

        def ask(row: np.ndarray) -> None:
            body = json.dumps({"rows": row.tolist()})
            connection.request("POST", "/v1/predict", body, {"Authorization": f"Bearer {key}"})
            told = connection.getresponse()
            content = told.read()
            if told.status != 200:
                raise RuntimeError(content.decode())

        yield ask
        connection.close()


def timed(ask: Callable[[np.ndarray], None], row: np.ndarray, more: float) -> tuple[int, int]:
    """Return nanoseconds of this thread's processor and of the wall, with `more` seconds of work in them."""
    wall, own = time.perf_counter_ns(), time.thread_time_ns()
    ask(row)
    end = time.perf_counter() + more
    while more and time.perf_counter() < end:
        pass
    return time.thread_time_ns() - own, time.perf_counter_ns() - wall


def times(kind: type, given: dict, *, same: bool = False, more: float = 0.0, by: Callable = within) -> list[np.ndarray]:
    """Return nanoseconds (answer, measure) of both sides; the second has `more` seconds on top."""
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        askers = []
        for k, (X, y) in enumerate(pair(same=same)):
            file = Path(folder, f"{k}.dperm")
            pack(kind(**given), X, y, file)
            askers.append(stack.enter_context(by(file)))
        found: list[list] = [[], []]
        gc.collect()
        gc.disable()
        try:
            for at in range(int(2.6 * DRAWS)):
                side = int(rng.integers(2))
                row = np.array([[-0.7, 0.7]]) + rng.uniform(-0.02, 0.02, (1, 2)) * [1, -1]
                spent = timed(askers[side], row, more * side)
                # The first ones compile and fill caches.
                if at >= 0.1 * DRAWS:
                    found[side].append(spent)
        finally:
            gc.enable()
    return [np.array(side, dtype=float) for side in found]


def certified(measured: list[np.ndarray]) -> float:
    """Return the epsilon that times certify."""
    left: list[Iterator[float]] = [iter(side.tolist()) for side in measured]

    def again(side: int, repeats: int, _: np.random.Generator) -> np.ndarray:
        return np.array([next(left[side]) for _ in range(repeats)])

    rng = seeds.generator(0, "bench", "times")
    return lower_bound(again, 0, 1, draws=DRAWS, confidence=CONFIDENCE, rng=rng).epsilon


def report() -> None:
    """Print the table."""
    print(
        f"\nepsilon certified from the time of an answer alone, {DRAWS:,} answers a side, confidence {CONFIDENCE:.0%}"
    )
    print(f"{'':42}{'processor':>11}{'wall':>11}{'median, us':>12}")
    stable = SERVED["StableERM"]
    rows = {name: (*how, {}) for name, how in SERVED.items()}
    rows |= {"StableERM, over HTTP": (*stable, {"by": over_http})}
    rows |= {"control: the same records twice": (*stable, {"same": True})}
    rows |= {f"control: {us} us more": (*stable, {"same": True, "more": us * 1e-6}) for us in (20, 100, 200)}
    with threadpool_limits(1):
        for name, (kind, given, how) in rows.items():
            both = times(kind, given, **how)
            found = [certified([side[:, k] for side in both]) for k in (0, 1)]
            print(f"{name:42}{found[0]:>11.2f}{found[1]:>11.2f}{np.median(both[0][:, 0]) / 1e3:>12,.0f}", flush=True)


if __name__ == "__main__":
    report()
