"""Run the project through Slurm, and ask Slurm what became of its jobs."""

import dataclasses
import subprocess
import sys

from project_copies import EXPERIMENT, Project, copy_project

__all__ = [
    "EXPERIMENT",
    "IMPATIENT",
    "TARGETS",
    "Project",
    "SlurmJob",
    "copy_project",
    "end",
    "parquet",
    "slurm_jobs",
    "start",
]

TARGETS = (
    f"results/tiny/{EXPERIMENT}/rows.parquet",
    f"results/tiny/figures/{EXPERIMENT}.svg",
    # Two attacks: the profile sends them as one job.
    "results/tiny/audits/objective.tight/saturating.parquet",
    "results/tiny/audits/objective.paper/saturating.parquet",
)
# A test cannot wait as long as a cluster's user.
IMPATIENT = ("--slurm-init-seconds-before-status-checks", "2", "--seconds-between-status-checks", "2")


@dataclasses.dataclass(frozen=True)
class SlurmJob:
    """A line of squeue."""

    number: int
    state: str
    megabytes: int
    cores: int
    comment: str


def slurm_jobs() -> list[SlurmJob]:
    """Every job that this Slurm has seen, in order."""
    command = ["squeue", "--noheader", "--states=all", "--sort=i", "--format=%i|%T|%m|%C|%k"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    fields = [line.split("|") for line in lines]
    return [SlurmJob(int(i), state, _megabytes(size), int(cores), comment) for i, state, size, cores, comment in fields]


def _megabytes(size: str) -> int:
    return int(size.removesuffix("M")) if size.endswith("M") else int(float(size.removesuffix("G")) * 1024)


def start(project: Project, profile: str, *arguments: str, targets: tuple[str, ...] = TARGETS) -> subprocess.Popen:
    """Run Snakemake with a profile of the project's."""
    command = [sys.executable, "-m", "snakemake", "--workflow-profile", f"profiles/{profile}", *arguments]
    return subprocess.Popen(
        [*command, *targets, "--config", "scale=tiny"], cwd=project.folder, env=project.environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip


def end(process: subprocess.Popen, status: int = 0) -> str:
    """Wait for a run; return what it said."""
    try:
        output, _ = process.communicate(timeout=800)
    finally:
        process.kill()
    assert process.returncode == status, output
    return output


def parquet(project: Project) -> dict[str, bytes]:
    """The bytes of every Parquet file."""
    return {name: content for name, content in project.results().items() if name.endswith(".parquet")}
