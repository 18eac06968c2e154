"""The scripts that fill the docs, which lie beside them and not in a package."""

import importlib
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="session")
def docs_script():
    """A function that imports a script of docs/, by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(DOCS))
        yield importlib.import_module


@pytest.fixture(scope="session")
def tables(docs_script):
    """docs/update_tables.py."""
    return docs_script("update_tables")


@pytest.fixture(scope="session")
def outcomes(docs_script):
    """docs/outcomes.py."""
    return docs_script("outcomes")
