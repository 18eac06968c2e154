r"""Private prediction as a service (dwork2018, Section 1): users send queries to a server, and one budget answers all.

A model of m answers stands behind a real server on the loopback. Two analysts, each with a share of more than half of
the answers, ask one after the other through the client until they are refused: the first by its share, the second by
the budget. Then the second asks everything again. Series of `accuracy`, over m:

    served    what came over the network, all answers of one server together
    library   another fit with the same seed, asked directly: the same answers, row by row
    exact     on the flip law: x uniform on [0, 1], y = 1[x >= 1/2] flipped with probability 0.2, shards by empirical
              risk minimisation; integrated over x, over the data and over the noise (`flips`)

Metrics beside it: `same`, the part of all answers that are those of the library; `answered`, new rows over m, of the
`first` analyst, of the `second`, and of `both`; `free`, the part of rows asked again that cost nothing.

A server that is used has a ledger and fresh noise; this one has neither, so that a seed gives the same rows again.
Neighbours: replace-one.

References
----------
dwork2018, Section 1 and Definition 1.1, Theorem 4.1.
"""

import socket
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from dperm.client import Client
from dperm.errors import BudgetExhausted, VacuousWarning
from dperm.mechanisms.prediction import soft_majority
from dperm_papers.dwork2018.service.settings import Settings
from dperm_papers.dwork2018.shared import flips
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

# An analyst sends so many requests for as many rows as the budget answers.
_REQUESTS = 10
# Requests a minute: more than anybody sends here.
_RATE = 10**9


def run(cell: Cell, rows: Rows) -> None:
    """Ask servers, and the library, for each number of answers."""
    cell.parts()
    settings = cell.settings
    rows = rows.at(
        dataset="flip", guarantee="proved", epsilon=settings.epsilon, delta=settings.delta, n=settings.records,
        r=settings.shards, series="", m=0, each=0.0,
    )  # fmt: skip
    for m in settings.queries:
        _measured(cell, m, rows.at(m=m))


def _measured(cell: Cell, m: int, rows: Rows) -> None:
    found: dict[tuple[str, str], list[float]] = {}
    for repeat in range(cell.settings.repeats):
        one, each = _asked(cell, m, repeat)
        for key, value in one.items():
            found.setdefault(key, []).append(value)
    rows = rows.at(each=each)
    for (metric, series), values in found.items():
        rows.add(metric, values, series=series)
    rows.add("accuracy", exact(cell.settings, each), series="exact")


def exact(settings: Settings, each: float) -> float:
    """Return the accuracy of one answer at a price, its mean over everything that is drawn."""
    r = settings.shards
    one = soft_majority.probability(np.arange(r + 1), r, each)
    return flips.accuracy(flips.mean_over_votes(settings.records // r, r, one, 1 - one[::-1]))


def _asked(cell: Cell, m: int, repeat: int) -> tuple[dict[tuple[str, str], float], float]:
    """Return what one server did, by metric and series, and the price of an answer."""
    # Loaded here: a plan needs no server.
    from dperm.mechanisms.estimators.soft_majority import SoftMajority
    from dperm.mechanisms.prediction.learners import ThresholdLearner
    from dperm.serve.files import Model
    from dperm.serve.service import Service

    settings, step = cell.settings, m // _REQUESTS
    X, y = _drawn(settings.records, cell.rng("records", m, repeat))
    # More than the budget answers.
    Q, target = _drawn(m + step, cell.rng("queries", m, repeat))
    seed = int(cell.rng("answers", m, repeat).integers(2**63))
    estimator = SoftMajority(
        epsilon=settings.epsilon, delta=settings.delta, queries=m, shards=settings.shards, base=ThresholdLearner(),
        clip=True, classes=(0, 1),
    )  # fmt: skip
    model = Model(estimator, X, y, ("x0",), None, {})
    with warnings.catch_warnings():
        # That the answers to many queries are mostly coins is what is shown.
        warnings.simplefilter("ignore", VacuousWarning)
        service, alone = Service(model, None, random_state=seed), model.fitted(None, seed)
    library = alone.predict(Q[:m])
    with served(service) as url:
        one, other = (Client(url, _key(service, name, round(settings.share * m))) for name in ("first", "second"))
        first = _until_refused(one, Q, step)
        second = _until_refused(other, Q[len(first) :], step)
        told = np.array([*first, *second])
        again = [other.predict_details(Q[start : start + step]) for start in range(0, len(told), step)]
    free = sum(call["repeated"] for call in again)
    return {
        ("accuracy", "served"): float(np.mean(told == target[: len(told)])),
        ("accuracy", "library"): float(np.mean(library == target[:m])),
        ("same", ""): float(np.sum(told == library[: len(told)])) / m,
        ("answered", "first"): len(first) / m,
        ("answered", "second"): len(second) / m,
        ("answered", "both"): len(told) / m,
        ("free", ""): free / len(told),
    }, alone.epsilon_each_


def _drawn(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return records of the flip law."""
    x = rng.random(count)
    return x[:, None], ((x >= 0.5) ^ (rng.random(count) < flips.FLIP)).astype(int)


def _key(service: Any, name: str, share: int) -> str:
    with service.serving.turn():
        return service.accounts.add(name, share=share, rate=_RATE)


def _until_refused(client: Client, Q: np.ndarray, step: int) -> list[int]:
    """Return the answers to the rows, `step` a request, up to the first request that is refused."""
    answers: list[int] = []
    for start in range(0, len(Q), step):
        try:
            answers.extend(client.predict(Q[start : start + step]).tolist())
        except BudgetExhausted:
            break
    return answers


@contextmanager
def served(service: Any) -> Iterator[str]:
    """Serve on the loopback, in a thread of this process, and return the address."""
    import uvicorn

    from dperm.serve import app

    config = uvicorn.Config(app.made(service), lifespan="off", ws="none", log_config=None, access_log=False)
    server = uvicorn.Server(config)
    # What comes before the server has begun waits in the socket.
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
