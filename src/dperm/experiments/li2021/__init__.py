"""Experiments of li2021, one module for each group of its figures and tables."""
