"""The pages for users of the library tell the truth: their blocks run, one after the other."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

import dperm

ROOT = Path(__file__).parents[2]
CHOOSER = (ROOT / "docs/chooser.md").read_text(encoding="utf-8")
# How many gradients change.
RELATIONS = {"add/remove": 1, "replace": 2}


@pytest.fixture
def run(tmp_path):
    """Return a function that runs the Python of a text, after `names`, and returns the names that it leaves."""

    def blocks(text, **names):
        file = tmp_path / "page.py"
        file.write_text("\n".join(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)), encoding="utf-8")
        return runpy.run_path(str(file), init_globals=names)

    return blocks


@pytest.fixture
def table():
    """Rows of length 1 with two labels."""
    X = np.random.default_rng(0).normal(size=(2_000, 4))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return {"X": X, "y": (X[:, 0] > 0).astype(int)}


# Nothing that is drawn is held against anything.
@pytest.mark.chance(1e-9)
def test_getting_started_runs(run):
    left = run((ROOT / "docs/getting-started.md").read_text(encoding="utf-8"))
    assert left["card"].epsilon == 1.0 and left["session"].spent.epsilon == 1.0
    assert left["search"].privacy_.guarantee == left["released"].privacy_.guarantee == "proved"


def test_the_first_page_of_the_readme_runs(run, table):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    begins = text.index("## Train a private model")
    assert text[:begins].count("\n") <= 10
    left = run(text[begins : text.index("## Reproduce the papers")], **table)
    assert left["model"].privacy_.guarantee == "proved" and left["session"].spent.epsilon == 1.0


@pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
def test_every_snippet_of_the_chooser_runs(run):
    left = run(CHOOSER)
    assert (
        left["few"].privacy_.guarantee
        == left["rest"].privacy_.guarantee
        == left["curved"].privacy_.guarantee
        == "proved"
    )
    assert left["vote"].ledger_.remaining == 15


def test_what_the_chooser_names_can_be_imported():
    named = set(re.findall(r"`([A-Z]\w+)[`(]", CHOOSER)) - {"BudgetExhausted"}
    assert named <= set(dperm.PUBLIC) and len(named) > 20
    # And the other way round: no estimator is left out.
    estimators = {
        name for name in dperm.PUBLIC if hasattr(getattr(dperm, name), "fit") and not name.endswith("Learner")
    }
    assert estimators - named - {"Student", "PublicEncoder"} == set()


def test_how_good_the_advice_is():
    """The first two lines of the chooser against the frontier's table, as the page says it."""
    page = (ROOT / "docs/frontier.md").read_text(encoding="utf-8")
    table = re.search(r"<!-- frontier-linear -->(.*?)<!-- /frontier-linear -->", page, flags=re.DOTALL)[1]
    header, *lines = (
        [cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if line[:2] == "| "
    )
    records = {"adult": 30_118, "breast-cancer": 379, "covertype": 31_000, "digits": 1_198}
    errors = {}
    for dataset, relation, method, *cells in lines:
        for epsilon, cell in zip(header[3:], cells, strict=True):
            if relation in RELATIONS and cell and "not private" not in method:
                place = dataset, relation, float(epsilon.removeprefix("ε = "))
                errors.setdefault(place, {})[method] = float(cell.strip("*").split()[0])
    assert len(errors) == 84 and "on the 84 points" in CHOOSER

    def regret(most):
        """Return how much more errs what is taken below and above `most`, on average and at worst."""
        over = []
        for (dataset, relation, epsilon), found in errors.items():
            few = records.get(dataset, 6_000) * epsilon / RELATIONS[relation] < most
            over.append(
                found["PreconditionedGradientDescent" if few else "ObjectivePerturbation"] - min(found.values())
            )
        return f"{np.mean(over):.1f}".lstrip("0"), f"{max(over):.1f}"

    assert regret(2_000) == regret(3_000) == regret(8_000) == (".4", "6.2")
    assert "err .4 percentage points" in CHOOSER and "and 6.2 at worst" in CHOOSER
    assert f"Always `ObjectivePerturbation`: {' and '.join(regret(0))}" in CHOOSER
    assert f"`PreconditionedGradientDescent`: {' and '.join(regret(np.inf))}." in CHOOSER
