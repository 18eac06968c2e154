"""examples/gallery: every program runs, is short, says what it shows, and has its picture on docs/gallery.md."""

import ast
import re
import runpy
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import matplotlib as mpl
import pytest
import yaml
from matplotlib import pyplot as plt

from dperm_pipeline.datasets import adult

ROOT = Path(__file__).parents[2]
PROGRAMS = {path.stem: path for path in sorted((ROOT / "examples/gallery").glob("*.py"))}
PAGE = (ROOT / "docs/gallery.md").read_text(encoding="utf-8")


def census_table(left):
    always, searched, plain = left["errors"].values()
    return left["session"].spent.epsilon == 2.0 and plain < searched < 0.2 < always


def several_classes(left):
    return min(left["right"].values()) > 0.5 and left["models"]["NoisyGradientDescent"].coef_.shape == (10, 64)


def release(left):
    # What OpenDP draws is not held against anything.
    return left["loaded"].privacy_.mode == "release" and "# Privacy card: OutputPerturbation" in str(left["card"])


def private_tuning(left):
    return left["search"].privacy_.epsilon == 1.0 and left["found"] in left["values"]["curvature"]


def prediction_service(left):
    # Ten of fifty were repeats, and the restart forgot nothing.
    return left["left"] == [*range(39, 24, -1), *[25] * 10, *range(24, -1, -1)]


def audit_a_mean(left):
    of_the_data, of_the_declaration = (bound.epsilon for bound in left["found"].values())
    return of_the_data > 5 and 0.8 < of_the_declaration <= 1


def own_loss(left):
    return (
        left["release"].guarantee == "proved"
        and abs((left["y"] < left["X"] @ left["release"].theta[0]).mean() - 0.9) < 0.02
    )


def session(left):
    return list(left["spent"].values()) == pytest.approx([0, 0.5, 1.5, 1.5, 1.5])


SHOWN = (census_table, several_classes, release, private_tuning, prediction_service, audit_a_mean, own_loss, session)
# Two to three seconds each.
LONG = (several_classes, private_tuning, prediction_service, audit_a_mean, own_loss)


@pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
@pytest.mark.parametrize(
    "shown",
    [
        pytest.param(
            shown,
            marks=pytest.mark.chance(1e-9) if shown is release else pytest.mark.slow if shown in LONG else (),
            id=shown.__name__,
        )
        for shown in SHOWN
    ],
)
def test_a_program_shows_what_its_head_says(shown, request, tmp_path, monkeypatch):
    picture = tmp_path / f"{shown.__name__}.svg"
    monkeypatch.setattr(sys, "argv", [shown.__name__, str(picture)])
    if shown is census_table:
        monkeypatch.setenv("DPERM_MIRROR", str(request.getfixturevalue("mirror")))
    plt.close("all")
    with mpl.rc_context(fname=ROOT / "examples/gallery/matplotlibrc"):
        assert shown(runpy.run_path(str(PROGRAMS[shown.__name__])))
    assert ET.parse(picture).getroot().tag.endswith("svg")


def test_a_table_as_published_takes_thirty_lines_to_a_card():
    tree = ast.parse(PROGRAMS["census_table"].read_text(encoding="utf-8"))
    lines = {place for node in tree.body[1:] for place in range(node.lineno, node.end_lineno + 1)}
    assert len(lines) <= 30


def test_the_schema_of_the_census_is_the_catalogues():
    schema = yaml.safe_load((ROOT / "examples/gallery/adult.yaml").read_text(encoding="utf-8"))
    entry = yaml.safe_load((ROOT / "config/datasets.yaml").read_text(encoding="utf-8"))["adult"]
    declared = {name: {"range": ends} for name, ends in entry["ranges"].items()}
    declared |= {name: {"levels": list(levels)} for name, levels in adult.LEVELS.items()}
    assert schema == declared | {"income": "ignore"} and list(schema) == list(adult.COLUMNS)


def test_programs_are_short_and_all_shown():
    assert {shown.__name__ for shown in SHOWN} == set(PROGRAMS) == set(re.findall(r"gallery/(\w+)\.py\)", PAGE))
    assert {path.stem for path in (ROOT / "docs/gallery").iterdir()} == set(PROGRAMS)
    for path in PROGRAMS.values():
        text = path.read_text(encoding="utf-8")
        head = ast.get_docstring(ast.parse(text))
        assert "The picture" in head or "picture:" in head, path
        statements = text[text.index('"""', 3) + 3 :].splitlines()
        assert sum(bool(line.strip()) for line in statements) <= 40, path


def test_every_picture_has_words():
    shown = re.findall(r"!\[(.*?)\]\(gallery/(\w+)\.svg\)", PAGE)
    assert {name for _, name in shown} == set(PROGRAMS) and all(len(alt) > 40 for alt, _ in shown)
