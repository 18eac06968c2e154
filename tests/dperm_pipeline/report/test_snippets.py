"""What the explorer gives to copy: calls of what the library has."""

import ast
import importlib
import inspect

import together

import dperm
from dperm_papers.dwork2018.shared import drawing_looks as dwork2018
from dperm_papers.jain2013.shared import drawing_looks as jain2013
from dperm_papers.kifer2012.shared import drawing_looks as kifer2012
from dperm_pipeline.report import snippets

METHODS = {tuple([*key, ""][:3]) for looks in (dwork2018, jain2013, kifer2012) for key in looks.METHODS}
METHODS |= {("napp", calibration, variant) for calibration in ("paper", "tight") for variant in ("erm", "vs_plus-moor")}


def test_every_method_of_the_papers_has_one_but_what_is_not_private():
    assert {(mechanism, variant) for mechanism, _, variant in METHODS if not snippets.of(mechanism, "", variant)} == (
        snippets.READINGS
    )


@together.over("mechanism, calibration, variant", sorted(METHODS))
def test_a_call_names_what_there_is(mechanism, calibration, variant):
    """The class or function, and each parameter by its name."""
    text = snippets.of(mechanism, calibration, variant)
    if not text:
        return
    text = text.format(epsilon=1.0, delta=1e-6, neighbours="replace")
    name, _, call = text.removesuffix(".fit(X, y)").partition("(")
    module, _, last = name.rpartition(".")
    assert callable(getattr(importlib.import_module(module), last))
    if call:
        given = {word.arg: ast.literal_eval(word.value) for word in ast.parse(f"f({call}").body[0].value.keywords}
        assert getattr(dperm, last)(**given).get_params(deep=False).items() >= given.items()
        assert given.keys() <= inspect.signature(getattr(dperm, last)).parameters.keys()
