"""The auditor: certified lower bounds on what a mechanism really spends (docs/audit.md).

The names below are imported when they are first asked for, so that a plan can look at `families` cheaply.
"""

import importlib

from dperm.catalogue import Catalogue

PUBLIC: Catalogue[str, str] = {
    "Answers": "dperm.audit.spaces",
    "Audit": "dperm.audit.sampling",
    "Counts": "dperm.audit.bounds",
    "Event": "dperm.audit.events",
    "PrivacyViolation": "dperm.audit.testing",
    "Records": "dperm.audit.spaces",
    "Report": "dperm.audit.report",
    "Subject": "dperm.audit.target",
    "Target": "dperm.audit.target",
    "assert_private": "dperm.audit.testing",
    "exact": "dperm.audit.exact",
    "line": "dperm.audit.line",
    "lower_bound": "dperm.audit.sampling",
    "noise_test": "dperm.audit.white_box",
    "one_by_one": "dperm.audit.outputs",
    "one_run": "dperm.audit.one_run",
    "search": "dperm.audit.search",
    "trade_off": "dperm.audit.trade_off",
}
__all__ = sorted(PUBLIC)


def __getattr__(name: str):
    if name in PUBLIC:
        module = importlib.import_module(PUBLIC[name])
        # `exact`, `line`, `one_run`, `search` and `trade_off` are modules of their own name.
        return module if PUBLIC[name] == f"dperm.audit.{name}" else getattr(module, name)
    raise AttributeError(f"module 'dperm.audit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *PUBLIC])
