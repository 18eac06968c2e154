"""Record the resolved configuration beside the results."""

import yaml

from dperm import files
from dperm.script import logged

with logged(snakemake.log[0]):
    files.write_text(snakemake.output.config, yaml.safe_dump(snakemake.params.resolved, sort_keys=True))
