"""The cases of a quick test in one test: to collect, report and share out a case takes longer than such a case runs."""

import functools
import inspect


def over(names, cases):
    """Run the test for each case in turn, as `pytest.mark.parametrize` would; what fails says in a note at which."""
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    cases = [(case,) for case in cases] if len(names) == 1 else list(cases)
    assert cases

    def run_all(test):
        @functools.wraps(test)
        def each(*itself, **others):
            for case in cases:
                given = dict(zip(names, case, strict=True))
                try:
                    test(*itself, **given, **others)
                except BaseException as error:
                    error.add_note(f"at {given}")
                    raise

        signature = inspect.signature(test)
        kept = [parameter for name, parameter in signature.parameters.items() if name not in names]
        assert len(kept) + len(names) == len(signature.parameters)
        each.__signature__ = signature.replace(parameters=kept)
        return each

    return run_all
