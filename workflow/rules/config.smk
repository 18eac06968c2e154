# Before Snakemake reads config/config.yaml: its own message for broken YAML names neither the file nor the line.
from pathlib import Path

from snakemake.exceptions import WorkflowError

from dperm.errors import ConfigError
from dperm.plan import config_files

try:
    config_files.parse(Path(workflow.basedir, "config", "config.yaml"))
except ConfigError as error:
    raise WorkflowError(str(error))
