"""Fetch a file that a published package happens to hold, by the package client and the index that the user has set up.

A wheel is downloaded as data: nothing of it is installed, built or run, and no other package comes with it. The
catalogue names package, version, platform of the wheel and member; what is trusted is the SHA-256 of the unpacked
bytes, not the package.
"""

import itertools
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dperm.errors import CorruptFile, DataUnavailable
from dperm_pipeline.datasets import archives, checksums

# Seconds after which a package client is given up.
TIMEOUT = 600
# A header line of a table is shorter than this.
_HEADER = 2**16


def described(source: Mapping[str, Any]) -> str:
    """Return a source in words."""
    return f"{source['member']} in the package {source['package']}=={source['version']}"


def download(source: Mapping[str, Any], target: Path, expected: Mapping[str, Any]) -> None:
    """Write the one file of `source` into `target`, without the lines that the catalogue says stand before it.

    `source` has `package`, `version`, `member` (its path in the wheel), `file` (what the catalogue calls it), and
    where they are needed `python` and `platform` (which wheel) and `skip_lines`. DataUnavailable if there is no
    package client here, or it does not find the package; CorruptFile if the package does not hold the member, or
    more than the file's bytes.
    """
    arrived = target.parent / "package"
    try:
        wheel = _wheel(source, arrived)
        base = source["member"].rsplit("/", 1)[-1]
        most = checksums.most(expected[source["file"]]) + _HEADER * source.get("skip_lines", 0)
        archives.unpack(wheel, wheel.name, {base: most}, arrived)
        with (arrived / base).open("rb") as rows, (target / source["file"]).open("wb") as file:
            for line in itertools.islice(iter(lambda: rows.readline(_HEADER), b""), source.get("skip_lines", 0)):
                if not line.endswith(b"\n"):
                    raise CorruptFile(f"{described(source)} has a first line of more than {_HEADER} bytes")
            shutil.copyfileobj(rows, file)
    finally:
        shutil.rmtree(arrived, ignore_errors=True)


def _wheel(source: Mapping[str, Any], folder: Path) -> Path:
    """Download the wheel alone, by the client of this Python."""
    name = f"{source['package']}=={source['version']}"
    # Wheels that this Python could not use are fine: they are only read.
    options = {"python": "--python-version", "platform": "--platform"}
    which = [f"{option}={source[key]}" for key, option in options.items() if key in source]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", *which]
    try:
        ran = subprocess.run(
            [*command, "--dest", str(folder), "--", name],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise DataUnavailable(f"the package client did not bring {name} within {TIMEOUT} s") from None
    wheels = sorted(folder.glob("*.whl"))
    if ran.returncode != 0 or len(wheels) != 1:
        said = [line.strip() for line in ran.stderr.splitlines() if line.startswith("ERROR") or "No module" in line]
        why = said[-1].removeprefix("ERROR: ") if said else f"it ended with status {ran.returncode}"
        raise DataUnavailable(f"the package client (python -m pip download) did not bring {name}: {why[:300]}")
    return wheels[0]
