"""Experiments on laws name the parts that they have."""

import importlib

import pytest
import together

from dperm.errors import ConfigError
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

PARTS = {
    "averaging": "all", "beyond": "all", "constants": "all", "dimension": "dimension, aggregation, all", "exppw": "all",
    "free": "all", "generalization": "all", "softmajority": "laws, lower, all", "stable": "all",
}  # fmt: skip


@together.over("name, parts", PARTS.items())
def test_a_part_that_is_not_there_is_named_with_those_that_are(name, parts):
    experiment = importlib.import_module(f"dperm_papers.dwork2018.{name}.experiment")
    cell = Cell("dwork2018", f"dwork2018-{name}", 1, {"part": "half"}, None)
    with pytest.raises(ConfigError, match=f"unknown part 'half' of dwork2018-{name}; known: {parts}$"):
        experiment.run(cell, Rows())
