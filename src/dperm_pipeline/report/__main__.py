"""Say at the end of a run where the report is, how long it took, and the verdicts in a few lines.

Where there is a desktop the report opens by itself.

python -m dperm_pipeline.report --since 1795230015 --cores all [what was given to snakemake]
python -m dperm_pipeline.report --serve 8000 [what was given to snakemake]
"""

import argparse
import os
import sys
import time
import webbrowser
from collections.abc import Sequence
from pathlib import Path

import yaml

from dperm.errors import ConfigError, DpermError
from dperm_pipeline import claims
from dperm_pipeline.report import cost, ledgers, rows_read, serve


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the closing lines, or serve the report; return 0, or 1 with a message if there is no report.

    Of snakemake's own arguments only `scale=...` is looked at.
    """
    parser = argparse.ArgumentParser(prog="python -m dperm_pipeline.report", description=__doc__.splitlines()[0])
    parser.add_argument("--since", type=float, help="when the run began, in seconds since the epoch")
    parser.add_argument("--cores", default="all", help="how many cores it had")
    parser.add_argument("--root", type=Path, default=Path(), help="the project's folder")
    parser.add_argument("--serve", type=int, metavar="PORT", help="serve the report on 127.0.0.1 until Ctrl-C")
    known, others = parser.parse_known_args(arguments)
    try:
        folder = known.root / "results" / _scale(known.root, others)
        page = folder / "report" / "index.html"
        if not page.is_file():
            raise ConfigError(f"there is no {page}; run snakemake for this scale first")
        if known.serve is not None:
            serve.serve(page.parent, known.serve)
            return 0
        print(claims.summary(folder / "claims.parquet"))
        for line in rows_read.failures(folder):
            print(line)
        print(ledgers.summary(folder / "privacy.parquet", folder / "mutants.parquet"))
        # Later than now: the clock was set back while the run went on, and no time of it means anything.
        if known.since is None or known.since > time.time():
            print(f"report: {page}")
            return 0
        cores = int(known.cores) if known.cores.isdigit() else None
        spent = cost.of_run(known.root, folder.name, since=known.since, until=time.time(), cores=cores)
        print(spent)
        print(f"report: {page} ({int(spent.seconds) // 60} min {int(spent.seconds) % 60} s)")
        if _desktop():
            webbrowser.open(page.resolve().as_uri())
    except (DpermError, FileNotFoundError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _desktop() -> bool:
    """Is somebody there, before a screen with windows?"""
    windows = sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(windows) and sys.stdout.isatty()


def _scale(root: Path, arguments: Sequence[str]) -> str:
    """Return the scale that snakemake ran at: of its arguments, else of config/config.yaml."""
    given = [argument.removeprefix("scale=") for argument in arguments if argument.startswith("scale=")]
    path = root / "config" / "config.yaml"
    return given[-1] if given else str(yaml.safe_load(path.read_text(encoding="utf-8"))["scale"])


if __name__ == "__main__":
    sys.exit(main())
