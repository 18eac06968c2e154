"""dwork2018-exppw."""
