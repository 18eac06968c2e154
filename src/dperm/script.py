"""How a job talks: to its log file, and on an expected error in one line instead of a traceback."""

import contextlib
import logging
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

from dperm.errors import DpermError


@contextlib.contextmanager
def logged(path: str | Path) -> Iterator[None]:
    """Send warnings, log messages and errors to `path`; end the process with status 1 on a `DpermError`.

    Other exceptions are bugs: their traceback goes to the log and on to the caller.

    Parameters
    ----------
    path : path-like
        The log file; its folder is made if need be.

    Yields
    ------
    None
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    logging.basicConfig(filename=path, filemode="w", level=logging.INFO, format="%(message)s", force=True)
    logging.captureWarnings(True)
    # A warning's source line helps nobody who reads a log; its text does.
    warnings.formatwarning = lambda message, category, *_: f"{category.__name__}: {message}"
    started = time.perf_counter()
    try:
        yield
        # Read back by `dperm.report.cost`: what a job did, without the start of its interpreter.
        logging.info("worked %.3f s", time.perf_counter() - started)
    except DpermError as error:
        logging.error("error: %s", error)
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    except Exception:
        logging.exception("unexpected error, please report it")
        raise
