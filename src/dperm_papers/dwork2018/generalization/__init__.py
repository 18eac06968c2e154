"""dwork2018-generalization."""
