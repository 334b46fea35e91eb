"""Speech synthesis for clients of Riva."""
