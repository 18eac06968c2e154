"""The engine of the pipeline: it knows no paper and no mechanism by name."""
