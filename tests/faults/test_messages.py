"""What a job says of a fault that is not its own, and what it deletes."""

import errno
import logging
import warnings
from types import SimpleNamespace

import pytest

from dperm.errors import CorruptFile
from dperm_pipeline import script, tables


@pytest.fixture
def said(tmp_path, monkeypatch):
    """What a job with one input ends with when something is raised in it: its log, after status 1."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "input.parquet").write_bytes(b"not parquet")
    before = logging.root.handlers[:], logging.root.level, warnings.formatwarning, logging.raiseExceptions

    def ended_by(action):
        given = SimpleNamespace(
            rule="run_cell", wildcards={"scale": "tiny"}, resources={"mem_mb": 1000}, log=["it.log"],
            input=["input.parquet"], output=[],
        )  # fmt: skip
        with pytest.raises(SystemExit) as ended, script.logged(given):
            action()
        assert ended.value.code == 1
        text = (tmp_path / "it.log").read_text(encoding="utf-8")
        assert "Traceback" not in text
        return text

    yield ended_by
    logging.captureWarnings(False)
    for handler in logging.root.handlers:
        if handler not in before[0]:
            handler.close()
    logging.root.handlers[:] = before[0]
    logging.root.setLevel(before[1])
    warnings.formatwarning, logging.raiseExceptions = before[2:]


def raising(error):
    def action():
        raise error

    return action


def test_a_broken_input_that_a_job_made_is_deleted(said, tmp_path):
    text = said(lambda: tables.read("input.parquet"))
    assert "error: input.parquet is not a readable Parquet file" in text
    assert "; it was deleted, run again and it is made again" in text
    assert not (tmp_path / "input.parquet").exists()


def test_a_file_of_the_users_own_is_never_deleted(said, tmp_path):
    """It is an input of a job too, and its reader does not say that a job made it."""
    assert "error: input.parquet: write it again" in said(raising(CorruptFile("input.parquet: write it again")))
    assert (tmp_path / "input.parquet").exists()


def test_a_broken_file_that_is_no_input_stays(said, tmp_path):
    (tmp_path / "other.parquet").write_bytes(b"not parquet")
    assert "; delete it and run again" in said(lambda: tables.read("other.parquet"))
    assert (tmp_path / "other.parquet").exists()


def test_an_input_that_another_job_deleted_is_named(said, tmp_path):
    (tmp_path / "input.parquet").unlink()
    assert "run_cell scale=tiny: input.parquet is gone; run again" in said(lambda: tables.read("input.parquet"))


def test_a_library_that_cannot_be_loaded_is_named_with_the_remedy(said):
    text = said(lambda: __import__("no_such_thing"))
    assert "cannot load no_such_thing (No module named 'no_such_thing'); install" in text
    assert "`make venv`" in text


@pytest.mark.parametrize("error", [MemoryError(), OSError(errno.ENOMEM, "Cannot allocate memory")], ids=repr)
def test_too_little_memory_is_one_message_with_the_remedy(said, error):
    text = said(raising(error))
    assert "error: run_cell scale=tiny is out of memory: it held" in text
    assert "of the 1000 MB asked for; run fewer jobs at once (--cores), or declare more" in text
    assert "snakemake --set-resources run_cell:mem_mb=2000" in text
