"""The live line and the plan: what they say of Snakemake's log events, and that Snakemake finds the plug-in."""

import io
import logging
from types import SimpleNamespace

import pytest
import together
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.registry import LoggerPluginRegistry

from dperm_pipeline import progress
from dperm_pipeline.progress import Planned, Progress

CHANGED = "Params have changed since last execution: Union of exclusive params before and now across all output: "


def told(**said):
    return {"rule_msg": None, **said}


def begun(cores=2, **stats) -> Progress:
    now = Progress()
    now.take("resources_info", {"cores": cores})
    now.take("run_info", {"stats": {**stats, "total": sum(stats.values())}})
    return now


def run(now: Progress, rule: str, number: int, seconds: float, clock) -> None:
    now.take("job_info", told(rule_name=rule, jobid=number))
    clock[0] += seconds
    now.take("job_finished", {"job_id": number})


@pytest.fixture
def clock(monkeypatch):
    time = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: time[0])
    return time


def test_time_left_is_reckoned_by_rule(clock):
    now = begun(run_cell=10, draw=4)
    assert now.line() == "0 of 14 jobs done"
    for number in range(6):
        run(now, "run_cell", number, 10.0, clock)
    run(now, "draw", 6, 2.0, clock)
    # Four cells of 10 s and three drawings of 2 s on two cores.
    assert now.seconds_left() == pytest.approx((4 * 10 + 3 * 2) / 2)
    now.take("job_info", told(rule_name="run_cell", rule_msg="lasso: at n=5", jobid=7))
    clock[0] += 4.0
    assert now.line() == "7 of 14 jobs done, about 21 s left; lasso: at n=5 (4 s)"


def test_a_failure_is_counted_and_is_not_done(clock):
    now = begun(run_cell=2)
    now.take("job_info", told(rule_name="run_cell", jobid=1))
    now.take("job_error", {"jobid": 1})
    assert now.line() == "0 of 2 jobs done, 1 failed"
    clock[0] += 400.0
    assert now.ended() == "0 of 2 jobs done, 1 failed, in 6 min"


@together.over(
    "reason, words",
    [
        ("Missing output files: a; Input files updated by another job: b", "no result yet"),
        ("Input files updated by another job: b", "what it reads is made anew"),
        (CHANGED + "before: {'s': {'n': 6, 'm': [1]}} now: {'s': {'n': 7, 'm': [1]}} ", "changed: s.n 6 -> 7"),
        (CHANGED + "before: 'a1' now: 'b2' ", "changed: code"),
        (CHANGED + "before: [{'x': 1}],'a' now: [{'x': 2, 'y': 3}],'b'", "changed: 0.x 1 -> 2, 0.y nothing -> 3, code"),
        (CHANGED + "before: {'e': inf} now: {'e': 1} ", "changed: settings or code"),
        ("Something new", "Something new"),
    ],
)  # fmt: skip
def test_reasons_in_a_few_words(reason, words):
    assert progress.why(reason) == words


def test_a_plan_of_any_size_has_ten_lines_at_most():
    jobs = [
        Planned(f"rule_{kind}", "", "Missing output files: x", {"experiment": f"study-{number}"})
        for kind in range(20)
        for number in range(kind + 1)
    ]
    lines = progress.plan([*jobs, Planned("all", "", "", {})])
    assert len(lines) == 10 and lines[0] == "210 jobs would run:"
    assert lines[1] == "   20 rule 19  study-0, study-1 and 18 more  no result yet"
    assert sum(int(line.split()[0]) for line in lines[1:]) == 210
    assert "nothing would run" in progress.plan([])[0]


def record(event, level=logging.INFO, **said):
    made = logging.makeLogRecord({"levelno": level, "msg": said.pop("message", ""), **said})
    made.event = event
    return made


def handler(stream, monkeypatch, *, dryrun=False):
    # The stream that Snakemake's settings choose.
    monkeypatch.setattr("sys.stderr", stream)
    plugin = LoggerPluginRegistry().get_plugin("dperm")
    return plugin.log_handler(SimpleNamespace(stdout=False, dryrun=dryrun), None)


def test_the_plug_in_says_failures_in_full_and_how_a_run_ended(monkeypatch):
    stream = io.StringIO()
    now = handler(stream, monkeypatch)
    now.emit(record(LogEvent.RUN_INFO, stats={"run_cell": 2, "total": 2}))
    now.emit(record(None, message="Select jobs to execute..."))
    now.emit(record(LogEvent.JOB_INFO, rule_name="run_cell", rule_msg="a cell", jobid=1))
    now.emit(record(LogEvent.JOB_ERROR, logging.ERROR, message="Error in rule run_cell: all of it", jobid=1))
    now.close()
    lines = stream.getvalue().split("\r\x1b[2K")
    assert "0 of 2 jobs done; a cell (0 s)" in lines
    assert "Error in rule run_cell: all of it\n" in lines and "Select jobs" not in stream.getvalue()
    assert lines[-1] == "0 of 2 jobs done, 1 failed, in 0 s\n"


def test_the_plug_in_plans(monkeypatch):
    stream = io.StringIO()
    now = handler(stream, monkeypatch, dryrun=True)
    now.emit(
        record(LogEvent.JOB_INFO, rule_name="run_cell", rule_msg="x", reason="Missing output files: y", wildcards={})
    )
    now.emit(record(None, message="Reasons: as long as a book"))
    now.close()
    assert [line.split() for line in stream.getvalue().splitlines()] == [
        ["1", "jobs", "would", "run:"], ["1", "run", "cell", "no", "result", "yet"],
    ]  # fmt: skip
