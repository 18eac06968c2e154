"""A copy of the project in which a test may edit, run and kill."""

from project_copies import EXPERIMENT, FILES, ROOT, Project, copy_project, finished, finished_once, project

__all__ = ["EXPERIMENT", "FILES", "ROOT", "Project", "copy_project", "finished", "finished_once", "project"]
