"""`snakemake --logger dperm`: one live line of a run, and of a dry run what it would do and why, in ten lines.

`make reproduce` takes it where there is a terminal, and `make plan` always. Snakemake finds it by the name of this
package (its interface for logger plugins). What it says is worked out in `dperm_pipeline.progress`.
"""

import logging
import os
import sys
import threading

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from dperm_pipeline.progress import Planned, Progress, plan

# To the start of the line, and clear it.
_CLEAR = "\r\x1b[2K"


class LogHandler(LogHandlerBase):
    """Writes what Snakemake's log records say; failures and warnings in full, by Snakemake's own words."""

    writes_to_stream, writes_to_file, needs_rulegraph = True, False, False
    # Snakemake's: the first heeds --quiet, the second shows the log of a job that failed.
    has_filter, has_formatter = False, False

    def __post_init__(self) -> None:
        self._stream = sys.stdout if self.common_settings.stdout else sys.stderr
        self._progress, self._planned, self._refused = Progress(), [], False
        self._ended, self._drawing = threading.Event(), threading.Lock()
        if not self.common_settings.dryrun:
            threading.Thread(target=self._tick, daemon=True).start()

    def emit(self, record: logging.LogRecord) -> None:
        """Take in a record, say it if it is a warning or a failure, and draw the line anew."""
        if self.common_settings.dryrun:
            self._emit_planned(record)
            return
        with self._drawing:
            told = record.__dict__
            self._progress.take(getattr(record, "event", None), told)
            if record.levelno >= logging.WARNING or "Nothing to be done" in str(record.msg):
                self._write(_CLEAR + self.format(record) + "\n")
            self._draw()

    def close(self) -> None:
        """End the line, and say how the run ended; or what the dry run has planned."""
        if self._ended.is_set():
            return
        self._ended.set()
        if self.common_settings.dryrun:
            # Where Snakemake could not plan, its error is all that is known.
            if not self._refused:
                self._write("".join(f"{line}\n" for line in plan(self._planned)))
        elif self._progress.total:
            with self._drawing:
                self._write(_CLEAR + self._progress.ended() + "\n")
        super().close()

    def _emit_planned(self, record: logging.LogRecord) -> None:
        if getattr(record, "event", None) == LogEvent.JOB_INFO:
            self._planned.append(Planned(record.rule_name, record.rule_msg or "", record.reason, record.wildcards))
        elif record.levelno >= logging.WARNING:
            self._refused = self._refused or record.levelno >= logging.ERROR
            self._write(self.format(record) + "\n")

    def _tick(self) -> None:
        while not self._ended.wait(1.0):
            with self._drawing:
                self._draw()

    def _draw(self) -> None:
        if line := self._progress.line():
            try:
                width = os.get_terminal_size(self._stream.fileno()).columns
            except OSError:
                width = 100
            self._write(_CLEAR + line[: width - 1])

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
