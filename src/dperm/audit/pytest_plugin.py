"""The plug-in of pytest: a fixture `assert_private`, and a report of all audits of a session.

    pytest --dperm-report FOLDER    # writes FOLDER/dperm-audit.json and FOLDER/dperm-audit.md

Each test has its generator from `--dperm-seed` (0) and from its own name, so tests can be added, left out or run in
any order. What else the library has to say is imported by the first test that asks for the fixture.
"""

import json
import zlib
from pathlib import Path

import pytest

_KEY = "dperm audit"


def pytest_addoption(parser):
    """Declare the options."""
    group = parser.getgroup("dperm", "audits of private mechanisms")
    group.addoption("--dperm-report", metavar="FOLDER", help="write dperm-audit.json and dperm-audit.md there")
    group.addoption("--dperm-seed", type=int, default=0, help="seed of the audits (default 0)")


def pytest_configure(config):
    """Begin to collect; with pytest-xdist the process that starts the others does it."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Session(), "dperm-audit-session")


@pytest.fixture
def assert_private(request):
    """Give `dperm.audit.assert_private` with a seed of this test's own; what it finds goes to the session's report."""
    import numpy as np

    from dperm.audit import testing

    name = zlib.crc32(request.node.nodeid.encode())
    streams = np.random.default_rng([abs(request.config.getoption("--dperm-seed")), name])

    def check(mechanism, data, neighbour, epsilon, delta=0.0, *, false_alarms=1e-3, words="", rng=None, **options):
        options |= {"rng": streams.spawn(1)[0] if rng is None else rng, "words": words or request.node.nodeid}
        try:
            report = testing.assert_private(
                mechanism, data, neighbour, epsilon, delta, false_alarms=false_alarms, **options
            )
        except testing.PrivacyViolation as violation:
            request.node.user_properties.append((_KEY, violation.report.as_dict()))
            raise
        request.node.user_properties.append((_KEY, report.as_dict()))
        return report

    return check


class _Session:
    """The audits of a session."""

    def __init__(self):
        self.rows = []

    def pytest_runtest_logreport(self, report):
        # Then fixtures have had their say as well.
        if report.when == "teardown":
            self.rows += [row for key, row in report.user_properties if key == _KEY]

    def pytest_terminal_summary(self, terminalreporter, config):
        folder = config.getoption("--dperm-report")
        if folder:
            from dperm.audit.report import markdown

            # The order is that of the names, however many processes there were.
            rows = sorted(self.rows, key=lambda row: row["subject"])
            Path(folder).mkdir(parents=True, exist_ok=True)
            Path(folder, "dperm-audit.json").write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
            Path(folder, "dperm-audit.md").write_text(markdown(rows), encoding="utf-8")
        if self.rows:
            chance = min(1.0, sum(1 - row["confidence"] for row in self.rows))
            refuted = sum(row["refuted"] for row in self.rows)
            terminalreporter.write_line(
                f"dperm: {len(self.rows)} audits, {refuted} claims refuted; were all claims true, one or more would be "
                f"refuted with probability {chance:.2g} at most"
            )
