"""The same numbers on other machines: with other settings, in other places, with other libraries."""

from project_copies import EXPERIMENT, ROOT, Project, copy_project, finished, finished_once, project

__all__ = ["EXPERIMENT", "ROOT", "Project", "copy_project", "finished", "finished_once", "project"]
