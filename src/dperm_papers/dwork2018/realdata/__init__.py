"""dwork2018-realdata."""
