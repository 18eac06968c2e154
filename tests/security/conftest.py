"""Made-up rows are shared with the unit tests, copies of the project with those of the workflow."""

import sys
from pathlib import Path

sys.path += [str(Path(__file__).parents[1] / "unit"), str(Path(__file__).parents[1])]
