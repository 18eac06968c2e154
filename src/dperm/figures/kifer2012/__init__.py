"""Figures and tables of kifer2012, one module each."""
