"""Moonshine: the encoder, the decoder, drafts and the times of words."""
