"""The same numbers on other machines: with other settings, in other places, with other libraries."""

from pathlib import Path

import pytest
from machines import compute, threads
from project_copies import EXPERIMENT, ROOT, Project, copy_project, finished, finished_once, project

__all__ = ["EXPERIMENT", "ROOT", "Project", "copy_project", "finished", "finished_once", "project"]


@pytest.fixture(scope="session")
def locked(tmp_path_factory) -> Path:
    """What this machine computes at scale tiny, as it is, with the libraries of requirements.lock."""
    return compute(tmp_path_factory.mktemp("locked") / "out", **threads(1))
