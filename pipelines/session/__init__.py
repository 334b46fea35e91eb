"""One conversation: audio and typed turns in, messages out."""
