"""dwork2018-averaging."""
