"""The script that fills the docs' tables, which lies beside them and not in a package."""

import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="session")
def tables():
    """docs/update_tables.py."""
    spec = importlib.util.spec_from_file_location("update_tables", DOCS / "update_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
