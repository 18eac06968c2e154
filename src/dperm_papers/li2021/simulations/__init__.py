"""li2021-simulations."""
