"""kifer2012-theorem6."""
