"""How a job reports: everything goes to its log file, and an expected error is one line instead of a traceback."""

import builtins
import contextlib
import errno
import gc
import logging
import math
import os
import re
import resource
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dperm.errors import CorruptFile, DpermError
from dperm_pipeline import files, worker

# Errors of the disk, which are no mistake of the program, and what the user has to do about each.
DISK = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space or ask for a larger quota",
    errno.EROFS: "make the folder writable",
    errno.EACCES: "make the folder writable",
    errno.EPERM: "make the folder writable",
}
# A rule declares one thread, so a job takes no more. A BLAS reads these when it is loaded; its idle threads cost CPU.
THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
MEGABYTE = 1024 if sys.platform != "darwin" else 1024**2  # in the unit of ru_maxrss


@contextlib.contextmanager
def logged(snakemake: Any) -> Iterator[None]:
    """Send warnings, log messages and errors to the job's log; end the process with status 1 on an expected error.

    Expected are every `DpermError`, too little memory, and a disk that is full or may not be written. Other exceptions
    are bugs: their traceback goes to the log and on to the caller. The log's last line says what the job took. A script
    imports what it uses inside, so that a library that is missing is named here too.
    """
    os.environ.update(dict.fromkeys(THREADS, "1"))
    declared = snakemake.resources.get("mem_mb")
    with _expected(snakemake, declared):
        _to_file(Path(snakemake.log[0]))
        # Said at the start, because a job that is killed can say nothing at its end.
        logging.info(
            "%s; if this is the last line, it was killed, most often for want of memory: it took its share%s",
            _name(snakemake),
            _more_memory(snakemake, declared),
        )
    with _imports_timed() as imports:
        began = ended = None
        try:
            with _expected(snakemake, declared), files.claimed(snakemake.output, snakemake.input):
                worker.check_code()
                # Work begins after the first check of the code and ends before the second; imports do not count.
                began, imports[:] = _now(), (0.0, 0.0)
                try:
                    yield
                finally:
                    ended = [now - imported for now, imported in zip(_now(), imports, strict=True)]
                worker.check_code()
        finally:
            wall, cpu = 0.0, 0.0
            if ended:
                wall, cpu = (now - then for now, then in zip(ended, began, strict=True))
            # `dperm_pipeline.report.cost` reads both lines back: CPU that is not work is the start.
            of_declared = f" of {declared} MB" if declared else ""
            logging.info("started with %.3f s of CPU", time.process_time() - cpu)
            logging.info("worked %.3f s, %.3f s of CPU, peak %d MB%s", wall, cpu, peak(), of_declared)


def peak() -> int:
    """Return the most memory that this process has held at once, in MB, rounded up.

    On Linux that is the process's own high-water mark: its `ru_maxrss` begins at what its parent held (Snakemake).
    """
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        mark = re.search(r"^VmHWM:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    except OSError:
        mark = None
    return math.ceil((int(mark[1]) if mark else held) / MEGABYTE)


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


@contextlib.contextmanager
def _imports_timed() -> Iterator[list[float]]:
    """Measure the seconds of wall time and of CPU that import statements take from here on, wherever they stand.

    Garbage is not collected meanwhile: modules leave none, and the search takes a quarter of the time of loading them.
    """
    plain, seconds, inside = builtins.__import__, [0.0, 0.0], False

    def timed(*arguments: Any, **keywords: Any) -> Any:
        nonlocal inside
        if inside:  # a module's own imports are in its time already
            return plain(*arguments, **keywords)
        inside, began = True, _now()
        gc.disable()
        try:
            return plain(*arguments, **keywords)
        finally:
            gc.enable()
            inside = False
            seconds[:] = (before + now - then for before, now, then in zip(seconds, _now(), began, strict=True))

    builtins.__import__ = timed
    try:
        yield seconds
    finally:
        builtins.__import__ = plain


def _to_file(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not emptied but made anew: a job that outlived its run may still write to the old one.
    path.unlink(missing_ok=True)
    logging.basicConfig(filename=path, filemode="w", level=logging.INFO, format="%(message)s", force=True)
    # On a full disk the log is cut short, without a traceback for each of its lines.
    logging.raiseExceptions = False
    logging.captureWarnings(True)
    # A warning's source line helps nobody who reads a log; its text does.
    warnings.formatwarning = lambda message, category, *_: f"{category.__name__}: {message}"


@contextlib.contextmanager
def _expected(snakemake: Any, declared: int | None) -> Iterator[None]:
    """End the process on an error that the user can mend, with its remedy."""
    try:
        yield
    except CorruptFile as error:
        _fail(_deleted(snakemake, error))
    except DpermError as error:
        _fail(str(error))
    except ImportError as error:
        _fail(f"{_name(snakemake)}: {worker.where()} cannot load {error.name} ({error}); {worker.REMEDY}")
    except MemoryError:
        _fail(f"{_name(snakemake)} is out of memory: it held {peak()} MB{_more_memory(snakemake, declared)}")
    except OSError as error:
        gone = [path for path in snakemake.input if not Path(path).exists()]
        if gone:
            # Another job found it corrupt and deleted it.
            _fail(f"{_name(snakemake)}: {', '.join(gone)} is gone; run again, and it is made again")
        if error.errno == errno.ENOMEM:
            _fail(f"{_name(snakemake)} is out of memory: it held {peak()} MB{_more_memory(snakemake, declared)}")
        if error.errno not in DISK:
            _unexpected()
            raise
        place = f"{error.filename}: " if error.filename else ""
        _fail(
            f"{_name(snakemake)}: {place}{error.strerror or error}; {DISK[error.errno]} and run again: what is "
            "finished is kept"
        )
    except Exception:
        _unexpected()
        raise


def _deleted(snakemake: Any, error: CorruptFile) -> str:
    """Delete a broken file where it is one that a job made, so that the next run makes it again."""
    if error.made is None or str(error.made) not in snakemake.input:
        return str(error)
    Path(error.made).unlink(missing_ok=True)
    return f"{error.what}; it was deleted, run again and it is made again"


def _more_memory(snakemake: Any, declared: int | None) -> str:
    return (
        f" of the {declared} MB asked for; run fewer jobs at once (--cores), or declare more: "
        f"snakemake --set-resources {snakemake.rule}:mem_mb={2 * (declared or 1000)}"
    )


def _name(snakemake: Any) -> str:
    return " ".join([str(snakemake.rule), *(f"{name}={value}" for name, value in snakemake.wildcards.items())])


def _unexpected() -> None:
    logging.exception("unexpected error, please report it")


def _fail(words: str) -> None:
    # Where the log could not be opened, logging would print a second line on the terminal.
    if logging.root.handlers:
        logging.error("error: %s", words)
    print(f"error: {words}", file=sys.stderr)
    sys.exit(1)
