"""kifer2012-bounds."""
