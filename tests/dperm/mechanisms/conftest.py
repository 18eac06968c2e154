"""A PostgreSQL server for the tests that need one, and a place of each kind for a ledger."""

import os

import ledgers
import pytest


@pytest.fixture(scope="session")
def postgres():
    """PostgreSQL's programs are here: else the test skips, or fails where DPERM_NEED_POSTGRES is set."""
    if ledgers.programs() is None:
        if os.environ.get("DPERM_NEED_POSTGRES"):
            pytest.fail("DPERM_NEED_POSTGRES is set and there is no PostgreSQL here: apt install postgresql")
        pytest.skip("no PostgreSQL on this machine")


@pytest.fixture(scope="session")
def server(postgres):
    with ledgers.server() as url:
        yield url


@pytest.fixture(params=ledgers.STORES)
def place(request, tmp_path):
    url = request.getfixturevalue("server") if request.param == "postgres" else None
    return ledgers.Place(request.param, tmp_path, url)
