"""A copy of the project in which a test may edit, run and kill.

Used by the conftest.py of every folder of tests that runs the workflow: `from project_copies import ...`, and the
fixtures `project`, `finished` and the one behind it by their names.
"""

import importlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dperm_pipeline.report import assets

ROOT = Path(__file__).parents[2]
# What a start of Snakemake has read out of the sources, and what a report has put together: by their bytes and their
# release, so that an edit is read anew. (`plan` gives a function of the module's name.)
KEPT = importlib.import_module("dperm_pipeline.plan.code_digest").KEPT, assets.KEPT
FILES = ("CITATION.cff", "Makefile", "Snakefile", "pyproject.toml", "requirements.lock")
EXPERIMENT = "kifer2012-output"
PARTS = (
    *FILES,
    "docs/errata.md",
    "docs/assets/libraries.jsonl",
    "resources/claims",
    "config",
    "profiles",
    "workflow",
    "src",
)


class Project:
    """A folder with the project's code, and snakemake run in it."""

    def __init__(self, folder: Path):
        self.folder = folder
        # The copy's own library, not the installed one.
        self.environment = {**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        # Nor what a make around these tests leaves: with its flags the inner one names the folders that it enters.
        for name in ("DPERM_FORK", "DPERM_MIRROR", "MAKEFLAGS", "MAKELEVEL", "MFLAGS"):
            self.environment.pop(name, None)

    def command(self, *arguments: str, cores: int = 2, config: tuple[str, ...] = ("scale=tiny",)) -> list[str]:
        return [sys.executable, "-m", "snakemake", "--cores", str(cores), *arguments, "--config", *config]

    def start(self, *arguments: str, **options) -> subprocess.Popen:
        return subprocess.Popen(
            self.command(*arguments, **options), cwd=self.folder, env=self.environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip

    def run(self, *arguments: str, check: bool = True, timeout: float = 800, **options) -> str:
        process = self.start(*arguments, **options)
        output, _ = process.communicate(timeout=timeout)
        if check:
            assert process.returncode == 0, output
        else:
            assert process.returncode != 0, output
        return output

    def make_command(self, target: str, *files: str, scale: str = "tiny") -> list[str]:
        """Of a target of the Makefile, with the interpreter that runs this test in the place of .venv."""
        stamp = self.folder / ".installed"
        stamp.touch()
        return [
            "make",
            target,
            f"BIN={Path(sys.executable).parent}",
            f"STAMP={stamp}",
            f"ARGS={' '.join(files)} --config scale={scale}",
        ]

    def make(self, target: str, *files: str, check: bool = True, **options) -> str:
        """Run a target of the Makefile, for all files or those given."""
        command = self.make_command(target, *files, **options)
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, text=True, capture_output=True, timeout=800, check=False
        )
        assert (done.returncode == 0) == check, done.stdout + done.stderr
        return done.stdout if check else done.stdout + done.stderr

    def jobs(self, *arguments: str, **options) -> list[str]:
        """What a run would do now: the messages of its jobs."""
        output = self.run("--dry-run", *arguments, **options)
        return sorted(re.findall(r"^Job \d+: (.*)$", output, flags=re.MULTILINE))

    def edit(self, path: str, old: str, new: str) -> None:
        file = self.folder / path
        text = file.read_text(encoding="utf-8")
        assert old in text, f"{path} does not hold {old!r}"
        file.write_text(text.replace(old, new, 1), encoding="utf-8")

    def results(self) -> dict[str, bytes]:
        """Every file whose bytes must not depend on how it came about."""
        return {
            str(path.relative_to(self.folder)): path.read_bytes()
            for folder in ("results", "resources/prepared")
            for path in sorted((self.folder / folder).rglob("*"))
            if path.is_file() and path.suffix in (".parquet", ".csv", ".md", ".svg", ".png", ".yaml")
        }


def copy_whole(target: Path) -> Project:
    """Copy all that a run needs."""
    for part in PARTS:
        source = ROOT / part
        (target / part).parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target / part, ignore=shutil.ignore_patterns("*.egg-info"))
        else:
            shutil.copy2(source, target / part)
    for kept in KEPT:
        (ROOT / kept).mkdir(parents=True, exist_ok=True)
        (target / kept.parent).mkdir(exist_ok=True)
        (target / kept).symlink_to(ROOT / kept)
    return Project(target)


def copy_project(target: Path) -> Project:
    """Copy what a run of one experiment needs."""
    project = copy_whole(target)
    # Of the experiments the one with data sets and baselines: the rules are the same for all, and runs are many.
    for path in (target / "config/experiments").glob("*.yaml"):
        if path.stem != EXPERIMENT:
            path.unlink()
    every = "papers: [kifer2012, jain2013, li2021, dwork2018, frontier]"
    project.edit("config/config.yaml", every, "papers: [kifer2012]")
    # A run of a few short jobs would wait for most of its time.
    project.edit("profiles/default/config.yaml", "1000/5s", "1000/1s")
    return project


@pytest.fixture
def project(tmp_path) -> Project:
    """The project, nothing run yet."""
    return copy_project(tmp_path / "project")


@pytest.fixture(scope="session")
def finished_once(tmp_path_factory) -> Project:
    """One run for all processes of pytest-xdist: the first to come makes it, the others wait."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "finished"
    done, failed = folder / "done", folder / "failed"
    try:
        folder.mkdir()
    except FileExistsError:
        end = time.monotonic() + 850
        while not done.exists():
            assert not failed.exists(), "the run failed in another process, which says why"
            assert time.monotonic() < end, "the run of another process takes too long"
            time.sleep(0.5)
        return Project(folder / "project")
    project = copy_project(folder / "project")
    try:
        project.run()
    except BaseException:
        failed.touch()
        raise
    done.touch()
    return project


@pytest.fixture
def finished(finished_once, tmp_path) -> Project:
    """The project after one run at scale tiny, to do with as one likes (times of files kept)."""
    shutil.copytree(finished_once.folder, tmp_path / "finished", symlinks=True)
    return Project(tmp_path / "finished")
