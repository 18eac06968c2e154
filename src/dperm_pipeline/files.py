"""Write files so that no reader ever sees half of one, and no writer overwrites what a later one made."""

import contextlib
import errno
import glob
import os
import secrets
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dperm.errors import Superseded

# Files whose modification time tells Snakemake when a run made them. (That of a lock tells when the run began.)
TIMED = ("results/**/*", "benchmarks/**/*", "resources/**/*", ".snakemake/dperm-run-*.lock")
# Absolute paths that this process has claimed -> the token in the claim's file.
_claims: dict[str, str] = {}


@contextmanager
def replacing(path: str | Path, *, durable: bool = True) -> Iterator[Path]:
    """Give a temporary path beside `path`; on success rename it to `path`, on failure leave nothing.

    It is an empty file with the suffix of `path`, for writers that choose the format by it. A process killed in the
    middle leaves the old file as it was, and may leave the hidden temporary one. What is not `durable` need not
    survive a power cut, for it means nothing to the next boot. Superseded if another process has claimed `path`
    since this one did.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}.{secrets.token_hex(8)}{path.suffix}")
    # Not mkstemp: that makes files private to their owner, and results are as readable as the umask says.
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        yield temporary
        try:
            if durable:
                with temporary.open("rb+") as written:
                    os.fsync(written.fileno())
            # As late as can be; whoever claims the path after this look deletes the temporary file.
            _check_claim(path)
            temporary.replace(path)
        except FileNotFoundError:
            _check_claim(path)
            raise
        if durable:
            _sync_folder(path.parent)
    except BaseException as error:
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(path)  # a full disk is reported without a name
        # What cannot be removed must not hide why: a later job for this file sweeps it up.
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def write_text(path: str | Path, text: str) -> None:
    """Write `text` to `path` in UTF-8, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def claimed(outputs: Iterable[str | Path], inputs: Iterable[str | Path] = ()) -> Iterator[None]:
    """Make this process the only one that may replace `outputs`, until it ends or another claims them.

    A job outlives the run that started it if that run is killed, and may finish when a later run, perhaps of other
    code, has made the same file: it must not overwrite it. So each job claims its outputs by a hidden file beside each,
    and `replacing` renames nothing to a path whose claim is no longer its own. What a killed job left is removed.

    Should the clock have gone back since an input was made, or since the run began, `undo_future_times` is called at
    the end: Snakemake throws away an output that is older than its inputs.
    """
    paths = [Path(path) for path in outputs]
    token = secrets.token_hex(16)
    try:
        for path in paths:
            with replacing(_claim_of(path), durable=False) as temporary:
                temporary.write_text(token)
            _claims[_absolute(path)] = token
            # In this order: a writer who made its temporary file after the sweep finds the new claim.
            pattern = f".{glob.escape(path.stem)}.{'[0-9a-f]' * 16}{glob.escape(path.suffix)}"
            for left in path.parent.glob(pattern):
                left.unlink(missing_ok=True)
        yield
        earlier = [*map(Path, inputs), *Path().glob(TIMED[-1])]
        # By the clock of the file system, which is that of the other files, too.
        now = min((_modified(path) for path in paths if path.exists()), default=0)
        if now and any(_modified(path) > now for path in earlier):
            undo_future_times(inputs)
    finally:
        for path in paths:
            mine = _claims.pop(_absolute(path), None)
            # A disk that has become read-only must not hide what else went wrong.
            with contextlib.suppress(OSError):
                if mine and _claim_of(path).read_text() == token:
                    _claim_of(path).unlink()


def undo_future_times(others: Iterable[str | Path] = ()) -> int:
    """Date files from the future (`TIMED` and others) to the present, in the order that they had; return how many.

    A clock that ran ahead and was set back leaves such files. Snakemake takes what is older than its inputs for out of
    date, so what is made from now on has to look newer than they do.
    """
    with tempfile.TemporaryFile(dir=Path()) as probe:
        now = os.fstat(probe.fileno()).st_mtime_ns
    paths = set(map(Path, others))
    for pattern in TIMED:
        paths.update(path for path in Path().glob(pattern) if path.is_file())
    times = {path: _modified(path) for path in paths}
    future = {path: time for path, time in times.items() if time > now}
    # A microsecond apart: equal times would not count as newer.
    present = {time: now + 1000 * k for k, time in enumerate(sorted(set(future.values())), start=1)}
    for path, time in future.items():
        # Where the owner is another, or the disk read-only, Snakemake names the file itself.
        with contextlib.suppress(OSError):
            os.utime(path, ns=(present[time], present[time]))
    return len(future)


def is_of_the_machine(error: BaseException) -> bool:
    """Return whether an error in reading a file is not the fault of its bytes: no such file, no permission, no memory.

    Such a file is not to be deleted. Arrow reports broken bytes as a plain OSError without a number, and a lack of
    memory by a kind of MemoryError that is an ArrowException too.
    """
    if isinstance(error, MemoryError):
        return True
    return isinstance(error, OSError) and (type(error) is not OSError or error.errno is not None)


def _absolute(path: Path) -> str:
    return str(path.absolute())


def _claim_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.claim")


def _check_claim(path: Path) -> None:
    # A job whose output is a folder has claimed all that is in it.
    path = next((one for one in (path, *path.parents) if _absolute(one) in _claims), None)
    if path is None:
        return
    try:
        found = _claim_of(path).read_text()
    except FileNotFoundError:
        found = None
    if found != _claims[_absolute(path)]:
        raise Superseded(
            f"{path} is no longer this job's to write: another job for the same file has taken its place; nothing was "
            "written. If this run goes on, run it again when that one has ended"
        )


def _modified(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _sync_folder(folder: Path) -> None:
    """Bring a rename to the disk; some file systems cannot, and then do so by themselves."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)
