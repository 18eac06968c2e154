"""dwork2018-stable."""
