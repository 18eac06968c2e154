"""Benchmarks: `python -m bench` from the root of the repository prints ratios against peers and the naive way."""
