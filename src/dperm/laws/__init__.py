r"""Exact privacy curves: what two known laws of an output tell apart, without sampling.

Every module here sees its two laws P and Q in pieces: a partition of the outputs, with the masses p_i and q_i. Of these

    delta(epsilon) = sum_i (p_i - e^epsilon q_i)_+,    epsilon(delta) = max(0, max_S log((P(S) - delta)/Q(S))),

S a union of pieces, are inverse to each other. What pieces tell is a lower bound on what the laws tell, and it is exact
where log dP/dQ does not change within a piece. The modules differ in where their pieces come from:

    finite        outcomes: the two formulas above;
    line          intervals and atoms of laws given by their distribution functions, refined as long as it helps;
    privacy_loss  values of the loss log dP/dQ, which independent releases add up: convolution;
    quadrature    pieces between points, cut again at the roots of log dP/dQ = epsilon, of laws given by a density.

`tails` has the distribution functions of the noise laws. No neighbouring relation is meant here: callers choose the two
laws, and the direction, first against second.
"""
