"""Record the resolved configuration beside the results."""

from dperm_pipeline.script import logged

with logged(snakemake):
    import yaml

    from dperm_pipeline import files

    files.write_text(snakemake.output.config, yaml.safe_dump(snakemake.params.resolved, sort_keys=True))
