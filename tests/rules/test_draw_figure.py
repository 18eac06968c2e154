"""draw_figure: an SVG and a PNG of the rows, or a message and neither."""

from pathlib import Path
from xml.etree import ElementTree

import fake_audits
import fake_rows
import pytest

from dperm import figures

# One figure of each paper and a ledger's; `make test-slow` draws them all.
QUICK = {"kifer2012-output", "jain2013-noise", "dwork2018-free", "li2021-fig2", "privacy-ledger"}
NAMES = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in sorted(figures.FIGURES)]
SVG, PNG = "results/tiny/figures/it.svg", "results/tiny/figures/it.png"


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    frame = fake_rows.rows(datasets=("breast-cancer",), epsilons=(0.1, 1.0), deltas=(0.0,), repeats=5)
    return fake_rows.write(frame, tmp_path_factory.mktemp("rows") / "rows.parquet")


@pytest.fixture
def draw_figure(run_script):
    def run(what, name, rows):
        return what(
            "draw_figure",
            input={"rows": rows},
            output={"svg": SVG, "png": PNG},
            params={"code": "digest", "recipe": [], "words": {}},
            wildcards={"scale": "tiny", "figure": name},
        )

    return run


@pytest.mark.parametrize("name", NAMES)
def test_both_files(draw_figure, run_script, rows, name, tmp_path):
    if figures.FIGURES[name].source == "privacy":
        rows, _ = fake_audits.write_ledgers(tmp_path / "results")
    elif not name.startswith("kifer2012-output"):
        rows = fake_rows.write(fake_rows.of_figure(name), tmp_path / "rows.parquet")
    draw_figure(run_script, name, rows)
    assert ElementTree.parse(SVG).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    assert Path(PNG).read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert Path(PNG).read_bytes().endswith(b"IEND\xaeB`\x82")
    figures.draw(name, rows, svg="direct.svg", png="direct.png")
    assert Path(SVG).read_bytes() == Path("direct.svg").read_bytes()
    assert Path(PNG).read_bytes() == Path("direct.png").read_bytes()


def test_an_unknown_figure(draw_figure, run_script, rows):
    said = draw_figure(run_script.fails, "kifer2012-outptu", rows)
    assert "did you mean 'kifer2012-output'?" in said


def test_corrupt_rows(draw_figure, run_script, rows):
    Path("rows.parquet").write_bytes(rows.read_bytes()[:-20])
    assert "rows.parquet is not a readable Parquet file" in draw_figure(
        run_script.fails, "kifer2012-output", "rows.parquet"
    )


def test_rows_that_contradict_themselves(draw_figure, run_script):
    """Two ridge multiples chosen for one method at one point: nobody can say which curve to draw."""
    frame = fake_rows.rows(datasets=("breast-cancer",), epsilons=(1.0,), deltas=(0.0,), repeats=3).assign(chosen=True)
    fake_rows.write(frame, "rows.parquet")
    assert "chosen" in draw_figure(run_script.fails, "kifer2012-output", "rows.parquet")
