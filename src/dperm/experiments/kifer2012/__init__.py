"""Experiments of kifer2012, one module each."""
