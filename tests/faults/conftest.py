"""A copy of the project, to break while it runs; how a thing is broken stands with its test."""

import pytest
from project_copies import EXPERIMENT, ROOT, Project, copy_project, finished, finished_once, project

__all__ = ["EXPERIMENT", "ROOT", "Project", "copy_project", "finished", "finished_once", "project"]


@pytest.fixture(params=["alone", "forked"])
def starts(request, finished):
    """Every test that asks for it is done twice: with jobs that start Python, and with jobs that a server forks."""
    finished.environment["DPERM_FORK"] = str(int(request.param == "forked"))
    return request.param
