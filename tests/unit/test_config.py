"""A configuration is right, or it is refused in words: file, key, value, what is allowed, the nearest key."""

import copy
import shutil
from pathlib import Path

import pytest
import yaml

from dperm import plan
from dperm.errors import ConfigError
from dperm.plan import config_files

ROOT = Path(__file__).parents[2]
CONFIG = config_files.parse(ROOT / "config/config.yaml")
FILES = ["config/config.yaml", "config/datasets.yaml", "config/experiments/kifer2012-output.yaml"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    target = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "config", target / "config")
    shutil.copytree(ROOT / "workflow/schemas", target / "workflow/schemas")
    return target


def load_with(folder: Path, file: str, document) -> plan.Plan:
    """Load the project's configuration with one document put in the place of its file."""
    if file == "config/config.yaml":
        return plan.load(document, folder)
    original = (folder / file).read_bytes()
    (folder / file).write_text(yaml.safe_dump(document), encoding="utf-8")
    try:
        return plan.load(CONFIG, folder)
    finally:
        (folder / file).write_bytes(original)


def places(document, path=()):
    """Every key path of a document, leaves and branches."""
    if isinstance(document, list):
        document = dict(enumerate(document))
    for key, value in document.items() if isinstance(document, dict) else ():
        yield (*path, key)
        yield from places(value, (*path, key))


def changed(document, path, change):
    """Return a copy with `change(container, key)` carried out at the path."""
    document = copy.deepcopy(document)
    container = document
    for key in path[:-1]:
        container = container[key]
    change(container, path[-1])
    return document


def put(value):
    return lambda container, key: container.__setitem__(key, value)


def misspell(container, key):
    container[f"{key}x"] = container.pop(key)


WRONG = [None, "nonsense!", -1, 1e9, float("nan"), float("inf"), [], {}, [None], {"unknown": 1}, True]


def mutants():
    for file in FILES:
        document = config_files.parse(ROOT / file)
        # The catalogue of data sets is long and even: every seventh place of it is enough.
        for path in list(places(document))[:: 7 if "datasets" in file else 1]:
            for value in WRONG:
                yield file, path, changed(document, path, put(value))
            if isinstance(path[-1], str):
                yield file, path, changed(document, path, misspell)
                yield file, path, changed(document, path, lambda container, key: container.pop(key))


def test_hundreds_of_mutants_are_refused_in_words_or_are_valid(folder):
    """No mutant shows anything but a ConfigError; the message names the file (or --config) and the place."""
    refused = 0
    for file, path, document in mutants():
        try:
            load_with(folder, file, document)
        except ConfigError as error:
            refused += 1
            text = str(error)
            assert Path(file).name in text, (path, text)
            named = [str(part) for part in path if isinstance(part, str)]
            assert any(part in text for part in named), (path, text)
            assert "Traceback" not in text
            assert len(text.splitlines()[0]) < 500
    assert refused >= 300


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sede": 3}, "unknown key 'sede'; did you mean 'seed'?"),
        ({"scale": "papr"}, "'papr' is not allowed: must be one of tiny, quick, paper; did you mean 'paper'?"),
        ({"seed": -1}, "seed: -1 is not allowed: must be at least 0"),
        ({"seed": "abc"}, "seed: 'abc' is not allowed: must be integer"),
        ({"papers": []}, "papers: [] is not allowed: needs at least 1 item(s)"),
        ({"papers": ["jain2013"]}, "jain2013 has no experiment"),
        ({"mirror": "/no/such/folder"}, "mirror: '/no/such/folder' is not a folder"),
    ],
)
def test_messages_of_the_command_line_keys(folder, change, words):
    with pytest.raises(ConfigError) as error:
        plan.load({**CONFIG, **change}, folder)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("epsilon: [1.0]", "epsilon: [0]", "grid.tiny.epsilon.0: 0 is not allowed (privacy budget): must be above 0"),
        ("epsilon: [1.0]", "epsilon: [.nan]", "grid.tiny.epsilon.0: nan is not a finite number"),
        ("epsilon: [1.0]", "epsilom: [1.0]", "grid.tiny: unknown key 'epsilom'; did you mean 'epsilon'?"),
        ("deltas: [0.0, 1.0e-6]", "deltas: [1.0]", "must be below 1"),
        ("dataset: [breast-cancer]", "dataset: [breast-cancr]", "did you mean 'breast-cancer'?"),
        ("calibration: tight", "calibration: thight", "did you mean 'tight'?"),
        ("paper: kifer2012", "paper: kifer2012\npaper: kifer2012", "key 'paper' stands twice"),
        ("ridge: 0.01", "ridge: [", "not valid YAML"),
        ("experiment: kifer2012-output", "experiment: kifer2012-ouput", "must be the file's own name"),
        ("paper: kifer2012", "paper: li2021", "must start with its paper"),
        ("data_axes: [dataset]", "data_axes: []", None),
    ],
)
def test_messages_of_an_experiment(folder, tmp_path, old, new, words):
    shutil.copytree(folder, tmp_path / "project")
    path = tmp_path / "project/config/experiments/kifer2012-output.yaml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    if words is None:
        plan.load(CONFIG, tmp_path / "project")
        return
    with pytest.raises(ConfigError) as error:
        plan.load(CONFIG, tmp_path / "project")
    assert words in str(error.value)
    assert "kifer2012-output.yaml" in str(error.value)


def test_exponents_without_a_point_are_numbers(tmp_path):
    """YAML 1.1 reads 1e-6 as text; ours does not."""
    (tmp_path / "a.yaml").write_text("a: 1e-6\nb: -2E3\nc: 1.5e-6\nd: e6", encoding="utf-8")
    assert config_files.parse(tmp_path / "a.yaml") == {"a": 1e-6, "b": -2000.0, "c": 1.5e-6, "d": "e6"}


def test_a_whole_number_in_a_grid_is_the_same_cell_as_its_float(folder):
    """`epsilon: [1]` and `epsilon: [1.0]` name the same path, seed and parameters."""
    name = "config/experiments/kifer2012-output.yaml"
    document = config_files.parse(ROOT / name)
    one = load_with(folder, name, document).experiments["tiny", "kifer2012-output"].cells
    document["grid"]["tiny"]["epsilon"] = [1]
    other = load_with(folder, name, document).experiments["tiny", "kifer2012-output"].cells
    assert repr(one) == repr(other)


def test_slugs_keep_values_apart():
    assert plan.slug({"dataset": "adult", "epsilon": 0.1}) == "adult_epsilon-0.1"
    assert plan.slug({"epsilon": 1.0}) == "epsilon-1"
    assert plan.slug({"epsilon": 0.12345678}) != plan.slug({"epsilon": 0.1234568})


def test_a_data_set_that_cannot_be_had_is_left_out_with_the_reason(folder):
    loaded = plan.load(CONFIG, folder, unavailable=lambda entry, mirror: "gone" if entry["name"] == "digits" else None)
    experiment = loaded.experiments["quick", "kifer2012-output"]
    assert experiment.skipped == {"digits": "gone"}
    assert experiment.datasets == ["breast-cancer", "diabetes"]
    assert not any("digits" in scenario for _, scenario in experiment.cells)


def test_a_cell_holds_its_own_slice_only(folder):
    """Adding a value to a grid changes no other cell's parameters: nothing of them is run again."""
    name = "config/experiments/kifer2012-output.yaml"
    document = config_files.parse(ROOT / name)
    before = load_with(folder, name, document).experiments["quick", "kifer2012-output"].cells
    document["grid"]["quick"]["epsilon"].append(7.0)
    after = load_with(folder, name, document).experiments["quick", "kifer2012-output"].cells
    assert len(after) > len(before)
    assert all(after[key] == cell for key, cell in before.items())
