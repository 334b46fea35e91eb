"""Search over the decoder's tokens: beams, boosted phrases and alternatives."""
