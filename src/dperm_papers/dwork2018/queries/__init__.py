"""dwork2018-queries."""
