"""A copy of the project, to break while it runs; how a thing is broken stands with its test."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
from project_copies import EXPERIMENT, ROOT, Project, copy_project, finished, finished_once, project

__all__ = ["EXPERIMENT", "ROOT", "Project", "copy_project", "finished", "finished_once", "project"]
