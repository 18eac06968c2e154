"""A Slurm of one node, and what a run without it gives."""

import one_node
import pytest
from slurm_runs import TARGETS, Project, copy_project


@pytest.fixture(scope="session")
def local(tmp_path_factory) -> Project:
    """The project after a run of the targets on this machine, without Slurm."""
    project = copy_project(tmp_path_factory.mktemp("local") / "project")
    project.run(*TARGETS)
    return project


@pytest.fixture(scope="module")
def slurm():
    """A Slurm without accounting: squeue answers, sacct does not."""
    with one_node.running() as folder:
        yield folder


@pytest.fixture(scope="module")
def slurm_with_accounting():
    """A Slurm with slurmdbd and a database: sacct answers."""
    with one_node.running(accounting=True) as folder:
        yield folder
