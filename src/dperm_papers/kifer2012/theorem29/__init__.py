"""kifer2012-theorem29."""
