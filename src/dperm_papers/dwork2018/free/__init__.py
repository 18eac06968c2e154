"""dwork2018-free."""
