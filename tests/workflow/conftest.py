"""A copy of the project in which a test may edit, run and kill."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
from project_copies import EXPERIMENT, FILES, ROOT, Project, copy_project, finished, finished_once, project

__all__ = ["EXPERIMENT", "FILES", "ROOT", "Project", "copy_project", "finished", "finished_once", "project"]
