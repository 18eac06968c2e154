"""dwork2018-constants."""
