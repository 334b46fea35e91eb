"""End of a turn: from the last seconds of sound and the words so far, the probability that the turn is over."""
