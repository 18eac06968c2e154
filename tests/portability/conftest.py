"""The same numbers on other machines: with other settings, in other places, with other libraries."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
from project_copies import EXPERIMENT, ROOT, Project, copy_project, finished, finished_once, project

__all__ = ["EXPERIMENT", "ROOT", "Project", "copy_project", "finished", "finished_once", "project"]
