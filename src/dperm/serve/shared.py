"""What the workers of one machine share in memory: how often each key asked of late, and counts for `/metrics`.

None of it is needed for any promise; a restart of the server forgets it.
"""

import mmap
import os

import numpy as np

from dperm.serve.accounts import MOST

PATHS = ("/", "/metrics", "/openapi.json", "/v1/budget", "/v1/health", "/v1/predict", "/v1/schema", "/v1/statement", "")
STATUSES = (200, 401, 403, 404, 405, 409, 413, 422, 429, 503)
ROWS = ("asked", "charged")
# A minute's worth of requests may come at once.
_BURST = 60.0


class Shared:
    """Rate limits of all keys, and counters: of each worker its own, added up by whoever is asked.

    - file: an anonymous file that all workers inherit; None for a process alone.
    """

    def __init__(self, file: int | None = None, workers: int = 1, worker: int = 0):
        counters = workers * (len(PATHS) * len(STATUSES) + len(ROWS))
        size = 8 * (MOST + counters)
        if file is not None:
            os.ftruncate(file, size)
        held = mmap.mmap(-1 if file is None else file, size)
        self._until = np.frombuffer(held, np.float64, MOST)
        all_counts = np.frombuffer(held, np.uint64, counters, 8 * MOST).reshape(workers, -1)
        self._all, self._own = all_counts, all_counts[worker]

    def wait(self, place: int, rate: int, now: float) -> int:
        """Return 0 and count a request, or the whole seconds to wait; needs the turn, which one process has.

        - rate: requests a minute; as many may come at once.
        - now: seconds of a clock that never steps.
        """
        each = 60.0 / rate
        until = max(float(self._until[place]), now)
        if until + each - now > _BURST + 1e-6:
            return int(np.ceil(until + each - now - _BURST))
        self._until[place] = until + each
        return 0

    def count(self, path: str, status: int) -> None:
        """Count a request."""
        path = path if path in PATHS else ""
        status = status if status in STATUSES else 503
        self._own[PATHS.index(path) * len(STATUSES) + STATUSES.index(status)] += np.uint64(1)

    def rows(self, asked: int, charged: int) -> None:
        """Count rows that were asked and answered, and those that were new."""
        self._own[-2:] += np.array([asked, charged], np.uint64)

    def metrics(self) -> str:
        """Return all counts as Prometheus reads them."""
        counts = self._all.sum(axis=0).tolist()
        lines = ["# HELP dperm_requests_total Requests answered.", "# TYPE dperm_requests_total counter"]
        for k, path in enumerate(PATHS):
            for j, status in enumerate(STATUSES):
                if count := counts[k * len(STATUSES) + j]:
                    lines.append(f'dperm_requests_total{{path="{path or "other"}",status="{status}"}} {count}')
        for name, count in zip(ROWS, counts[-2:], strict=True):
            lines += [
                f"# HELP dperm_rows_{name}_total Rows {name}.",
                f"# TYPE dperm_rows_{name}_total counter",
                f"dperm_rows_{name}_total {count}",
            ]
        return "\n".join(lines) + "\n"
