"""The experiments of kifer2012."""
