"""Run the script of one rule with a fake `snakemake` object: what the rule does, without the workflow."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

SCRIPTS = Path(__file__).parents[2] / "workflow/scripts"


class Named(dict):
    """Like Snakemake's own: by name, by attribute, by position; iterates over values."""

    __getattr__ = dict.__getitem__

    def __iter__(self):
        return iter([one for value in self.values() for one in (value if isinstance(value, list) else [value])])

    def __getitem__(self, key):
        return list(self)[key] if isinstance(key, int) else super().__getitem__(key)


@pytest.fixture
def run_script(tmp_path):
    """Return a function that runs the script of a rule in this process."""

    def run(rule, *, input=(), output=(), params=(), wildcards=(), config=()):
        parts = {"input": input, "output": output, "params": params, "wildcards": wildcards}
        fake = SimpleNamespace(
            **{part: Named(names) for part, names in parts.items()},
            log=Named(log=str(tmp_path / "logs" / f"{rule}.log")),
            config=dict(config),
        )  # fmt: skip
        runpy.run_path(str(SCRIPTS / f"{rule}.py"), init_globals={"snakemake": fake}, run_name="__main__")
        return Path(fake.log[0]).read_text(encoding="utf-8")

    return run
