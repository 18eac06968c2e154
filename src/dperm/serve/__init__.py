"""Private prediction as a service: model files, analysts' accounts, and the server (extra `serve`).

One fitted interactive estimator answers everybody on one budget. Its journal is the ledger: what was charged, what was
answered and who may ask stand in one log, and an answer leaves only once its charge is on disk.

- `files`, `allowed`: what a model file holds, without pickle (docs/model-files.md).
- `accounts`: keys, shares, retries, as records of the ledger.
- `service`: many requests in one turn. No network here.
- `app`, `batches`, `bodies`: the same over HTTP.
- `processes`, `shared`: workers of one machine.
"""

import importlib
from typing import Any

__all__ = ["pack"]


def __getattr__(name: str) -> Any:
    # Not before it is asked for: a worker must see that its watcher ended while it still loads what it needs.
    if name == "pack":
        return importlib.import_module("dperm.serve.files").pack
    raise AttributeError(f"module 'dperm.serve' has no attribute {name!r}")
