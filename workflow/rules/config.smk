# Before Snakemake reads config/config.yaml: its own message for broken YAML names neither the file nor the line.
import logging
import os
from pathlib import Path

from snakemake.exceptions import WorkflowError

# First of all, before hours are lost: what is missing may be loaded by the last job alone.
try:
    from dperm import errors
    from dperm_pipeline import worker

    worker.check_libraries()
except ModuleNotFoundError as error:
    raise WorkflowError(f"{error}: run `make venv`, and start .venv/bin/snakemake")
except errors.WorkerError as error:
    raise WorkflowError(str(error))

# Arrow and Numba hand names of files on in UTF-8; with another encoding they would miss this folder.
if os.fsencode(workflow.basedir) != str(workflow.basedir).encode("utf-8", "replace"):
    raise WorkflowError(
        f"the name of the folder {os.fsencode(workflow.basedir).decode('utf-8', 'replace')!a} cannot be written in "
        f"this machine's encoding, {sys.getfilesystemencoding()}: set PYTHONUTF8=1, or run in a folder with a plain name"
    )

from dperm_pipeline import one_run
from dperm.errors import ConfigError
from dperm_pipeline import config_files

try:
    config_files.parse(Path(workflow.basedir, "config", "config.yaml"))
except ConfigError as error:
    raise WorkflowError(str(error))

# Where Snakemake keeps its books and its own log; it would end with tracebacks.
if why := one_run.unwritable(".snakemake"):
    logging.raiseExceptions = False
    raise WorkflowError(why)
