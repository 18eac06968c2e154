"""Write files so that no reader ever sees half of one."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Give a temporary path beside `path`; on success rename it to `path`, on failure leave nothing.

    The temporary file keeps the suffix of `path`, for writers that choose the format by it. A process killed in the
    middle leaves the old file as it was, and may leave the hidden temporary one.

    Parameters
    ----------
    path : path-like
        Its folder is made if need be.

    Yields
    ------
    Path
        An empty file, to be written.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}.{secrets.token_hex(8)}{path.suffix}")
    # Not mkstemp: that makes files private to their owner, and results are as readable as the umask says.
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        yield temporary
        with temporary.open("rb+") as written:
            os.fsync(written.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_text(path: str | Path, text: str) -> None:
    """Write `text` to `path` in UTF-8, whole or not at all.

    Parameters
    ----------
    path : path-like
    text : str
    """
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
