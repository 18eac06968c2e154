"""One run at a time for each scale of a folder, by a lock that the operating system drops when its holder dies.

python -m dperm_pipeline.one_run     status 1 and a message if a run goes on in this folder, whatever its scale

Snakemake's own lock is a file, which does not suffice: a kill leaves it behind, `--unlock` removes it whether a run
goes on or not, and of two runs at once the first to end removes the lock of the other.
"""

import errno
import fcntl
import os
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import IO

from dperm.errors import DpermError, RunGoingOn

FOLDER = Path(".snakemake")
# Paths of the locks that this process holds -> their open files: a lock lasts as long as its file is open.
_held: dict[str, IO[str]] = {}


def hold(scale: str, folder: str | Path = FOLDER) -> None:
    """Take the lock of a scale until this process ends, however it does; RunGoingOn if another process holds it."""
    path = _path(scale, folder)
    if str(path.absolute()) in _held:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("a+", encoding="utf-8")
    # `going_on` holds the lock for a moment to look at it, so it is tried for a second.
    for _ in range(10):
        if _lock(file, fcntl.LOCK_EX):
            break
        time.sleep(0.1)
    else:
        with file:
            raise RunGoingOn(_message(path, _holder(file)))
    file.truncate(0)
    file.write(f"process {os.getpid()} on {socket.gethostname()}")
    file.flush()
    _held[str(path.absolute())] = file


def going_on(folder: str | Path = FOLDER) -> list[str]:
    """Return a sentence for each run of another process that goes on now."""
    found = []
    for path in sorted(Path(folder).glob(_path("*", folder).name)):
        if str(path.absolute()) in _held:
            continue
        with path.open(encoding="utf-8") as file:
            if not _lock(file, fcntl.LOCK_SH):
                found.append(_message(path, _holder(file)))
    return found


def heed_signals() -> None:
    """Undo ignored and blocked signals that this process has inherited, for itself and for all that it starts.

    With SIGCHLD ignored a job that fails has status 0; with signals blocked, or SIGTERM ignored, only kill -9 stops a
    run or a job of it. Ctrl-C and the end of the terminal stay ignored where they are: that is what `nohup`, and a
    script that starts a run in the background, ask for.
    """
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in (signal.SIGCHLD, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def unwritable(folder: str | Path, size: int = 65536) -> str | None:
    """Return why a file of so many bytes cannot be written in a folder, and the remedy; None if it can.

    If the folder is not there yet, the next one above it is tried.
    """
    folder = Path(folder).absolute()
    while not folder.is_dir():
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(size))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        remedy = "free some space" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "make it writable"
        return f"{folder} cannot be written ({error.strerror}); {remedy}: what is finished is kept"
    return None


def main() -> int:
    """Print what goes on in this folder; return 1 if anything does, else 0."""
    try:
        found = going_on()
    except DpermError as error:
        found = [str(error)]
    for words in found:
        print(f"error: {words}", file=sys.stderr)
    return 1 if found else 0


def _path(scale: str, folder: str | Path) -> Path:
    return Path(folder) / f"dperm-run-{scale}.lock"


def _lock(file: IO[str], how: int) -> bool:
    """Lock a file; False if another process has it. Where locks do not work (some network disks), warn and go on."""
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        print(f"warning: {file.name} cannot be locked ({error.strerror}): see that no two runs meet", file=sys.stderr)
    return True


def _holder(file: IO[str]) -> str:
    file.seek(0)
    return file.read() or "a process that does not say which"


def _message(path: Path, holder: str) -> str:
    scale = path.stem.removeprefix("dperm-run-")
    return (
        f"another run at scale {scale} goes on in {Path.cwd()} ({holder}): wait until it ends, or stop it (Ctrl-C in "
        "its terminal, or kill that process) and then: make resume"
    )


if __name__ == "__main__":
    sys.exit(main())
