"""The papers: a folder each, and within it one for every experiment."""
