"""Attack what a library promises, in its own environment."""

from dperm_pipeline.script import logged

with logged(snakemake):
    import sys
    from pathlib import Path

    sys.path.insert(0, "examples/libraries")
    import environment

    environment.attack(snakemake.wildcards.library, Path(snakemake.output.rows))
