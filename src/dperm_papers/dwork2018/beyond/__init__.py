"""dwork2018-beyond."""
