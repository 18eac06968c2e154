"""The library of charts is put together once for a release of vl-convert, and never read back broken."""

import pytest
import vl_convert

from dperm_pipeline.report import assets

WHOLE = "window.vegaEmbed=1;\nwindow.vega=2;"


@pytest.fixture
def made(monkeypatch, tmp_path):
    """Count how often it is put together, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    found = []
    monkeypatch.setattr(vl_convert, "javascript_bundle", lambda: found.append(WHOLE) or WHOLE)
    return found


def vega():
    return assets.libraries.__wrapped__()["vega"]


def test_it_is_kept_where_snakemake_keeps_what_it_remembers(made, monkeypatch):
    first = vega()
    # Not in a folder that is no run's.
    assert not assets.KEPT.parent.exists() and WHOLE in first
    assets.KEPT.parent.mkdir()
    assert vega() == vega() == vega() == first and len(made) == 2
    monkeypatch.setattr(vl_convert, "__version__", "another")
    assert vega() == first and len(made) == 3 and len(list(assets.KEPT.iterdir())) == 2


@pytest.mark.parametrize("broken", [b"", WHOLE.encode(), b"\xff\n", b"0\nalert(1)"])
def test_what_is_broken_is_put_together_again(made, broken):
    assets.KEPT.parent.mkdir()
    first = vega()
    (kept,) = assets.KEPT.iterdir()
    for damaged in (broken, kept.read_bytes()[:-1], kept.read_bytes() + b"x"):
        before = len(made)
        kept.write_bytes(damaged)
        assert vega() == vega() == first and len(made) == before + 1


def test_where_nothing_can_be_kept_it_is_put_together(made):
    assets.KEPT.parent.mkdir()
    assets.KEPT.write_text("in the place of a folder", encoding="utf-8")
    assert WHOLE in vega() and len(made) == 1
