"""write_config: the resolved configuration, as it was."""

from pathlib import Path

import pytest
import yaml

OUT = "results/tiny/config.yaml"


@pytest.fixture
def write_config(run_script):
    def run(resolved):
        run_script(
            "write_config",
            output={"config": OUT},
            params={"resolved": resolved, "code": "0" * 64},
            wildcards={"scale": "tiny"},
        )
        return Path(OUT).read_text(encoding="utf-8")

    return run


def test_it_comes_back_as_it_was(write_config, tiny, experiment):
    resolved = tiny.resolved("tiny")
    found = yaml.safe_load(write_config(resolved))
    assert found == resolved
    assert found["scale"] == "tiny" and found["seed"] == 5
    cells = found["experiments"]["kifer2012-output"]["cells"]
    assert set(cells) == {"/".join(names) for names in experiment.cells}
    assert list(found["datasets"]) == sorted({name for e in tiny.of_scale("tiny") for name in e.datasets})


def test_the_order_of_keys_does_not_matter(write_config, tiny):
    resolved = tiny.resolved("tiny")
    assert write_config(resolved) == write_config(dict(reversed(resolved.items())))


def test_words_of_any_language(write_config):
    assert yaml.safe_load(write_config({"title": "θ ≤ π"})) == {"title": "θ ≤ π"}
