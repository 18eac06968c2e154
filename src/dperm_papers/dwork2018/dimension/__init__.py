"""dwork2018-dimension."""
