"""What a run has done and has left, in one line; and what a dry run would do and why, in about ten."""

import ast
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# Rows of a plan: kinds of jobs for one reason. What is beyond is counted in one more.
_ROWS = 8
# Jobs that must have ended before their times say something about the rest.
_ENOUGH = 5
_CHANGED = "Params have changed since last execution: "
# How Snakemake's reasons begin, and the same in words. The first that is found is the one to be said.
_WORDS = (
    ("Forced execution", "forced"),
    ("Missing output files", "no result yet"),
    ("Incomplete output files", "broken off half-way"),
    ("Updated input files", "a file that it reads is newer"),
    ("Code has changed", "its script in workflow/scripts has changed"),
    ("Set of input files has changed", "it reads other files than before"),
    ("Input files updated by another job", "what it reads is made anew"),
)
# What says all, whatever else has changed.
_FIRST = ("forced", "no result yet")


@dataclass
class Progress:
    """The state of a run, told by Snakemake's log events."""

    total: int = 0
    failed: set[int] = field(default_factory=set)
    cores: int = 1
    # Jobs that run: number -> rule, words, start.
    running: dict[int, tuple[str, str, float]] = field(default_factory=dict)
    left: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    start: float = field(default_factory=lambda: time.monotonic())

    @property
    def done(self) -> int:
        return sum(map(len, self.seconds.values()))

    def take(self, event: str | None, told: Mapping[str, Any]) -> None:
        """Take in one event; `told` are the attributes of its log record."""
        if event == "run_info" and not self.total:
            self.left = Counter({rule: count for rule, count in told["stats"].items() if rule != "total"})
            self.total = sum(self.left.values())
        elif event == "resources_info":
            self.cores = int(told.get("cores") or self.cores)
        elif event == "job_info":
            words = told["rule_msg"] or told["rule_name"].replace("_", " ")
            self.running[told["jobid"]] = (told["rule_name"], words, time.monotonic())
        elif event in ("job_finished", "job_error"):
            rule, _, start = self.running.pop(told["job_id" if event == "job_finished" else "jobid"], (None, "", 0.0))
            if rule is None:
                return
            if event == "job_error":
                # It may be tried again.
                self.failed.add(told["jobid"])
            else:
                self.failed.discard(told["job_id"])
                self.left[rule] -= 1
                self.seconds[rule].append(time.monotonic() - start)

    def seconds_left(self) -> float | None:
        """Return how long the rest takes if each job takes as long as those of its rule did (else as all did)."""
        if self.done < _ENOUGH:
            return None
        mean = sum(map(sum, self.seconds.values())) / self.done
        of_rule = {rule: sum(taken) / len(taken) for rule, taken in self.seconds.items()}
        work = sum(count * of_rule.get(rule, mean) for rule, count in self.left.items())
        under_way = sum(
            min(time.monotonic() - start, of_rule.get(rule, mean)) for rule, _, start in self.running.values()
        )
        return max(work - under_way, 0.0) / self.cores

    def line(self) -> str:
        """Return the live line; empty before anything is known."""
        if not self.total:
            return ""
        head = f"{self.done} of {self.total} jobs done"
        head += f", {len(self.failed)} failed" if self.failed else ""
        left = self.seconds_left()
        head += f", about {duration(left)} left" if left is not None else ""
        now = time.monotonic()
        oldest = sorted(self.running.values(), key=lambda job: job[2])
        return "; ".join([head, *(f"{words} ({now - start:.0f} s)" for _, words, start in oldest)])

    def ended(self) -> str:
        """Return the last line of the run."""
        failed = f", {len(self.failed)} failed" if self.failed else ""
        return f"{self.done} of {self.total} jobs done{failed}, in {duration(time.monotonic() - self.start)}"


def duration(seconds: float) -> str:
    """Return a time as people say it."""
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min" if minutes >= 5 else f"{minutes} min {rest} s" if minutes else f"{rest} s"


@dataclass(frozen=True)
class Planned:
    """A job of a dry run, in Snakemake's words: why is `reason`."""

    rule: str
    words: str
    reason: str
    wildcards: Mapping[str, str]


def plan(jobs: Sequence[Planned]) -> list[str]:
    """Return what the jobs of a dry run are and why they would run, in at most ten lines."""
    jobs = [job for job in jobs if job.rule != "all"]
    if not jobs:
        return ["nothing would run: every result is there, and made by the present configuration and code"]
    groups: dict[tuple[str, str], list[Planned]] = defaultdict(list)
    for job in jobs:
        kind = "draw" if job.rule.startswith("draw_") else job.rule.replace("_", " ")
        groups[kind, why(job.reason)].append(job)
    # Causes first, and what only follows from them last; within these, many before few.
    follows = _WORDS[-1][1]
    ordered = sorted(groups.items(), key=lambda group: (group[0][1] == follows, -len(group[1]), group[0]))
    shown = [(kind, _whose(members), reason, len(members)) for (kind, reason), members in ordered[:_ROWS]]
    widths = [max(len(row[column]) for row in shown) for column in (0, 1)]
    lines = [f"{len(jobs)} jobs would run:"]
    for kind, whose, reason, count in shown:
        lines.append(f"{count:5} {kind:{widths[0]}}  {whose:{widths[1]}}  {reason}")
    if rest := ordered[_ROWS:]:
        kinds = ", ".join(sorted({kind for (kind, _), _ in rest}))
        lines.append(f"{sum(len(members) for _, members in rest):5} more: {kinds}")
    return lines


def why(reason: str) -> str:
    """Return Snakemake's reason in a few words; of changed parameters, which and how."""
    said = next((words for start, words in _WORDS if start in reason.split(_CHANGED)[0]), None)
    if _CHANGED not in reason or said in _FIRST:
        return said or reason[:80]
    before, _, now = reason.partition("before: ")[2].partition(" now: ")
    return "changed: " + _difference(before, now)


def _difference(before: str, now: str) -> str:
    """Return what differs between two sets of parameters, each written by Python."""
    try:
        old, new = (ast.literal_eval(f"[{text.strip()}]") for text in (before, now))
    except (SyntaxError, ValueError):
        return "settings or code"
    # A digest of code is a string, a slice of the configuration is anything else.
    code = any(isinstance(value, str) for value in (*old, *new))
    flat = [
        dict(leaf for value in part if not isinstance(value, str) for leaf in _leaves(value)) for part in (old, new)
    ]
    changed = [name for name in {**flat[0], **flat[1]} if flat[0].get(name) != flat[1].get(name)]
    words = [f"{name} {_short(flat[0].get(name))} -> {_short(flat[1].get(name))}" for name in changed[:2]]
    words += [f"{len(changed) - 2} more settings"] if len(changed) > 2 else []
    words += ["code"] if code else []
    return ", ".join(words) or "settings or code"


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Return every value inside, by the name that leads to it."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list | tuple) else None
    if parts is None:
        yield name, value
        return
    for key, part in parts:
        yield from _leaves(part, f"{name}.{key}".lstrip("."))


def _short(value: Any) -> str:
    text = "nothing" if value is None else str(value)
    return re.sub(r"\s+", " ", text if len(text) <= 30 else text[:27] + "...")


def _whose(jobs: Sequence[Planned]) -> str:
    """Return which experiments or data sets jobs belong to."""
    names = Counter(_owner(job) for job in jobs)
    first = ", ".join(name for name, _ in names.most_common(2))
    return first if len(names) <= 2 else f"{first} and {len(names) - 2} more"


def _owner(job: Planned) -> str:
    if job.rule.startswith("draw_"):
        return job.rule.removeprefix("draw_").replace("_", "-")
    for name in ("experiment", "mechanism", "dataset"):
        if name in job.wildcards:
            return job.wildcards[name]
    return ""
