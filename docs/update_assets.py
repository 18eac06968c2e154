"""Renew what the docs take from a run: make docs-assets RESULTS=results/paper, after that run.

Writes docs/assets (the figures and ledgers that README.md shows, and run.json: what made them), then README.md from
docs/assets alone, then the tables of docs/audit.md and docs/papers. tests/docs/test_readme.py makes README.md again
from docs/assets and fails on any difference.
"""

import argparse
import hashlib
import json
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import readme_parts
import summary_figure
import update_tables
import yaml

from dperm.errors import CorruptFile, DpermError
from dperm_pipeline import claims, files, tables
from dperm_pipeline.claims import answers, catalogue, select

ROOT = Path(__file__).parents[1]
ASSETS = ROOT / "docs/assets"
SCHEMA = ROOT / "workflow/schemas/claims.schema.yaml"
# What decides a number; docs and tests do not.
CODE = ("Snakefile", "config", "requirements.lock", "resources", "src", "workflow")


def ledgers(results: Path, assets: Path) -> None:
    """Write claims.csv, privacy.csv and answers.csv: every row of the ledgers, every digit of their numbers."""
    for name in ("claims", "privacy"):
        frame = tables.read_records(results / f"{name}.parquet")
        if name == "privacy":
            frame = frame.assign(claims=promises(frame))
        files.write_text(assets / f"{name}.csv", frame.to_csv(index=False, lineterminator="\n"))
    answered = pd.DataFrame(answers.answers(claims.read(results / "claims.parquet")))
    files.write_text(assets / "answers.csv", answered.to_csv(index=False, lineterminator="\n"))


def promises(privacy: pd.DataFrame) -> list[str]:
    """Return which claims, as a paper prints them, each row of the privacy ledger is a promise of; empty where of none.

    Rows that only tests beside a claim rest on are other readings, neighbours or solvers: no paper promises them.
    """
    found: list[list[str]] = [[] for _ in range(len(privacy))]
    for claim in catalogue.load([*(ROOT / "resources/claims").glob("*.yaml")], SCHEMA):
        for variant in {*claim["variants"]} - {*claim.get("beside", ())}:
            rule = select.settings(claim, variant)
            if variant.split("-over-")[0] == answers.PRINTED and "ledger" in rule:
                for place in select.matches(privacy, rule["ledger"]).nonzero()[0]:
                    found[place].append(claim["id"])
    return [" ".join(sorted({*names})) for names in found]


def figures(results: Path) -> dict[str, str]:
    """Return the SVGs that README.md shows, by name."""
    paths = [results / f"figures/{name}.svg" for section in readme_parts.SECTIONS.values() for name in section.figures]
    for path in paths:
        if not path.is_file():
            raise FileNotFoundError(f"there is no {path}; run snakemake for this figure first")
    return {path.stem: path.read_text(encoding="utf-8") for path in paths}


def usual(config: dict) -> str:
    """Return the command that makes such a run; a data set without an address is had from a folder alone."""
    mirrored = any(entry.get("files") and not entry.get("sources") for entry in config["datasets"].values())
    folder = " mirror=FOLDER" if mirrored else ""
    return f"snakemake --cores all --config scale={shlex.quote(config['scale'])}{folder}"


def record(results: Path, command: str | None) -> dict:
    """Return what made a run: command, commit, date, scale, seed, data, packages, checksums of the ledgers."""
    config = yaml.safe_load((results / "config.yaml").read_text(encoding="utf-8"))
    ledger = results / "claims.parquet"
    made = tables.metadata(ledger)
    return {
        "command": command or usual(config),
        "commit": commit(),
        "date": time.strftime("%Y-%m-%d", time.gmtime(ledger.stat().st_mtime)),
        "scale": config["scale"],
        "seed": config["seed"],
        "datasets": {
            name: {key: entry[key] for key in ("title", "rows", "licence") if key in entry}
            for name, entry in sorted(config["datasets"].items())
        },
        "not at hand": made.get("skipped", {}),
        "packages": made["versions"],
        "sha256": {
            f"{name}.parquet": hashlib.sha256((results / f"{name}.parquet").read_bytes()).hexdigest()
            for name in ("claims", "mutants", "privacy")
        },
    }


def commit() -> str:
    """Return the commit that is checked out, and say so if what decides a number differs from it.

    The rows themselves hold the digest of their code, not a commit: renew the docs where they were made.
    """

    def git(*arguments: str) -> str:
        return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=True).stdout

    try:
        changed = " and changes" if git("status", "--porcelain", "--", *CODE).strip() else ""
        return git("rev-parse", "HEAD").strip() + changed
    except (OSError, subprocess.CalledProcessError):
        return "not a git checkout"


def renew(results: Path, command: str | None = None, root: Path = ROOT) -> None:
    """Write docs/assets from a run, and README.md from docs/assets.

    Parameters
    ----------
    results : path
        Such as results/paper.
    command : str, optional
        What made it, as people would type it again; by default `usual`.
    root : path
        The project's folder.

    Raises
    ------
    FileNotFoundError
        If the run lacks a file that is shown.
    CorruptFile
        If a ledger cannot be read, or README.md lacks a marker.
    """
    privacy = tables.read_records(results / "privacy.parquet")
    if len(privacy.query("verdict == 'refuted' and guarantee != 'none'")):
        raise CorruptFile(f"{results}/privacy.parquet refutes what is proved; that is no result, but a bug to be found")
    shown, made, assets = figures(results), record(results, command), root / "docs/assets"
    assets.mkdir(parents=True, exist_ok=True)
    ledgers(results, assets)
    files.write_text(assets / "run.json", json.dumps(made, indent=2, ensure_ascii=False) + "\n")
    shown["summary"] = summary_figure.draw(assets)
    for path in assets.glob("*.svg"):
        if path.stem not in shown:
            path.unlink()
    for name, svg in shown.items():
        files.write_text(assets / f"{name}.svg", svg)
    page = root / "README.md"
    files.write_text(page, readme_parts.filled(page.read_text(encoding="utf-8"), assets))


def main(arguments: list[str] | None = None) -> int:
    """Renew docs/assets, README.md and the tables of the other pages; return 1 with a message if that cannot be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, help="a run's folder, such as results/paper")
    parser.add_argument(
        "--command", help="what made it; by default snakemake at its scale, with a mirror where a data set needs one"
    )
    given = parser.parse_args(arguments)
    try:
        renew(given.results, given.command)
        update_tables.main(given.results)
    except (DpermError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
