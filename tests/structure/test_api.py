"""Every public name is documented, and every mechanism says where it comes from and whom it protects."""

import importlib
import inspect
import pkgutil
from pathlib import Path
from typing import get_args

import pytest
import together
from numpydoc.validate import validate

import dperm
from dperm import audit, mechanisms
from dperm.domain import Neighbours

PAPERS = ("kifer2012", "jain2013", "dwork2018", "li2021")
TESTS = Path(__file__).parents[1]
MODULES = sorted(m.name for m in pkgutil.walk_packages(dperm.__path__, "dperm.") if not m.name.endswith("__main__"))
# GL08 no docstring, SS01 no summary; of sections: PR01 a parameter that is not described, PR02 one that there is not,
# PR10 no space before its colon, YD01 a generator without Yields.
ALWAYS, SECTIONED = {"GL08", "SS01"}, {"PR01", "PR02", "PR10", "YD01"}
# What users call has sections; elsewhere a docstring says in a sentence, and a line each, what name and annotation do
# not say. A public name is a function, a class with its methods, or a module with all that it holds.
PUBLIC = [getattr(package, name) for package in (dperm, audit) for name in package.__all__]
IN_SECTIONS = {
    f"{thing.__module__}.{thing.__qualname__}" if hasattr(thing, "__qualname__") else thing.__name__ for thing in PUBLIC
} | {"dperm.kernels"}
ROOMS = ("accounting", "cli", "domain", "errors", "feasible", "losses", "noise")


def public_names(module_name):
    module = importlib.import_module(module_name)
    for name, thing in vars(module).items():
        own = getattr(thing, "__module__", None) == module_name
        if own and not name.startswith("_") and (inspect.isfunction(thing) or inspect.isclass(thing)):
            yield name, thing


def undocumented(module_name):
    if not importlib.import_module(module_name).__doc__:
        yield module_name
    for name, thing in public_names(module_name):
        if not inspect.getdoc(thing):
            yield f"{module_name}.{name}"
        if inspect.isclass(thing):
            for method, function in vars(thing).items():
                named = inspect.isfunction(function) and not method.startswith("_")
                if named and not inspect.getdoc(getattr(thing, method)):
                    yield f"{module_name}.{name}.{method}"


def test_every_public_name_has_a_docstring():
    assert [name for module_name in MODULES for name in undocumented(module_name)] == []


def documented_names(module_name):
    """Yield the full name and the thing of every public function and class, and of every public method of these."""
    for name, thing in public_names(module_name):
        yield f"{module_name}.{name}", thing
        if inspect.isclass(thing):
            for method in vars(thing):
                if not method.startswith("_") and callable(getattr(thing, method)):
                    yield f"{module_name}.{name}.{method}", getattr(thing, method)


def numpydoc_errors(module_name):
    room = module_name in IN_SECTIONS or module_name.startswith(tuple(f"dperm.{room}" for room in ROOMS))
    estimators = module_name.startswith("dperm.mechanisms.estimators")
    for name, thing in documented_names(module_name):
        # Of an estimator users call the methods that it inherits; functions beside the classes are for our own use.
        method = estimators and name.count(".") > module_name.count(".") + 1
        required = room or method or name in IN_SECTIONS or name.rpartition(".")[0] in IN_SECTIONS
        codes = ALWAYS | SECTIONED if required else ALWAYS
        if getattr(thing, "_is_protocol", False):
            codes = codes - {"PR01"}  # the (*args, **kwargs) that typing gives a class nobody calls
        yield from (f"{name}: {code} {text}" for code, text in validate(name)["errors"] if code in codes)


def test_every_public_name_keeps_to_numpydoc():
    assert [error for module_name in MODULES for error in numpydoc_errors(module_name)] == []


def test_the_check_finds_what_it_looks_for(monkeypatch):
    from dperm import losses

    for doc in ("", "Return the loss.\n\n    Parameters\n    ----------\n    naem : str\n    ", "Return the loss."):
        monkeypatch.setattr(losses.make, "__doc__", doc)
        assert any("dperm.losses.make" in error for error in numpydoc_errors("dperm.losses"))


def names_its_source(name):
    _, found, references = inspect.getdoc(getattr(dperm, name)).partition("References\n----------")
    return found and any(key in references for key in PAPERS)


def test_estimators_name_their_source():
    assert [name for name in dperm.__all__ if not names_its_source(name)] == []


@together.over("name", sorted(mechanisms.REGISTRY))
def test_registered_mechanisms_have_a_source_a_relation_and_a_test(name):
    module = mechanisms.module(name)
    assert any(key in module.__doc__ for key in PAPERS)
    assert "add/remove" in module.__doc__ or "replace-one" in module.__doc__
    core = next(getattr(module, verb) for verb in ("release", "select", "run") if hasattr(module, verb))
    # Where the release itself starts from a scale, what makes the scale takes it.
    core = core if {"neighbours", "setting"} & set(core.__annotations__) else module.scale
    # The kernel mechanisms take it with the other public constants.
    public = core.__annotations__.get("setting", core)
    assert public.__annotations__["neighbours"] == Neighbours
    assert set(get_args(Neighbours)) == {"add_remove", "replace"}
    tests = next((TESTS / "dperm/mechanisms").rglob(f"test_{name}.py"))
    assert "def test_" in tests.read_text(encoding="utf-8")


def test_an_unknown_mechanism_is_named_with_those_there_are():
    with pytest.raises(ValueError, match=r"'objectiv' is not one of .*objective"):
        mechanisms.module("objectiv")
