"""Install a library as it is locked, in an environment of its own."""

from dperm_pipeline.script import logged

with logged(snakemake):
    import sys

    sys.path.insert(0, "examples/libraries")
    import environment

    environment.make(snakemake.wildcards.library)
