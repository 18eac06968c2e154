"""dwork2018-softmajority."""
