"""What several experiments of kifer2012 share."""
